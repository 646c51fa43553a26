"""The answer: where every model goes, and how good that is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isinf
from typing import Any

from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem


class Status(StrEnum):
    """What is known about an answer."""

    OPTIMAL = "OPTIMAL"
    """There is a placement, and it is proven that none is better."""
    FEASIBLE = "FEASIBLE"
    """There is a placement."""
    INFEASIBLE = "INFEASIBLE"
    """It is proven that there is no placement."""
    UNKNOWN = "UNKNOWN"
    """No placement was found, and none was proven impossible."""


@dataclass(frozen=True)
class Plan:
    """What a strategy answered.

    Parameters
    ----------
    problem
        The question.
    status
        What is known about the answer.
    placement
        GPU names by model name; empty if there is no placement.
    pressures
        Pressure by GPU name; empty if there is no placement.
    reason
        A sentence on why there is no placement, or on how it was found if not as asked.
    strategy, seed, seconds
        How it was found.
    """

    problem: Problem = field(repr=False)
    status: Status
    placement: Placement = field(default_factory=Placement)
    pressures: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    strategy: str = ""
    seed: int = 0
    seconds: float = 0.0

    @property
    def pressure(self) -> float:
        """The highest pressure; infinite if there is no placement."""
        return max(self.pressures.values(), default=inf)

    @property
    def bottleneck(self) -> str | None:
        """The name of the first GPU with the highest pressure."""
        return max(self.pressures, key=self.pressures.__getitem__, default=None)

    def models_by_gpu(self) -> dict[str, list[Model]]:
        """Return the models on every GPU, by GPU name, in the order of the problem."""
        members: dict[str, list[Model]] = {gpu.name: [] for gpu in self.problem.gpus}
        for model in self.problem.models:
            for gpu in self.placement.get(model.name, ()):
                members[gpu].append(model)
        return members

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain data for JSON; an infinite pressure is the text Infinity."""
        return {
            "status": self.status.value,
            "pressure": _number(self.pressure) if self.placement else None,
            "pressures": {gpu: _number(value) for gpu, value in self.pressures.items()},
            "placement": {model: list(gpus) for model, gpus in self.placement.items()},
            "reason": self.reason,
            "strategy": self.strategy,
            "seed": self.seed,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        if not self.placement:
            return f"{self.status}: {self.reason}"
        lines = [
            f"{gpu}  {self.pressures[gpu]:.6g}  {', '.join(model.name for model in models)}"
            for gpu, models in self.models_by_gpu().items()
        ]
        return "\n".join([*lines, f"{self.status}: peak pressure {self.pressure:.6g}"])


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) else value
