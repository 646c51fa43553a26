"""A case of a fleet task: GPUs and models as plain data, and the verdict on where models are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.inside.flat_text import NAME, rows_of, text_of
from colocate.arena.question import Question
from colocate.arena.tasks.placed_names import fault_of_names, listed_few
from colocate.problem.problem import Problem
from colocate.problem.verify import verify

ENTRY_POINT = "place_models"
"""The function that every program of a fleet task defines."""


@dataclass(frozen=True, kw_only=True)
class FleetQuestion(Question):
    """A case of a fleet task. The independent checker judges the answer from scratch."""

    inputs: tuple[list[dict[str, Any]], ...]
    """GPUs and models as the program gets them."""
    problem: Problem
    """The same for the checker."""

    form: ClassVar[str] = "places"
    wanted: ClassVar[str] = "a dict from the names of models to those of their GPUs"

    @property
    def arguments(self) -> dict[str, Any]:
        """The GPUs and the models."""
        return {"arguments": list(self.inputs)}

    @property
    def entry_point(self) -> str:
        """The function that every program of a fleet task defines."""
        return ENTRY_POINT

    @property
    def digest(self) -> str:
        """The digest of the problem."""
        return self.problem.digest

    def check(self, answer: bytes) -> CaseVerdict:
        """Return the verdict on a placement: rows of a model and the names of its GPUs."""
        rows = [list(map(text_of, row)) for row in rows_of(answer)]
        models = [model.name for model in self.problem.models]
        if fault := fault_of_names(models, Counter(name for name, *_ in rows)):
            return self.failed(*fault)
        placement = {name: _places(found) for name, *found in rows}
        strange = [name for name, places in placement.items() if places is None]
        if strange:
            reason = f"{listed_few(strange)} on something else than names of GPUs"
            return self.failed(Failure.NO_ANSWER, reason)
        return self._placed({name: places or [] for name, places in placement.items()})

    def _placed(self, placement: dict[str, list[str]]) -> CaseVerdict:
        gpus = [gpu.name for gpu in self.problem.gpus]
        if unknown := _unknown(placement.values(), frozenset(gpus)):
            reason = f"there is no GPU {listed_few(unknown)}, they are {gpus[0]} to {gpus[-1]}"
            return self.failed(Failure.UNKNOWN_GPU, reason)
        for model in self.problem.models:
            if len(placement[model.name]) > model.most_replicas:
                few = f"must be on {model.most_replicas} at most"
                reason = f"model {model.name!r} is on {len(placement[model.name])} GPUs, {few}"
                return self.failed(Failure.INVALID, reason)
        verdict = verify(self.problem, placement)
        if not verdict.valid:
            fault = verdict.faults[0]
            kind = Failure.OVERFILLED if fault.startswith("gpu ") else Failure.INVALID
            return self.failed(kind, fault)
        latency = self.problem.objective == "latency"
        return self.reached(verdict.ratio if latency else verdict.pressure)


def _places(found: list[str]) -> list[str] | None:
    """Return the names of the GPUs of one model; None if it is on something else."""
    if not all(place.startswith(NAME) for place in found):
        return None
    return [place.removeprefix(NAME) for place in found]


def _unknown(placed: Iterable[list[str]], gpus: frozenset[str]) -> list[str]:
    """Return the names of GPUs that do not exist, each once."""
    return list(dict.fromkeys(place for places in placed for place in places if place not in gpus))
