"""The verdict of the referee on a program."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Self

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.luck import Luck, SeedResult, luck_sentence
from colocate.arena.reasons import FailedCase, reason_lines
from colocate.arena.tally import NOTHING, Tally
from colocate.errors import SandboxError

MOST_CASES = 5
"""Cases that a feedback names: those that are furthest from their optimum."""


@dataclass(frozen=True)
class Verdict:
    """The whole verdict on a program.

    If something around the program failed, `fault` says what. Such a verdict has no score.
    """

    suite: str
    """The suite or task that the program was judged on."""
    public: Tally
    """The cases as published."""
    hidden: Tally
    """Cases that the program cannot have seen; there may be none."""
    walls: tuple[str, ...]
    """The walls between the program and the machine."""
    runs: int = 1
    """How often it ran; the figures are those of the worst run."""
    steady: bool = True
    """Whether all runs gave the same values."""
    fault: str = ""
    """What failed around the program, if anything did: no sandbox, a full disk."""
    hidden_refused: str = ""
    """Why hidden cases were not asked, if the walls here do not keep them hidden."""
    luck: Luck = field(default_factory=Luck, kw_only=True)
    """The figures under every seed; those above are of the worst."""

    def __repr__(self) -> str:
        if self.fault:
            return f"<Verdict on {self.suite}: not judged, {self.fault}>"
        tallies = (("public", self.public), ("hidden", self.hidden))
        valid = [f"{t.valid_cases} of {t.cases} {name}" for name, t in tallies if t.cases]
        figures = f"score {self.score:.6g}, fitness {self.fitness:.6f}"
        return f"<Verdict on {self.suite}: {figures}, {' and '.join(valid)} cases valid>"

    @property
    def correct(self) -> bool:
        """Whether the program solved every case, public and hidden."""
        return not self.fault and not self.public.failures and not self.hidden.failures

    @property
    def score(self) -> float:
        """The score on the public cases; more is better.

        Raises
        ------
        SandboxError
            If a fault kept the program from being judged: it was never scored.
        """
        return self._judged.score

    @property
    def ratio(self) -> float:
        """The mean ratio to the best values known over the public cases; see `score`."""
        return self._judged.ratio

    @property
    def fitness(self) -> float:
        """The figure that ranks programs; it also counts cases that no program has seen."""
        return min(self.ratio, self.hidden.ratio) if self.hidden.cases else self.ratio

    @property
    def seconds(self) -> float:
        """Wall time of the public cases."""
        return self.public.seconds

    @property
    def public_only(self) -> Self:
        """The verdict on the public cases alone: what a search may know."""
        luck = self.luck.public_only
        runs = min(self.runs, self.luck.public_trials or self.runs)
        steady = len({trial.score for trial in luck.trials}) <= 1
        return replace(self, hidden=NOTHING, runs=runs, steady=steady, luck=luck)

    def trial(self, seed: int) -> SeedResult:
        """Return the figures of this run, which was under that seed."""
        figures = (self.score, self.ratio, self.hidden.ratio, self.fitness)
        return SeedResult(seed, *figures, self.public.valid_cases, self.hidden.valid_cases)

    @property
    def worst_cases(self) -> tuple[CaseVerdict, ...]:
        """The public cases that are furthest from their optimum, with bounds; worst first."""
        return tuple(r for r in self.public.worst_first if r.ratio < 1)[:MOST_CASES]

    @property
    def failures(self) -> dict[Failure, int]:
        """How many cases failed for each reason, public and hidden, the most frequent first."""
        failed = (*self.public.failures, *self.hidden.failures)
        counts = Counter(result.failure for result in failed if result.failure)
        return dict(counts.most_common())

    @property
    def feedback(self) -> str:
        """What to tell an author, or a model. No word in it is from a hidden case."""
        return "\n".join(self._feedback_lines())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the public figures first, then all others."""
        return {
            "suite": self.suite,
            "fitness": self.fitness if not self.fault and isfinite(self.fitness) else None,
            **self.public.as_dict(),
            "correct": self.correct,
            "hidden": self.hidden.as_dict(),
            "walls": list(self.walls),
            "runs": self.runs,
            "steady": self.steady,
            "fault": self.fault,
            "hidden_refused": self.hidden_refused,
            "luck": self.luck.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a verdict that `as_dict` wrote."""
        public, hidden = Tally.from_dict(data), Tally.from_dict(data["hidden"])
        judged = (tuple(data["walls"]), data["runs"], data["steady"])
        told = (data.get(name, "") for name in ("fault", "hidden_refused"))
        luck = Luck.from_dict(data.get("luck", {}))
        return cls(data["suite"], public, hidden, *judged, *told, luck=luck)

    @property
    def _judged(self) -> Tally:
        if self.fault:
            raise SandboxError(f"the program was not judged: {self.fault}")
        return self.public

    def _feedback_lines(self) -> Iterator[str]:
        if self.fault:
            yield f"Not judged, through no fault of the program: {self.fault}"
            return
        valid = f"{self.public.valid_cases} of {self.public.cases} public cases valid"
        ratio = f"mean ratio to the {self.public.goal} {self.ratio:.6f}"
        yield f"score {self.score:.6g}, {ratio}, {valid}"
        if told := luck_sentence(self.luck):
            yield told
        if self.hidden.cases:
            hidden = f"{self.hidden.valid_cases} of {self.hidden.cases} hidden cases valid"
            yield f"mean ratio {self.hidden.ratio:.6f} on hidden cases, {hidden}"
        if self.hidden_refused:
            yield f"no hidden cases were asked: {self.hidden_refused}"
        failed = self.public.failures
        yield from reason_lines(
            FailedCase(r.case, r.cause, r.reason, r.traceback, r.ran) for r in failed
        )
        for result in filter(lambda result: result.valid, self.worst_cases):
            proven = "" if result.bound is None else f", proven bound {result.bound:.6g}"
            yield (
                f"{result.case}: ratio {result.ratio:.6f}, value {result.value:.6g}, "
                f"best known {result.optimum:.6g}{proven}"
            )
