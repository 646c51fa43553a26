"""How often a program is judged, and under which seeds: as often as chance may matter to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from colocate.arena.luck import Chance, Luck
from colocate.arena.verdict import CaseVerdict, Tally, Verdict
from colocate.errors import InputError

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
            value = getattr(self, name)
            if value < least:
                raise InputError.of(name, value, f"a whole number >= {least}")

    @property
    def of_the_best(self) -> "Repeats":
        """What a program needs before it may be called best."""
        return replace(self, runs=max(self.runs, RUNS_OF_THE_BEST))

    def enough_for(self, verdict: Verdict) -> bool:
        """Whether a verdict comes from at least so many runs."""
        chance = verdict.luck.chance in (Chance.SEED, Chance.OTHER) and not verdict.public.failures
        return verdict.runs >= (max(self.runs, self.seeds) if chance else self.runs)


FIRST_LOOK = Repeats(seeds=1)
"""One run of each case, for a search in which most programs do not matter later."""


@dataclass(frozen=True)
class Run:
    """One run of a program: its results under one seed."""

    seed: int
    verdict: Verdict
    answers: tuple[bytes, ...]
    """A digest of what came back in each case."""

    @property
    def results(self) -> tuple[CaseVerdict, ...]:
        """The verdicts on all cases."""
        return (*self.verdict.public.results, *self.verdict.hidden.results)


Kept = Mapping[int, CaseVerdict]
"""Results that another run need not repeat, by the numbers of their cases."""


def repeated(run: Callable[[int, Kept], Run], repeats: Repeats, may_see_order: bool) -> Verdict:
    """Run a program as often as chance may matter to it; return its verdict.

    The worst run on the public cases counts, and the worst on the hidden ones: so what a search
    learns about public cases does not depend on hidden ones.

    A case in which it took no seed comes out the same under all of them, and is not repeated. The
    exceptions: a program that may see the order of sets is run twice to compare the answers, and
    one whose answers then differ is run under all seeds. A program that fails on a public case gets
    no further seeds.

    Parameters
    ----------
    run
        Runs all cases under a seed, but for those whose results are kept.
    repeats
        How often.
    may_see_order
        Whether chance may matter to the program even if it takes no seed.
    """
    runs = [run(repeats.first_seed, {})]
    kept = {n: result for n, result in enumerate(runs[0].results) if not result.drew}
    differs = False
    while len(runs) < max(repeats.runs, repeats.seeds):
        compares = may_see_order and len(runs) == 1
        whole = differs or compares or len(runs) < repeats.runs
        if len(runs) >= repeats.runs and runs[-1].verdict.public.failures:
            break
        if not whole and len(kept) == len(runs[0].results):
            break
        again = run(repeats.first_seed + len(runs), {} if whole else kept)
        differs = differs or (whole and any(again.answers[n] != runs[0].answers[n] for n in kept))
        runs.append(again)
    return _summed_up(runs, differs)


def _summed_up(runs: Sequence[Run], differs: bool) -> Verdict:
    drew = any(result.drew for result in runs[0].results)
    chance = Chance.SEED if drew else Chance.OTHER if differs else Chance.NONE
    trials = tuple(run.verdict.trial(run.seed) for run in runs)
    outcomes = {tuple(result.value for result in run.results) for run in runs}
    public = min((run.verdict.public for run in runs), key=_merit)
    hidden = min((run.verdict.hidden for run in runs), key=_merit)
    judged = replace(runs[0].verdict, public=public, hidden=hidden, runs=len(runs))
    return replace(judged, steady=len(outcomes) == 1, luck=Luck(chance, trials))


def _merit(tally: Tally) -> tuple[int, float]:
    """Return what ranks the runs of a program: one with a failed case is worse than any other."""
    return tally.valid_cases, tally.ratio
