"""Which model is on which GPUs, and nothing else."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.problem import Problem


class Placement(Mapping[str, tuple[str, ...]]):
    """A frozen mapping from model name to the names of its GPUs.

    A model has a GPU for every shard of every replica, with the shards of a replica in a row. A
    model that sleeps has none.
    """

    __slots__ = ("_gpus_of",)

    def __init__(self, gpus_of: Mapping[str, Sequence[str]] | None = None) -> None:
        self._gpus_of = {model: tuple(gpus) for model, gpus in (gpus_of or {}).items()}

    @classmethod
    def from_indices(cls, problem: Problem, gpu_of: Ints | Sequence[int]) -> "Placement":
        """Build a placement from the index of a GPU for every model."""
        names = [gpu.name for gpu in problem.gpus]
        pairs = zip(problem.models, gpu_of, strict=True)
        return cls({model.name: (names[int(gpu)],) for model, gpu in pairs})

    def indices(self, problem: Problem) -> Ints:
        """Return the index of the GPU of every model."""
        number = {gpu.name: place for place, gpu in enumerate(problem.gpus)}
        return np.array([number[self[model.name][0]] for model in problem.models], np.int64)

    def __getitem__(self, model: str) -> tuple[str, ...]:
        return self._gpus_of[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gpus_of)

    def __len__(self) -> int:
        return len(self._gpus_of)

    def __hash__(self) -> int:
        return hash(frozenset(self._gpus_of.items()))

    def __repr__(self) -> str:
        return f"Placement({self._gpus_of!r})"
