"""The choices for every model: how many replicas it has, and what a part of one takes.

The load of a part depends on the number of replicas. With one choice for every number, exactly one
of them taken, all rows of a program are linear.
"""

from collections.abc import Sequence
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem


class Choice(NamedTuple):
    """A number of replicas of a model."""

    model: int
    """Its place in the problem."""
    parts: int
    """How many GPUs it is on."""
    part: Model
    """What is on each of them."""


Options = Sequence[Sequence[Choice]]
"""For every model, in the order of the problem, the numbers of replicas that it may have."""


def choices_of(problem: Problem) -> list[list[Choice]]:
    """Return the numbers of replicas that every model may have; sleeping is not among them."""
    return [
        [
            Choice(number, replicas * model.shards, model.part(replicas))
            for replicas in range(model.replicas, model.most_replicas + 1)
            if replicas * model.shards <= len(problem.gpus)
        ]
        for number, model in enumerate(problem.models)
    ]


def load_in(part: Model, window: int) -> float:
    """Return the load in a window; one number stands for all windows."""
    return part.load[min(window, len(part.load) - 1)]


def use_on(part: Model, resource: str, gpu: Gpu) -> float:
    """Return what a part uses of a resource on a GPU.

    Parameters
    ----------
    part
        The part of a model.
    resource
        The resource.
    gpu
        The GPU that it is on.
    """
    by_kind = dict(dict(part.uses).get(resource, ((ANY_KIND, 0.0),)))
    return by_kind.get(gpu.kind, by_kind.get(ANY_KIND, 0.0))


def cost_of(problem: Problem, placement: Places) -> float:
    """Return the cost of the models that a placement leaves asleep."""
    return sum(model.sleep_cost or 0.0 for model in problem.sleepers if not placement[model.name])


def in_order_of_nodes(problem: Problem, gpus: list[int]) -> tuple[str, ...]:
    """Return the names of some GPUs, those of one node in a row, as shards need them."""
    nodes = {node: n for n, node in enumerate(dict.fromkeys(gpu.node for gpu in problem.gpus))}
    ordered = sorted(gpus, key=lambda gpu: nodes[problem.gpus[gpu].node])
    return tuple(problem.gpus[gpu].name for gpu in ordered)
