"""The verdict of the referee on a program."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite
from statistics import fmean
from typing import Any, Self

from colocate.problem.tolerance import TIE


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
    TIMEOUT = "timeout"
    EXIT = "exit"
    CRASH = "crash"


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict on one case."""

    case: str
    pressure: float
    """Peak pressure by the independent checker; infinite for a failed case."""
    optimum: float
    """The lowest pressure known, which on most suites is proven to be the lowest possible."""
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

    @property
    def cause(self) -> tuple[Failure | None, str]:
        """The cause of a failure; cases with the same one form a group."""
        return self.failure, self.error

    @property
    def valid(self) -> bool:
        """Whether the case counts as solved."""
        return self.failure is None

    @property
    def ratio(self) -> float:
        """Optimum / pressure: 1 is optimal, 0 is failed."""
        if not self.valid:
            return 0.0
        if self.pressure <= self.optimum * (1 + TIE):
            return 1.0
        return self.optimum / self.pressure

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; an infinite pressure is None."""
        pressure = self.pressure if isfinite(self.pressure) else None
        return asdict(self) | {"pressure": pressure, "ratio": self.ratio}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a verdict that `as_dict` wrote.

        Verdicts of earlier versions have no `error`; their reason of a crash begins with it.
        """
        fields = {name: value for name, value in data.items() if name != "ratio"}
        if "error" not in data and data["failure"] == Failure.CRASH:
            fields["error"] = data["reason"].partition(":")[0]
        pressure = inf if data["pressure"] is None else data["pressure"]
        failure = Failure(data["failure"]) if data["failure"] else None
        return cls(**(fields | {"pressure": pressure, "failure": failure}))


@dataclass(frozen=True)
class Tally:
    """The result on a set of cases. A failed case counts with an infinite pressure."""

    results: tuple[CaseVerdict, ...]

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
        """The public formula: 1 / mean pressure, plus the share of valid cases."""
        mean = fmean(result.pressure for result in self.results)
        return (1 / mean if mean > 0 else inf) + self.valid_cases / self.cases

    @cached_property
    def ratio(self) -> float:
        """Mean over all cases of optimum / pressure, with 0 for a failed one."""
        return fmean(result.ratio for result in self.results)

    @property
    def optimal(self) -> bool:
        """Whether the program reaches the optimum on every case."""
        return all(result.ratio == 1.0 for result in self.results)

    @property
    def failures(self) -> tuple[CaseVerdict, ...]:
        """The cases that failed."""
        return tuple(result for result in self.results if not result.valid)

    @property
    def worst(self) -> CaseVerdict:
        """The case furthest from its optimum."""
        return min(self.results, key=lambda result: result.ratio)

    @property
    def seconds(self) -> float:
        """Wall time of all cases."""
        return sum(result.seconds for result in self.results)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all cases."""
        return sum(result.cpu_seconds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, figures first; an infinite score is None."""
        return {
            "score": self.score if isfinite(self.score) else None,
            "ratio": self.ratio,
            "valid_cases": self.valid_cases,
            "cases": self.cases,
            "worst_case": self.worst.case,
            "worst_ratio": self.worst.ratio,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "failures": [{"case": f.case, "reason": f.reason} for f in self.failures],
            "results": [result.as_dict() for result in self.results],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a tally that `as_dict` wrote."""
        return cls(tuple(CaseVerdict.from_dict(result) for result in data["results"]))


@dataclass(frozen=True)
class ProgramVerdict:
    """The whole verdict on a program."""

    suite: str
    public: Tally
    """The cases of the suite, as published."""
    hidden: Tally
    """Cases that the program cannot have seen: made from another seed, names and order shuffled."""
    walls: tuple[str, ...]
    """The walls between the program and the machine."""
    runs: int = 1
    """How often it ran; the figures are those of the worst run."""
    steady: bool = True
    """Whether all runs gave the same pressures."""

    @property
    def score(self) -> float:
        """The score by the public formula on the public cases."""
        return self.public.score

    @property
    def ratio(self) -> float:
        """The mean ratio of optimum to pressure over the public cases."""
        return self.public.ratio

    @property
    def fitness(self) -> float:
        """The figure that ranks programs; it also counts cases that no program has seen."""
        return min(self.public.ratio, self.hidden.ratio)

    @property
    def seconds(self) -> float:
        """Wall time of the public cases."""
        return self.public.seconds

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the public figures first, then all others."""
        return {
            "suite": self.suite,
            **self.public.as_dict(),
            "hidden": self.hidden.as_dict(),
            "walls": list(self.walls),
            "runs": self.runs,
            "steady": self.steady,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a verdict that `as_dict` wrote."""
        public, hidden = Tally.from_dict(data), Tally.from_dict(data["hidden"])
        walls = tuple(data["walls"])
        return cls(data["suite"], public, hidden, walls, data["runs"], data["steady"])
