"""Whether a placement fits: memory, other resources, numbers of models, and models kept apart."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.parts import Places
from colocate.problem.pressure import within
from colocate.problem.problem import Problem

Held = tuple[str, int]
"""A model that has a part on a GPU, and how many replicas share its demand."""


@dataclass(frozen=True)
class Fitting:
    """Says what fits on the GPUs of a fleet.

    Latency targets do not count: whether they hold at the measured rates is what a replay tells.

    Parameters
    ----------
    problem
        The models and GPUs.
    """

    problem: Problem
    _parts: dict[Held, Model] = field(default_factory=dict)

    def fits(self, places: Places, before: Places) -> bool:
        """Return whether every GPU that gets more than it had holds what a placement puts there.

        A GPU may be over a limit already, since demand has grown or the limit is new. That is no
        reason against changes elsewhere, nor against one more replica that takes a share of what
        the GPU does.

        Parameters
        ----------
        places, before
            Who is where, and who was where before the change.
        """
        now, then = self.held_by_gpu(before), self.held_by_gpu(places)
        return all(
            _gets_no_more(now[gpu.name], then[gpu.name]) or self.holds(gpu, then[gpu.name])
            for gpu in self.problem.gpus
        )

    def held_by_gpu(self, places: Places) -> dict[str, list[Held]]:
        """Return what a placement puts on every GPU."""
        found: dict[str, list[Held]] = {gpu.name: [] for gpu in self.problem.gpus}
        for model in self.problem.models:
            gpus = places.get(model.name, ())
            for gpu in gpus:
                found[gpu].append((model.name, len(gpus) // model.shards))
        return found

    def holds(self, gpu: Gpu, held: Collection[Held]) -> bool:
        """Return whether a GPU can hold parts of models."""
        return not self.broken_rules(gpu, held)

    def broken_rules(self, gpu: Gpu, held: Collection[Held]) -> list[str]:
        """Return the names of the rules that parts of models on a GPU break.

        They are `memory`, `most_models`, `apart`, and the names of other resources.

        Parameters
        ----------
        gpu, held
            The GPU, and the parts.
        """
        parts = [self.part(each) for each in held]
        broken = []
        if not within(sum(map(held_gb, parts)), gpu.memory_gb):
            broken.append("memory")
        if self.problem.most_models is not None and len(parts) > self.problem.most_models:
            broken.append("most_models")
        names = {part.name for part in parts}
        if any(len(names.intersection(group)) > 1 for group in self.problem.apart):
            broken.append("apart")
        return broken + [
            resource
            for resource, limit in gpu.limits
            if not within(sum(_use(part, resource, gpu.kind) for part in parts), limit)
        ]

    def part(self, held: Held) -> Model:
        """Return one part of a model, with its share of size and demand."""
        if held not in self._parts:
            models: Mapping[str, Model] = {model.name: model for model in self.problem.models}
            self._parts[held] = models[held[0]].part(held[1])
        return self._parts[held]


def held_gb(part: Model) -> float:
    """Return the memory that a part of a model must have."""
    return part.size_gb + (part.least_cache_gb or 0.0)


def fits(problem: Problem, places: Places, before: Places | None = None) -> bool:
    """Return whether every GPU holds what a placement puts there.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    before
        Who was where: GPUs to which nothing came since do not count. None to look at all GPUs.
    """
    return Fitting(problem).fits(places, {} if before is None else before)


def _gets_no_more(now: Collection[Held], then: Collection[Held]) -> bool:
    """Return whether all parts on a GPU were there before, none with a larger share of demand."""
    replicas = dict(now)
    return all(name in replicas and replicas[name] <= number for name, number in then)


def _use(part: Model, resource: str, kind: str) -> float:
    by_kind = dict(dict(part.uses).get(resource, ()))
    return by_kind.get(kind, by_kind.get(ANY_KIND, 0.0))
