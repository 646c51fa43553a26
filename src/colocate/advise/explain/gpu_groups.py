"""Predict a few GPUs of a large fleet by themselves: those that models with shards join."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.parts import Places, parts_of
from colocate.problem.problem import Problem

Replica = tuple[str, int]


@dataclass(frozen=True)
class GpuGroups:
    """Which replicas are on which GPUs.

    Parameters
    ----------
    problem
        The models and the GPUs.
    on_gpu
        The replicas on each GPU.
    gpus_of
        The GPUs of each replica.
    """

    problem: Problem
    on_gpu: Mapping[str, Sequence[Replica]]
    gpus_of: Mapping[Replica, Sequence[str]]

    @classmethod
    def of(cls, problem: Problem, placement: Places) -> "GpuGroups":
        """Return those of a placement."""
        on_gpu: dict[str, list[Replica]] = {}
        gpus_of: dict[Replica, list[str]] = {}
        for part in parts_of(problem, placement):
            replica = (part.model.name, part.replica)
            on_gpu.setdefault(part.gpu, []).append(replica)
            gpus_of.setdefault(replica, []).append(part.gpu)
        return cls(problem, on_gpu, gpus_of)

    def models_at(self, gpus: Iterable[str]) -> set[str]:
        """Return the models that decide the latencies on some GPUs.

        These are the models on them, and, since shards run in step, those beside their shards.
        """
        open_ones, models = list(gpus), set()
        seen = set(open_ones)
        while open_ones:
            for replica in self.on_gpu.get(open_ones.pop(), ()):
                models.add(replica[0])
                more = set(self.gpus_of[replica]) - seen
                open_ones += more
                seen |= more
        return models

    def predicted(self, models: set[str], placement: Places) -> tuple[Prediction, ...]:
        """Predict some models of a placement as if the others were not there.

        Where they may run is left out: it may name GPUs that none of them is on.
        """
        places = {name: placement[name] for name in models}
        used = {gpu for gpus in places.values() for gpu in gpus}
        small = Problem(
            tuple(gpu for gpu in self.problem.gpus if gpu.name in used),
            tuple(
                model.changed(only=(), never=())
                for model in self.problem.models
                if model.name in models
            ),
            sharing=self.problem.sharing,
        )
        return predict_placement(small, places)
