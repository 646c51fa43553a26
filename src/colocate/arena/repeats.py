"""How often a program is judged, and under which seeds: as often as chance may matter to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.luck import Chance, Luck
from colocate.arena.seeds import MOST_SEED
from colocate.arena.tally import Formula, Tally
from colocate.arena.verdict import Verdict
from colocate.errors import InputError
from colocate.problem.quantity import checked_count

SEEDS = 6
"""Seeds for a program that uses chance.

One that misses an optimum under a third of all seeds is caught in nine cases of ten.
"""
RUNS_OF_THE_BEST = 3
"""Runs before a program may be called best that seems to use no chance: a clock is chance too."""


@dataclass(frozen=True)
class Repeats:
    """How often a program is judged.

    Parameters
    ----------
    runs
        Runs of all cases, each under another seed, whatever the program does.
    seeds
        Runs of the cases in which it uses chance.
    first_seed
        The number of the first seed; the others follow it.
    """

    runs: int = 1
    seeds: int = SEEDS
    first_seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("runs", 1), ("seeds", 1), ("first_seed", 0)):
            checked_count(getattr(self, name), name, least)
        if self.first_seed + max(self.runs, self.seeds) - 1 > MOST_SEED:
            expected = f"so small that no seed is above {MOST_SEED}"
            raise InputError.of("first_seed", self.first_seed, expected)

    @property
    def of_the_best(self) -> "Repeats":
        """What a program needs before it may be called best."""
        return replace(self, runs=max(self.runs, RUNS_OF_THE_BEST))

    def layout_of(self, seed: int) -> int:
        """Return the number of the memory layout under a seed: each whole run has one of its own.

        So programs whose answers depend on addresses answer differently each time.
        """
        return min(seed - self.first_seed, self.runs - 1)

    def enough_for(self, verdict: Verdict) -> bool:
        """Whether a verdict comes from at least so many runs."""
        chance = verdict.luck.chance in (Chance.SEED, Chance.OTHER) and not verdict.public.failures
        return verdict.runs >= (max(self.runs, self.seeds) if chance else self.runs)


FIRST_LOOK = Repeats(seeds=1)
"""One run of each case, for a search in which most programs do not matter later."""


class CasePart(StrEnum):
    """A part of the cases of a contest."""

    PUBLIC = "public"
    HIDDEN = "hidden"


Kept = Mapping[int, CaseVerdict]
"""Results that a run need not repeat, by the place of their case in its part."""


@dataclass(frozen=True)
class Run:
    """One run of a program: all cases of a part, under one seed."""

    results: tuple[CaseVerdict, ...]
    """The verdicts on the cases, in order."""
    answers: tuple[bytes, ...]
    """A digest of what came back in each case; empty where nothing was asked."""
    walls: tuple[str, ...] = ()
    """The walls that the program was behind, if anything was asked."""

    @property
    def steady(self) -> Kept:
        """The results that are the same under every seed, as they took none."""
        return {place: result for place, result in enumerate(self.results) if not result.drew}

    @property
    def failed(self) -> bool:
        """Whether a case failed."""
        return not all(result.valid for result in self.results)


@dataclass(frozen=True)
class RunRequest:
    """What a run is to do.

    Parameters
    ----------
    part
        The cases to run.
    seed
        The number of its seed.
    kept
        Results of the part that are known already.
    before
        The public results under this seed, for a run of hidden cases.
    """

    part: CasePart
    seed: int
    kept: Kept
    before: tuple[CaseVerdict, ...] = ()


def repeated(run: Callable[[RunRequest], Run], repeats: Repeats, may_see_order: bool) -> "Trials":
    """Run a program as often as chance may matter to it.

    All public cases come first, under all seeds; then the hidden ones, under as many seeds or more.
    So nothing that a program has seen in a hidden case can reach a public one, and neither what a
    search learns about public cases nor the number of their seeds depends on hidden ones.

    A case in which it took no seed comes out the same under all of them, and is not repeated. The
    exceptions: a program that may see the order of sets is run twice to compare the answers, and
    one whose answers then differ is run under all seeds. A program that fails on a public case gets
    no further seeds.

    Parameters
    ----------
    run
        Runs the cases of a part, but for those whose results are kept.
    repeats
        How often.
    may_see_order
        Whether chance may matter to the program even if it takes no seed.
    """
    public = _Series(repeats, may_see_order)
    while public.needs_more() and not (public.has_all_runs and public.runs[-1].failed):
        public.add(run(RunRequest(CasePart.PUBLIC, public.next_seed, public.kept)))
    hidden = _Series(repeats, may_see_order, public.differs)
    failed = public.runs[-1].failed
    while len(hidden.runs) < len(public.runs) or (not failed and hidden.needs_more()):
        before = public.under(len(hidden.runs)).results
        hidden.add(run(RunRequest(CasePart.HIDDEN, hidden.next_seed, hidden.kept, before)))
    return Trials(repeats.first_seed, public, hidden)


class _Series:
    """The runs of one part, and what they have shown about chance so far.

    Parameters
    ----------
    repeats
        How often to run it.
    may_see_order
        Whether the second run repeats every case, to compare the answers.
    differs
        Whether it is known already that answers differ without a seed.
    """

    def __init__(self, repeats: Repeats, may_see_order: bool, differs: bool = False) -> None:
        self.runs: list[Run] = []
        self.differs = differs
        self._repeats = repeats
        self._compares = may_see_order

    @property
    def next_seed(self) -> int:
        """The number of the seed of the next run."""
        return self._repeats.first_seed + len(self.runs)

    @property
    def has_all_runs(self) -> bool:
        """Whether every case has run as often as it must, with or without chance."""
        return len(self.runs) >= self._repeats.runs

    @property
    def kept(self) -> Kept:
        """What the next run need not repeat."""
        return {} if self._whole else self.runs[0].steady

    @property
    def chance(self) -> Chance:
        """How chance gets into the program, as far as these cases show."""
        drew = any(result.drew for result in self.runs[0].results)
        return Chance.SEED if drew else Chance.OTHER if self.differs else Chance.NONE

    def needs_more(self) -> bool:
        """Whether a further run may show something new."""
        if len(self.runs) >= max(self._repeats.runs, self._repeats.seeds):
            return False
        if not self.runs:
            return True
        cases = len(self.runs[0].results)
        return cases > 0 and (self._whole or len(self.runs[0].steady) < cases)

    def add(self, run: Run) -> None:
        """Take up the next run."""
        if self.runs and self._whole:
            first = self.runs[0]
            changed = (run.answers[place] != first.answers[place] for place in first.steady)
            self.differs = self.differs or any(changed)
        self.runs.append(run)

    def under(self, number: int) -> Run:
        """Return the run under a seed; if it was left out, it would have been like the first."""
        return self.runs[number] if number < len(self.runs) else self.runs[0]

    def worst(self, formula: Formula) -> Tally:
        """Return the tally of the worst run."""
        return min((Tally(run.results, formula) for run in self.runs), key=_merit)

    @property
    def _whole(self) -> bool:
        compares = self._compares and len(self.runs) == 1
        return not self.has_all_runs or self.differs or compares


@dataclass(frozen=True)
class Trials:
    """All runs of a program, under one seed after the other."""

    first_seed: int
    public: _Series
    hidden: _Series

    def verdict(self, suite: str, formula: Formula, hidden_refused: str) -> Verdict:
        """Return the verdict: the worst run on public cases counts, and that on hidden ones.

        Parameters
        ----------
        suite, formula
            The suite or task, and how its score is made.
        hidden_refused
            Why hidden cases were not asked, if they were not.
        """
        count = max(len(self.public.runs), len(self.hidden.runs))
        pairs = [(self.public.under(n), self.hidden.under(n)) for n in range(count)]
        trials = [
            Verdict(
                suite, Tally(public.results, formula), Tally(hidden.results, formula), ()
            ).trial(self.first_seed + number)
            for number, (public, hidden) in enumerate(pairs)
        ]
        outcomes = {tuple(r.value for run in pair for r in run.results) for pair in pairs}
        shown = self.public.chance
        chance = self.hidden.chance if shown is Chance.NONE else shown
        luck = Luck(chance, tuple(trials), shown, len(self.public.runs))
        return Verdict(
            suite,
            self.public.worst(formula),
            self.hidden.worst(formula),
            next((run.walls for run in self.public.runs if run.walls), ()),
            count,
            len(outcomes) == 1,
            hidden_refused=hidden_refused,
            luck=luck,
        )


def _merit(tally: Tally) -> tuple[int, float]:
    """Return what ranks the runs of a program: one with a failed case is worse than any other."""
    return tally.valid_cases, tally.ratio
