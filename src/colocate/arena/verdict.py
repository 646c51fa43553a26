"""What the referee says about a program."""

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
    """How a program did on one case."""

    case: str
    pressure: float
    """Peak pressure by the independent checker; infinite for a failed case."""
    optimum: float
    """The lowest pressure known, which on most suites is proven to be the lowest there is."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Wall time, and processor time."""
    failure: Failure | None = None
    """The rule that was broken; None for a valid case."""
    reason: str = ""
    """A sentence about the failure."""
    traceback: str = ""
    """Its end, if the program raised something."""
    error: str = ""
    """The type of the exception or the signal that ended the program, if one did."""

    @property
    def cause(self) -> tuple[Failure | None, str]:
        """What failed cases share that failed for one cause."""
        return self.failure, self.error

    @property
    def valid(self) -> bool:
        """Whether it counts."""
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
        """Return the verdict that `as_dict` wrote down."""
        fields = {name: value for name, value in data.items() if name != "ratio"}
        pressure = inf if data["pressure"] is None else data["pressure"]
        failure = Failure(data["failure"]) if data["failure"] else None
        return cls(**(fields | {"pressure": pressure, "failure": failure}))


@dataclass(frozen=True)
class Tally:
    """How a program did on a set of cases. A failed case stays in, with an infinite pressure."""

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
        """Whether the optimum is reached on every case."""
        return all(result.ratio == 1.0 for result in self.results)

    @property
    def failures(self) -> tuple[CaseVerdict, ...]:
        """The cases that failed."""
        return tuple(result for result in self.results if not result.valid)

    @property
    def worst(self) -> CaseVerdict:
        """The case that is furthest from its optimum."""
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
        """Return the tally that `as_dict` wrote down."""
        return cls(tuple(CaseVerdict.from_dict(result) for result in data["results"]))


@dataclass(frozen=True)
class ProgramVerdict:
    """All that the referee says about a program."""

    suite: str
    public: Tally
    """The cases of the suite, as published."""
    hidden: Tally
    """Cases that the program cannot have seen: made from another seed, names and order shuffled."""
    walls: tuple[str, ...]
    """What stood between the program and the machine."""
    runs: int = 1
    """How often it was run; the figures are those of the worst run."""
    steady: bool = True
    """Whether all runs gave the same pressures."""

    @property
    def score(self) -> float:
        """The public number."""
        return self.public.score

    @property
    def ratio(self) -> float:
        """The smooth figure over the public cases."""
        return self.public.ratio

    @property
    def fitness(self) -> float:
        """What decides which program is better: it must hold on cases never seen as well."""
        return min(self.public.ratio, self.hidden.ratio)

    @property
    def seconds(self) -> float:
        """Wall time of the public cases."""
        return self.public.seconds

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the figures of the public cases, and all others below."""
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
        """Return the verdict that `as_dict` wrote down."""
        public, hidden = Tally.from_dict(data), Tally.from_dict(data["hidden"])
        walls = tuple(data["walls"])
        return cls(data["suite"], public, hidden, walls, data["runs"], data["steady"])
