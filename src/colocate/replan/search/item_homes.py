"""Where the items of a problem are now, and what loading them elsewhere takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.replan.search.kernel.moving import MovingItems


@dataclass(frozen=True)
class ItemHomes:
    """The items of a problem, all awake and with fixed numbers of replicas, and their homes.

    Parameters
    ----------
    reduction
        The problem as items.
    old
        Where the engines of each model run now, as far as these GPUs are still there.
    weights_gb
        The GB of weights of every model.
    """

    reduction: Reduction
    old: Mapping[str, tuple[tuple[str, ...], ...]]
    weights_gb: Mapping[str, float]

    @cached_property
    def gb(self) -> Floats:
        """gb[n, g]: the weights that an item loads on a GPU; none where its model is already."""
        gpus = [gpu.name for gpu in self.reduction.whole.gpus]
        number = {gpu: place for place, gpu in enumerate(gpus)}
        found = np.zeros((len(self.reduction.items), len(gpus)))
        for place, item in enumerate(self.reduction.items):
            for model in item.models:
                share = self.weights_gb[model.name] / model.shards
                found[place] += share
                for engine in self.old.get(model.name, ()):
                    for gpu in engine:
                        found[place, number[gpu]] -= share
        return np.maximum(found, 0.0)

    @cached_property
    def start(self) -> Ints:
        """Where every item is now; `NOWHERE` for those that have no engine."""
        problem = self.reduction.whole
        number = {gpu.name: place for place, gpu in enumerate(problem.gpus)}
        left = {m: [g for engine in e for g in engine][::-1] for m, e in self.old.items()}
        found = []
        for item in self.reduction.items:
            places = {left[m.name].pop() if left.get(m.name) else "" for m in item.models}
            gpu = next(iter(places)) if len(places) == 1 else ""
            found.append(number.get(gpu, NOWHERE))
        return np.array(found, np.int64)

    @cached_property
    def moving(self) -> MovingItems:
        """The same for kernels; the shards of a replica do not move one by one."""
        rules = self.reduction.instance.rules
        movable = (rules.shard_group < 0) & (rules.open[rules.pin].sum(axis=1) > 1)
        free = np.flatnonzero(movable).astype(np.int64)
        usual = float(np.median(self.gb.max(axis=1))) if self.gb.size else 0.0
        return MovingItems(np.ascontiguousarray(self.gb), self.start, free, movable, usual or 1.0)

    @cached_property
    def shard_groups(self) -> tuple[Ints, ...]:
        """The items of each engine with shards."""
        group = self.reduction.instance.rules.shard_group
        numbers = np.unique(group[group != NOWHERE])
        return tuple(np.flatnonzero(group == number).astype(np.int64) for number in numbers)

    @property
    def forced_gb(self) -> float:
        """The weights that any placement loads: of replicas that have no engine now."""
        total = 0.0
        for model in self.reduction.whole.models:
            missing = model.replicas - len(self.old.get(model.name, ()))
            total += max(missing, 0) * self.weights_gb[model.name]
        return total

    def moved_gb(self, placement: Places) -> float:
        """Return the weights that a placement loads: of all engines that do not run already."""
        total = 0.0
        for model in self.reduction.whole.models:
            kept = [frozenset(engine) for engine in self.old.get(model.name, ())]
            for engine in engines_in(placement[model.name], model.shards):
                if frozenset(engine) in kept:
                    kept.remove(frozenset(engine))
                else:
                    total += self.weights_gb[model.name]
        return total


def engines_in(gpus: Sequence[str], shards: int) -> tuple[tuple[str, ...], ...]:
    """Return the GPUs of each engine of a model."""
    return tuple(tuple(gpus[n : n + shards]) for n in range(0, len(gpus), shards))


def homes_of(problem: Problem, old: Places, weights_gb: Mapping[str, float]) -> ItemHomes:
    """Return the homes of a problem's items.

    Parameters
    ----------
    problem
        The fleet as it is now, all awake and with fixed numbers of replicas.
    old
        The placement that runs; it may name GPUs and models that are not there any more.
    weights_gb
        The GB of weights of models; a model that is missing weighs its size.
    """
    there = {gpu.name for gpu in problem.gpus}
    weights = {m.name: weights_gb.get(m.name, m.size_gb) for m in problem.models}
    engines = {
        model.name: tuple(
            engine
            for engine in engines_in(old.get(model.name, ()), model.shards)
            if there.issuperset(engine) and len(engine) == model.shards
        )
        for model in problem.models
    }
    return ItemHomes(reduction_of(problem), engines, weights)
