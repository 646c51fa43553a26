"""A case of a placement task, and the verdict on a placement: from scratch, by names alone."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.inside.flat_text import NAME, rows_of, text_of
from colocate.arena.question import LONGEST_FIELD, Question
from colocate.arena.tasks.placed_names import fault_of_names, listed_few
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.problem.problem import Problem
from colocate.problem.verify import verify

ENTRY_POINT = "compute_model_placement"
"""The function of the public benchmark."""
MOST_DIGITS = 9
"""Of the number of a GPU."""


@dataclass(frozen=True, kw_only=True)
class PlacementQuestion(Question):
    """A case in the form of the public benchmark: a number of GPUs, and models as objects."""

    problem: Problem
    """The problem that the program must solve."""

    form: ClassVar[str] = "placement"
    wanted: ClassVar[str] = "a dict of GPUs to models"

    @property
    def entry_point(self) -> str:
        """The name of the function that the program defines."""
        return ENTRY_POINT

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The number of GPUs and the models, as the public benchmark passes them."""
        models = [
            (model.name, _plain(model.size_gb), _plain(model.peak_rate), _plain(model.slo))
            for model in self.problem.models
        ]
        return {"gpu_num": len(self.problem.gpus), "models": models}

    @property
    def digest(self) -> str:
        """The digest of the problem."""
        return self.problem.digest

    def check(self, answer: bytes) -> CaseVerdict:
        """Return the verdict on a placement: rows of a GPU and the names of its models."""
        placement = [(_gpu(row[0]), list(map(text_of, row[1:]))) for row in rows_of(answer)]
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


def _gpu(key: bytes) -> int | str:
    """Return the number of a GPU, or the text that was in its place."""
    if key.isdigit() and len(key) <= MOST_DIGITS:
        return int(key)
    return text_of(key[:LONGEST_FIELD]).removeprefix(NAME)


def _gpu_key(key: int | str) -> str:
    return one_line(str(key), LONGEST_NAME) or "without a name"
