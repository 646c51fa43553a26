"""The verdict of the referee on one case."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf, isfinite
from typing import Any, Self

from colocate.problem.tolerance import RECORDED_AS_PROVEN, TIE


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
