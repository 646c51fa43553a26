"""A plan with all its choices made, as numbers on its GPUs."""

from dataclasses import dataclass

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.parts import replicas_in
from colocate.problem.pressure import pressures
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.verify import verify
from colocate.solver.plan import Plan


@dataclass(frozen=True)
class FixedPlan:
    """The models that are awake, with the replicas that they have, and where these are.

    Parameters
    ----------
    problem
        The problem with the choices of the plan made: who sleeps, how many replicas there are.
    reduction
        The same problem as items on GPUs.
    gpu_of
        The GPU of every item.
    used, load, use
        By GPU: GB held, load in each window, use of each resource.
    pressure
        The pressure of every GPU, as the independent checker computes it.
    """

    problem: Problem
    reduction: Reduction
    gpu_of: Ints
    used: Floats
    load: Floats
    use: Floats
    pressure: Floats

    @property
    def instance(self) -> Instance:
        """The items as arrays."""
        return self.reduction.instance

    @property
    def peak(self) -> float:
        """The highest pressure."""
        return float(self.pressure.max())

    @property
    def bottleneck(self) -> int:
        """The first GPU with the highest pressure."""
        return int(self.pressure.argmax())

    def name(self, gpu: int) -> str:
        """Return the name of a GPU."""
        return self.problem.gpus[gpu].name

    def models_of(self, item: int) -> tuple[str, ...]:
        """Return the names of the models that an item consists of."""
        return tuple(model.name for model in self.reduction.items[item].models)

    def replicas_of(self, name: str) -> int:
        """Return how many replicas a model has."""
        return next(model.replicas for model in self.problem.models if model.name == name)


def clashes(state: FixedPlan, item: int) -> Ints:
    """Count, for every GPU, the other items that must not share a GPU with this one."""
    colours = set(state.reduction.items[item].colours)
    others = [
        number
        for number, other in enumerate(state.reduction.items if colours else ())
        if number != item and not colours.isdisjoint(other.colours)
    ]
    return np.bincount(state.gpu_of[others], minlength=len(state.used)).astype(np.int64)


def fixed_plan_of(plan: Plan) -> FixedPlan | None:
    """Return what a plan decided; None if all models sleep."""
    asleep = {name for name, gpus in plan.placement.items() if not gpus}
    awake = plan.problem.awake(asleep) if asleep else plan.problem
    if awake is None:
        return None
    replicas = replicas_in(awake, plan.placement)
    problem = awake.with_replicas(replicas)
    places = {model.name: plan.placement[model.name] for model in problem.models}
    verdict = verify(problem, places)
    reduction = reduction_of(problem)
    gpu_of = reduction.indices(places)
    instance = reduction.instance
    gpus = len(problem.gpus)
    load = np.zeros((gpus, instance.load.shape[1]))
    np.add.at(load, gpu_of, instance.load)
    use = np.zeros((gpus, instance.limit.shape[1]))
    np.add.at(use, gpu_of, instance.use[instance.kind[gpu_of], np.arange(len(gpu_of))])
    return FixedPlan(
        problem,
        reduction,
        gpu_of,
        np.bincount(gpu_of, instance.size, gpus).astype(np.float64),
        load,
        use,
        np.array([verdict.pressures[gpu.name] for gpu in problem.gpus]),
    )


def pressures_with(load: Floats, used: Floats | float, capacity: Floats | float) -> Floats:
    """Return the pressures of GPUs that hold that much: load has a column for each window.

    Parameters
    ----------
    load, used, capacity
        The loads of GPUs, the memory taken, and all of their memory.
    """
    rows = np.atleast_2d(load)
    amounts = (np.broadcast_to(amount, len(rows)).copy() for amount in (used, capacity))
    return pressures(rows, *amounts)
