"""How long the checker will take for a placement, so that a search leaves it that time."""

from collections.abc import Mapping, Sequence
from math import ceil
from time import perf_counter

from colocate.problem.checker.latency.placed import felt_latencies
from colocate.problem.problem import Problem

A_MODEL = 3e-4
"""Seconds that the checker takes for each model of a placement, besides further time windows."""
SAMPLED, FEWEST = 8, 16
"""Latencies are checked on one of so many GPUs to learn how long they take, but on so many at
least."""
RISES = 1.5
"""How many times longer than on a first placement the check may take on a better one: its GPUs are
more alike, so more of them are close to the worst."""
CHECKED_TOGETHER = 16
"""Time windows that take the checker as long as one, where no placement is known: most are passed
over."""


def guessed_checking(problem: Problem) -> float:
    """Return about how many seconds a check takes, before any placement is known."""
    return A_MODEL * len(problem.models) * (1.0 + (problem.windows - 1) / CHECKED_TOGETHER)


def timed_checking(problem: Problem, placement: Mapping[str, Sequence[str]]) -> float:
    """Return how many seconds to keep for the check of placements like this one.

    Latencies are checked on some of the GPUs. How many time windows take a while depends on how
    demand moves, on who is beside whom, and on the machine.

    Parameters
    ----------
    problem
        The problem.
    placement
        A placement of its models, which may break targets.
    """
    used = list(dict.fromkeys(gpu for gpus in placement.values() for gpu in gpus))
    some = set(used[:: max(min(SAMPLED, ceil(len(used) / FEWEST)), 1)])
    places = {name: gpus if some & {*gpus} else () for name, gpus in placement.items()}
    sampled = sum(len(gpus) for gpus in places.values())
    begun = perf_counter()
    felt_latencies(problem, places)
    seconds = perf_counter() - begun
    in_all = sum(len(gpus) for gpus in placement.values())
    return A_MODEL * len(problem.models) + RISES * seconds * in_all / sampled
