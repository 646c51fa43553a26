"""A lower limit on the cost of models that sleep: by volume, in one window.

At the highest pressure P that is allowed, everything awake has to fit in all GPUs together: a model
takes its size, for the fewest replicas that it may have, and its load over P. Where models state a
least cache, that has to fit besides the size too, which may prove more. Every sleeper costs what
the problem states. For every price y of memory, the loss is at least

    all costs - y * free memory - sum of max(0, cost - y * need) over those who may sleep.

The price that proves most is that of the first model that finds no room, dearest first.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf, isinf, nextafter

from colocate.problem.checker.sums import load_in
from colocate.problem.checker.tolerance import ROUNDING, SLACK
from colocate.problem.model import MEMORY, Model
from colocate.problem.problem import Problem


def least_lost(problem: Problem) -> Fraction:
    """Return an exact lower limit on what any choice of sleepers loses."""
    by_load = _least_lost(problem, _needs(problem), [gpu.memory_gb for gpu in problem.gpus])
    limits = [gpu.limit_on(MEMORY) for gpu in problem.gpus]
    memory = [limit for limit in limits if limit is not None]
    if len(memory) < len(limits) or not problem.has_least_cache:
        return by_load
    by_cache = {
        model.name: (Fraction(model.size_gb) + Fraction(model.least_cache_gb or 0.0))
        * model.replicas
        for model in problem.models
    }
    return max(by_load, _least_lost(problem, by_cache, memory))


def _least_lost(
    problem: Problem, needs: Mapping[str, Fraction], memory: Sequence[float]
) -> Fraction:
    """Return the loss if awake models need so much of the memory of GPUs."""
    free = sum((Fraction(amount) for amount in memory), Fraction()) * (1 + ROUNDING)
    free -= sum((needs[m.name] for m in problem.models if m.sleep_cost is None), Fraction())
    sleepers = [(m.sleep_cost, needs[m.name]) for m in problem.models if m.sleep_cost is not None]
    costs = [(Fraction(cost), need) for cost, need in sleepers]
    everything = sum((cost for cost, _ in costs), Fraction())
    if free < 0:
        return everything
    price = _price(costs, free)
    kept = sum((cost - price * need for cost, need in costs if cost > price * need), Fraction())
    return max(everything - price * free - kept, Fraction())


def _price(costs: list[tuple[Fraction, Fraction]], free: Fraction) -> Fraction:
    """Return the price of memory: cost over need of the first model that finds no room."""
    dear = sorted(
        [(cost / need, need) for cost, need in costs if need > 0], key=lambda pair: -pair[0]
    )
    for density, need in dear:
        free -= need
        if free < 0:
            return density
    return Fraction()


def _needs(problem: Problem) -> dict[str, Fraction]:
    """Return the least memory that every model takes, in the window with the most load."""
    pressure = _highest(problem)
    window = max(range(problem.windows), key=lambda t: sum(load_in(m, t) for m in problem.models))
    return {model.name: _need(model, window, pressure) for model in problem.models}


def _need(model: Model, window: int, pressure: Fraction | None) -> Fraction:
    size = Fraction(model.size_gb) * model.replicas
    return size if pressure is None else size + Fraction(load_in(model, window)) / pressure


def _highest(problem: Problem) -> Fraction | None:
    """Return an upper limit on every pressure that is accepted; None if there is no limit.

    The pressure of a placement is rounded to the next float, so it may be above the stated limit by
    less than one step between floats.
    """
    if problem.most_pressure is None:
        return None
    highest = nextafter(problem.most_pressure * (1 + SLACK), inf)
    return None if isinf(highest) else Fraction(highest)
