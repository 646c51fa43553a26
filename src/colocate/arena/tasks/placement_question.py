"""A case of a placement task, and the verdict on a placement: from scratch, by names alone."""

from collections import Counter
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from colocate.arena.question import Question
from colocate.arena.tasks.placed_names import fault_of_names, listed_few
from colocate.arena.verdict import CaseVerdict, Failure
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.problem.problem import Problem
from colocate.problem.verify import verify

ENTRY_POINT = "compute_model_placement"
"""The function of the public benchmark."""


@dataclass(frozen=True, kw_only=True)
class PlacementQuestion(Question):
    """A case in the form of the public benchmark: a number of GPUs, and models as objects."""

    problem: Problem
    """The problem that the program must solve."""

    form: ClassVar[str] = "placement"
    answer_key: ClassVar[str] = "placement"
    wanted: ClassVar[str] = "a dict of GPUs to models"

    @property
    def entry_point(self) -> str:
        """The name of the function that the program defines."""
        return ENTRY_POINT

    @property
    def arguments(self) -> dict[str, Any]:
        """The number of GPUs and the models, as the public benchmark passes them."""
        models = [
            (model.name, _plain(model.size_gb), _plain(model.rate), _plain(model.slo))
            for model in self.problem.models
        ]
        return {"gpu_num": len(self.problem.gpus), "models": models}

    @property
    def digest(self) -> str:
        """The digest of the problem."""
        return self.problem.digest

    def check(self, answer: Any) -> CaseVerdict:
        """Return the verdict on a placement: pairs of a GPU and the names of its models."""
        if not _is_placement(answer):
            return self.failed(Failure.NO_ANSWER, "what came back is no placement")
        return self._placed(answer)

    def _placed(self, placement: list[tuple[int | str, list[str]]]) -> CaseVerdict:
        gpus = range(len(self.problem.gpus))
        strange = [key for key, names in placement if key not in gpus and names]
        if strange:
            reason = (
                f"there is no GPU {listed_few(strange, _gpu_key)}, they are 0 to {len(gpus) - 1}"
            )
            return self.failed(Failure.UNKNOWN_GPU, reason)
        where = [(name, key) for key, names in placement for name in names]
        names = [model.name for model in self.problem.models]
        if fault := fault_of_names(names, Counter(name for name, _ in where)):
            return self.failed(*fault)
        homes = {name: (self.problem.gpus[int(key)].name,) for name, key in where}
        verdict = verify(self.problem, homes)
        if not verdict.valid:
            return self.failed(Failure.OVERFILLED, verdict.faults[0])
        if not isfinite(verdict.pressure):
            return self.failed(Failure.NOT_FINITE, "a GPU with load has no memory left")
        return self.reached(verdict.pressure)


def _plain(figure: float | None) -> float | int | None:
    """Return a whole number as an integer, as the public benchmark passes it."""
    return int(figure) if figure is not None and figure == int(figure) else figure


def _is_placement(answer: object) -> bool:
    return isinstance(answer, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], int | str)
        and not isinstance(pair[0], bool)
        and isinstance(pair[1], list)
        and all(isinstance(name, str) for name in pair[1])
        for pair in answer
    )


def _gpu_key(key: int | str) -> str:
    return one_line(str(key), LONGEST_NAME)
