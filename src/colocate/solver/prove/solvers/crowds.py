"""Crowds: parts that are too much for one GPU together, in exact arithmetic.

The solvers compute with rounded numbers, so `verify` judges their placements. If a placement puts
too much on a GPU, that crowd is forbidden on every GPU for which it is too much, and the search
continues. A larger crowd never fits either: pressure, memory and uses only grow.
"""

from collections.abc import Sequence
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.prove.solvers.choices import Choice, Options


class Crowd(NamedTuple):
    """Parts that must not all be together on any of some GPUs."""

    choices: tuple[tuple[int, int], ...]
    """Pairs of a model and the number of all its parts."""
    gpus: tuple[int, ...]


def crowds_in(problem: Problem, choices: Options, placement: Places, target: float) -> list[Crowd]:
    """Return a crowd for every GPU that holds more than the target allows.

    Parameters
    ----------
    problem
        What is to be placed.
    choices
        How many replicas every model may have.
    placement
        The GPUs of every model.
    target
        The highest pressure allowed.
    """
    contents: dict[str, list[Choice]] = {gpu.name: [] for gpu in problem.gpus}
    for options in choices:
        for choice in options:
            places = placement[problem.models[choice.model].name]
            if len(places) == choice.parts:
                for place in places:
                    contents[place].append(choice)
    crowds = {
        _crowd(problem, gpu, contents[gpu.name], target)
        for gpu in problem.gpus
        if _too_much(gpu, contents[gpu.name], target)
    }
    return sorted(crowds)


def _crowd(problem: Problem, gpu: Gpu, crowd: Sequence[Choice], target: float) -> Crowd:
    """Leave out parts, smallest first, while the rest is too much; find all such GPUs."""
    needed = list(crowd)
    for choice in sorted(crowd, key=lambda c: (max(c.part.load), c.part.size_gb)):
        rest = [other for other in needed if other is not choice]
        if _too_much(gpu, rest, target):
            needed = rest
    judged: dict[tuple[object, ...], bool] = {}
    gpus = []
    for number, other in enumerate(problem.gpus):
        traits = (other.memory_gb, other.kind, other.limits)
        if traits not in judged:
            judged[traits] = _too_much(other, needed, target)
        if judged[traits]:
            gpus.append(number)
    pairs = sorted((choice.model, choice.parts) for choice in needed)
    return Crowd(tuple(pairs), tuple(gpus))


def _too_much(gpu: Gpu, crowd: Sequence[Choice], target: float) -> bool:
    """Ask the checker about a fleet that consists of this GPU alone."""
    if not crowd:
        return False
    models = tuple(
        Model(str(n), c.part.size_gb, load=c.part.load, uses=c.part.uses)
        for n, c in enumerate(crowd)
    )
    alone = Gpu(gpu.name, gpu.memory_gb, gpu.kind, gpu.limits)
    verdict = verify(Problem((alone,), models), {model.name: (gpu.name,) for model in models})
    return not verdict.valid or verdict.pressure > target
