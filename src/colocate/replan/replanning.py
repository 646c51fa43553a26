"""The answer of a replan: placements between staying and the best, each with its bound."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isinf
from typing import Any

from colocate.problem.parts import Places
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import PROVEN
from colocate.solver.plan import gap_between


class BudgetProof(StrEnum):
    """Why no placement that moves as little has a lower value; each was checked."""

    NONE = "none"
    """Nothing is proven."""
    ANY_BUDGET = "any budget"
    """No placement at all has one: the bound of an ordinary plan."""
    EVICTION = "eviction"
    """More would have to leave its GPU."""
    EXHAUSTION = "exhaustion"
    """Every placement was tried."""


@dataclass(frozen=True)
class FrontierPoint:
    """One placement, with what it brings and what it takes.

    Parameters
    ----------
    placement
        GPU names by model name.
    value
        Its highest pressure, or worst ratio of latency to target, by the objective.
    moved_gb
        The weights that must be loaded.
    budget_gb
        What the bound is about: placements that move no more than this.
    bound
        No such placement has a lower value; 0 if nothing is proven.
    proof
        Why.
    """

    placement: Placement
    value: float
    moved_gb: float
    budget_gb: float
    bound: float = 0.0
    proof: BudgetProof = BudgetProof.NONE

    @property
    def gap(self) -> float:
        """The distance from the bound to the value, as a share of the bound."""
        return gap_between(self.value, self.bound)

    @property
    def proven(self) -> bool:
        """Whether no placement that moves as little is better."""
        return self.gap <= PROVEN

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "value": _number(self.value),
            "moved_gb": self.moved_gb,
            "budget_gb": _number(self.budget_gb),
            "bound": _number(self.bound),
            "gap": _number(self.gap),
            "proof": self.proof.value,
            "placement": {model: list(gpus) for model, gpus in self.placement.items()},
        }


@dataclass(frozen=True)
class Replanning:
    """What `replan` found.

    Parameters
    ----------
    problem
        The fleet as it is now, without the GPUs that are to be left.
    old
        The placement that runs.
    points
        Placements, rising by what they move; each is better than those before it.
    forced_gb
        What any placement loads: models without an engine.
    stay
        The first point if it moves nothing but what must be; None if the old placement breaks a
        rule.
    broken
        Rules that the old placement breaks in the fleet as it is now.
    chosen
        The number of the point that was asked for: the best within the budget, or the lightest
        within the target. Without either the last one, until `choose` takes the best net gain.
    least_gb
        With a target: what any placement that reaches it moves at least, as proven.
    draining
        GPUs that are to be left.
    weights_gb
        What each model weighs.
    seconds, first_seconds
        How long it took, and when the first placement better than staying was found.
    """

    problem: Problem = field(repr=False)
    old: Places = field(repr=False)
    points: tuple[FrontierPoint, ...]
    forced_gb: float = 0.0
    stay: FrontierPoint | None = None
    broken: tuple[str, ...] = ()
    chosen: int = 0
    least_gb: float = 0.0
    draining: tuple[str, ...] = ()
    weights_gb: dict[str, float] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    first_seconds: float | None = None

    @property
    def point(self) -> FrontierPoint:
        """The point that was asked for."""
        return self.points[self.chosen]

    @property
    def placement(self) -> Placement:
        """The placement of that point."""
        return self.point.placement

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "objective": self.problem.objective,
            "stay": self.stay.as_dict() if self.stay else None,
            "broken": list(self.broken),
            "forced_gb": self.forced_gb,
            "chosen": self.chosen,
            "least_gb": _number(self.least_gb),
            "points": [point.as_dict() for point in self.points],
            "draining": list(self.draining),
            "seconds": self.seconds,
            "first_seconds": self.first_seconds,
        }


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) and value == inf else value
