"""The verdict of the referee on a program."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite, nan
from statistics import fmean
from typing import Any, Self

from colocate.arena.luck import Luck, SeedResult, luck_sentence
from colocate.arena.reasons import FailedCase, reason_lines
from colocate.errors import SandboxError
from colocate.problem.tolerance import RECORDED_AS_PROVEN, TIE

MOST_CASES = 5
"""Cases that a feedback names: those that are furthest from their optimum."""


class Failure(StrEnum):
    """Why a case counts as failed."""

    NO_ANSWER = "no answer"
    NOT_FINITE = "not finite"
    UNKNOWN_MODEL = "unknown model"
    MISSING_MODEL = "missing model"
    REPEATED_MODEL = "repeated model"
    UNKNOWN_GPU = "unknown GPU"
    OVERFILLED = "memory overfilled"
    BELOW_BOUND = "below the proven bound"
    ABOVE_BOUND = "above the proven bound"
    INVALID = "invalid answer"
    TIMEOUT = "timeout"
    EXIT = "exit"
    CRASH = "crash"


class Formula(StrEnum):
    """How the score is made from the values of the cases; more is better."""

    PRESSURE = "1 / mean pressure + share of valid cases"
    MEAN = "mean value"
    RATIO = "mean ratio"


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict on one case."""

    case: str
    value: float
    """What the checker found, such as the peak pressure; infinitely bad for a failed case."""
    optimum: float
    """The best value known, which on most suites is proven to be the best possible."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Wall time, and processor time."""
    failure: Failure | None = None
    """The rule that was broken; None for a valid case."""
    reason: str = ""
    """A sentence about the failure."""
    traceback: str = ""
    """The end of the traceback, if the program raised something."""
    error: str = ""
    """The type of the exception or the signal that ended the program, if one did."""
    bound: float | None = None
    """The proven limit of what any answer can reach; None if there is none."""
    higher_is_better: bool = False
    """Whether programs are to raise the value."""
    called: bool = True
    """Whether the program was loaded, so that its function was called."""
    drew: bool = False
    """Whether the program took the seed of random draws."""
    ran: bool = True
    """Whether the case was put to the program, not just counted as failed."""

    @property
    def cause(self) -> tuple[Failure | None, str, bool]:
        """The cause of a failure; cases with the same one form a group."""
        return self.failure, self.error, self.ran

    @property
    def valid(self) -> bool:
        """Whether the case counts as solved."""
        return self.failure is None

    @property
    def proven(self) -> bool:
        """Whether the best value known is proven to be the best possible."""
        return is_proven(self.optimum, self.bound, self.higher_is_better)

    @property
    def ratio(self) -> float:
        """How near the value is to the best value known: 1 reaches it, 0 is failed.

        A value that beats it counts more than 1 if no bound is proven. Where there is a bound, it
        counts 1.
        """
        if not self.valid:
            return 0.0
        if self.higher_is_better and self.value < self.optimum * (1 - TIE):
            return self.value / self.optimum
        if not self.higher_is_better and self.value > self.optimum * (1 + TIE):
            return self.optimum / self.value
        if self.bound is not None or not self.optimum:
            return 1.0
        share = self.value / self.optimum
        ahead = share - 1 if self.higher_is_better else 1 - share
        return 1 + ahead if ahead > TIE else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; an infinite value is None."""
        value = self.value if isfinite(self.value) else None
        return asdict(self) | {"value": value, "ratio": self.ratio}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a verdict that `as_dict` wrote.

        Verdicts of earlier versions call the value a pressure. The first ones have no `error`;
        their reason of a crash begins with it. They have no bound, as all best values were proven.
        """
        fields = {name: data[name] for name in data if name not in ("ratio", "pressure")}
        if "error" not in data and data["failure"] == Failure.CRASH:
            fields["error"] = data["reason"].partition(":")[0]
        fields.setdefault("bound", data["optimum"])
        value = data["value"] if "value" in data else data["pressure"]
        if value is None:
            value = -inf if data.get("higher_is_better") else inf
        failure = Failure(data["failure"]) if data["failure"] else None
        return cls(**(fields | {"value": value, "failure": failure}))


def is_proven(optimum: float, bound: float | None, higher_is_better: bool) -> bool:
    """Return whether the best value known reaches the bound, so that nothing is better.

    Parameters
    ----------
    optimum
        The best value known.
    bound
        The proven limit of what any answer can reach; None if there is none.
    higher_is_better
        Whether programs are to raise the value.
    """
    if bound is None:
        return False
    if higher_is_better:
        return optimum >= bound * (1 - RECORDED_AS_PROVEN)
    return optimum <= bound * (1 + RECORDED_AS_PROVEN)


def goal_word(proven: Iterable[bool]) -> str:
    """Return what to call the best values: the optimum, if it is proven on every case."""
    return "optimum" if all(proven) else "best known value"


@dataclass(frozen=True)
class Tally:
    """The result on a set of cases. A failed case counts with an infinitely bad value."""

    results: tuple[CaseVerdict, ...]
    formula: Formula = Formula.PRESSURE
    """How the score is made."""

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.results)

    @property
    def valid_cases(self) -> int:
        """How many of them did not fail."""
        return sum(result.valid for result in self.results)

    @property
    def score(self) -> float:
        """The score by the formula; not a number if there are no cases."""
        if not self.results or self.formula is Formula.RATIO:
            return self.ratio
        if self.formula is Formula.MEAN:
            return fmean(result.value if result.valid else 0.0 for result in self.results)
        mean = fmean(result.value for result in self.results)
        return (1 / mean if mean > 0 else inf) + self.valid_cases / self.cases

    @cached_property
    def ratio(self) -> float:
        """Mean ratio over all cases, with 0 for a failed one; not a number without cases."""
        return fmean(result.ratio for result in self.results) if self.results else nan

    @property
    def optimal(self) -> bool:
        """Whether the program reaches the best value known on every case."""
        return all(result.ratio >= 1.0 for result in self.results)

    @property
    def goal(self) -> str:
        """What the ratio compares with: the optimum, if that is proven on every case."""
        return goal_word(result.proven for result in self.results)

    @property
    def failures(self) -> tuple[CaseVerdict, ...]:
        """The cases that failed."""
        return tuple(result for result in self.results if not result.valid)

    @property
    def worst_first(self) -> tuple[CaseVerdict, ...]:
        """All cases, that furthest from its optimum first."""
        return tuple(sorted(self.results, key=lambda result: result.ratio))

    @property
    def worst(self) -> CaseVerdict:
        """The case furthest from its optimum; there must be a case."""
        return self.worst_first[0]

    @property
    def seconds(self) -> float:
        """Wall time of all cases."""
        return sum(result.seconds for result in self.results)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all cases."""
        return sum(result.cpu_seconds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, figures first; None for those that are not finite."""
        return {
            "score": self.score if isfinite(self.score) else None,
            "formula": self.formula,
            "ratio": self.ratio if self.results else None,
            "valid_cases": self.valid_cases,
            "cases": self.cases,
            "worst_case": self.worst.case if self.results else None,
            "worst_ratio": self.worst.ratio if self.results else None,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "failures": [{"case": f.case, "reason": f.reason} for f in self.failures],
            "results": [result.as_dict() for result in self.results],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a tally that `as_dict` wrote; the first ones knew one formula only."""
        results = tuple(CaseVerdict.from_dict(result) for result in data["results"])
        return cls(results, Formula(data.get("formula", Formula.PRESSURE)))


NOTHING = Tally(())
"""The tally of no cases."""


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
