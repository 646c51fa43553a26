"""What `colocate capacity` asks the solver: which pressure, and what can be had."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

import typer

from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.inputs.fleet import Fleet
from colocate.inputs.fleet_size import FleetSizes
from colocate.inputs.gpu_prices import needed_prices, parse_prices, prices_of
from colocate.inputs.spec import MOST_GPUS
from colocate.outputs.capacity_words import GPUS, PRICE
from colocate.problem.problem import Problem
from colocate.solver.mixes import Market, Mix, costs_by_gpus, costs_by_price, enough_gpus
from colocate.solver.place import place
from colocate.solver.plan import Status
from colocate.solver.strategies import find_strategy
from colocate.solver.strategy import Strategy

GREEDY, INITIAL_PROGRAM = "greedy", "initial_program"
MOST_ON_CURVE = 24
"""So many numbers of GPUs are drawn, more or less."""
FEWER, MORE = 6, 4
"""So many fewer and more GPUs of one kind than the answer are drawn."""


class Question(NamedTuple):
    """What is asked for, checked."""

    sizes: FleetSizes
    pressure: float
    asked: str
    """Where the pressure comes from, if it was not given."""
    by: str
    prices: tuple[Fraction | None, ...]
    most: int

    def market(self) -> Market:
        """Return what can be had, as the solver knows it."""
        at_once = tuple(kind.at_once for kind in self.sizes.kinds)
        costs = costs_by_gpus(at_once)
        if self.by == PRICE:
            costs = costs_by_price(at_once, self.costs(), self.most)

        def problem_of(mix: Mix) -> Problem | None:
            fleet = self.sizes.fleet(mix)
            return None if fleet is None else _asked(fleet)

        names = tuple(kind.label for kind in self.sizes.kinds)
        sizes = self.sizes
        return Market(names, at_once, costs, sizes.listed, problem_of, sizes.kind_of_gpus)

    def costs(self) -> list[Fraction]:
        """Return what one GPU of each kind counts."""
        if self.by == GPUS:
            return [Fraction(1)] * len(self.prices)
        return [price for price in self.prices if price is not None]


def question_of(
    fleet: Fleet,
    sizes: FleetSizes,
    wanted: tuple[float, str],
    by: str | None,
    price: Sequence[str],
    most: int | None,
) -> Question:
    """Return the question with all that was not told filled in."""
    chosen = by or (GPUS if len(sizes.kinds) == 1 else PRICE)
    told = parse_prices(price)
    prices = needed_prices(sizes, told) if chosen == PRICE else prices_of(sizes, told)
    return Question(sizes, *wanted, chosen, tuple(prices), _most(fleet, sizes, wanted[0], most))


def check_usage(pressure: float | None, score_of: str | None) -> None:
    """Refuse options that mean nothing before any work is done."""
    if pressure is not None and score_of is not None:
        raise typer.BadParameter("has --pressure and --score-of, must have one of them")
    if pressure is not None and not (isfinite(pressure) and pressure > 0.0):
        raise typer.BadParameter(f"--pressure {pressure}, must be a finite number > 0")
    if score_of is not None:
        _named_strategy(score_of)


def wanted_pressure(
    fleet: Fleet, pressure: float | None, score_of: str | None, seed: int
) -> tuple[float, str]:
    """Return the pressure to reach, and where it comes from if it was not given."""
    most = fleet.spec.most_pressure
    if score_of is not None:
        found = _pressure_of(fleet, _named_strategy(score_of), seed)
    elif pressure is not None:
        found = pressure, ""
    elif most is not None:
        found = most, ", most_pressure of the fleet"
    else:
        raise typer.BadParameter("give --pressure, or --score-of greedy, or another strategy")
    if most is not None and found[0] > most:
        raise InputError(
            f"pressure={found[0]:.6g}, must be at most {most:.6g}, most_pressure of the fleet"
        )
    return found


def _named_strategy(name: str) -> Strategy:
    return find_strategy(INITIAL_PROGRAM if name == GREEDY else name)


def _pressure_of(fleet: Fleet, strategy: Strategy, seed: int) -> tuple[float, str]:
    """Return the pressure that a strategy reaches on the fleet as it is."""
    try:
        plan = place(_asked(fleet), strategy, seed)
    except InputError as error:
        raise InputError(f"--score-of: {error}, and give its pressure with --pressure") from None
    if not plan.placement:
        kind = InfeasibleError if plan.status is Status.INFEASIBLE else NothingFoundError
        raise kind(f"{strategy.name} has no plan for the fleet as it is: {plan.reason}")
    if not isfinite(plan.pressure):
        raise InputError(
            f"{strategy.name} ends at an infinite pressure on the fleet as it is; give --pressure"
        )
    return plan.pressure, f", which is what {strategy.name} reaches on the fleet as it is"


def _asked(fleet: Fleet) -> Problem:
    """Return a fleet's problem with all models awake, and any pressure allowed."""
    awake = fleet.problem.awake(())
    assert awake is not None
    return replace(awake, most_pressure=None)


def _most(fleet: Fleet, sizes: FleetSizes, pressure: float, most: int | None) -> int:
    """Return how many GPUs a mix may have: as told, or as many as should be enough."""
    highest = MOST_GPUS // len(sizes.kinds)
    if most is not None:
        if most > highest:
            raise InputError(f"most={most}, must be at most {highest} for {len(sizes.kinds)} kinds")
        return most
    machine = max(kind.at_once for kind in sizes.kinds)
    listed = sum(kind.listed for kind in sizes.kinds)
    return min(max(enough_gpus(_asked(fleet), pressure), listed) + machine - 1, highest)


def mixes_of_curve(market: Market, best: Mix | None, most: int) -> list[Mix]:
    """Return the mixes that a curve shows besides those of the search: some around the answer."""
    centre = best or market.listed
    mixes = _numbers(market, centre[0], most) if len(centre) == 1 else _neighbours(centre)
    return [mix for mix in mixes if 0 < sum(market.gpus(mix)) <= most]


def _numbers(market: Market, answer: int, most: int) -> list[Mix]:
    """Return numbers of one kind, up to that of the fleet as it is if that is near."""
    (listed,) = market.listed
    near = [listed] if answer <= 2 * listed <= 4 * answer else []
    first = max(min([answer - FEWER, *near]), 1)
    last = min(max([answer + MORE, *near]), most // market.at_once[0])
    step = max(-(-(last - first + 1) // MOST_ON_CURVE), 1)
    numbers = {*range(first, last + 1, step), *range(max(answer - 1, 1), answer + 2), *near}
    return [(number,) for number in sorted(numbers)]


def _neighbours(centre: Mix) -> list[Mix]:
    """Return a mix with one or two units of a kind more or less."""
    return [
        (*centre[:kind], centre[kind] + more, *centre[kind + 1 :])
        for kind in range(len(centre))
        for more in (-2, -1, 1, 2)
        if centre[kind] + more >= 0
    ]
