"""A question about capacity: which pressure to reach, with which GPUs, at which prices."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isfinite
from typing import NamedTuple

from colocate.advise.capacity.fleet_sizes import FleetSizes, problem_of_all
from colocate.advise.capacity.mixes import Market, Mix, costs_by_gpus, costs_by_price, enough_gpus
from colocate.advise.capacity.objective import By
from colocate.advise.capacity.prices import needed_prices, parse_prices, prices_of
from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet
from colocate.inputs.spec import MOST_GPUS
from colocate.solver.place import place
from colocate.solver.plan import Status
from colocate.solver.strategies import find_strategy
from colocate.solver.strategy import Strategy
from colocate.solver.targets import without_targets

GREEDY, INITIAL_PROGRAM = "greedy", "initial_program"
MOST_ON_CURVE = 24
"""About how many points a curve has at most."""
FEWER, MORE = 6, 4
"""How many GPUs fewer and more than the answer a curve shows, for one kind."""


class CapacityQuestion(NamedTuple):
    """A question about capacity, checked."""

    sizes: FleetSizes
    pressure: float
    """Infinite if latency targets alone decide."""
    asked: str
    """Where the pressure comes from, if it was not given."""
    by: By
    prices: tuple[Fraction | None, ...]
    most: int

    def market(self) -> Market:
        """Return the GPUs that can be had, with their costs."""
        at_once = [kind.at_once for kind in self.sizes.kinds]
        if self.by is By.PRICE:
            return Market(self.sizes, costs_by_price(at_once, self.costs(), self.most))
        return Market(self.sizes, costs_by_gpus(at_once))

    def costs(self) -> list[Fraction]:
        """Return how much one GPU of each kind counts."""
        if self.by is By.GPUS:
            return [Fraction(1)] * len(self.prices)
        return [price for price in self.prices if price is not None]


def question_of(
    sizes: FleetSizes,
    wanted: tuple[float, str],
    by: By | None,
    price: Sequence[str],
    most: int | None,
) -> CapacityQuestion:
    """Return the question, with defaults for everything that was not given.

    Parameters
    ----------
    sizes
        The fleet in all sizes.
    wanted
        The pressure to reach, and where it comes from if it was not given.
    by
        What to minimise; by default the number of GPUs for one kind, the price for several.
    price
        Prices such as `H100=2.5`.
    most
        The most GPUs that a mix may have; by default as many as should be enough.
    """
    chosen = by or (By.GPUS if len(sizes.kinds) == 1 else By.PRICE)
    told = parse_prices(price)
    prices = needed_prices(sizes, told) if chosen is By.PRICE else prices_of(sizes, told)
    return CapacityQuestion(sizes, *wanted, chosen, tuple(prices), _most(sizes, wanted[0], most))


def wanted_pressure(
    fleet: Fleet, pressure: float | None, score_of: str | None, seed: int
) -> tuple[float, str]:
    """Return the pressure to reach, and where it comes from if it was not given.

    One of `pressure` and `score_of` is given, or the fleet has a limit on the pressure or latency
    targets. Targets alone allow any pressure.

    Parameters
    ----------
    fleet
        The fleet to size.
    pressure
        The pressure to reach.
    score_of
        A strategy; its pressure on the whole fleet is the one to reach.
    seed
        The seed of that strategy.
    """
    most = fleet.spec.most_pressure
    if score_of is not None:
        found = _pressure_of(fleet, named_strategy(score_of), seed)
    elif pressure is not None:
        found = pressure, ""
    elif most is not None:
        found = most, ", most_pressure of the fleet"
    else:
        found = inf, ""
    if most is not None and found[0] > most:
        raise InputError.of("pressure", found[0], f"at most {most:.6g}, most_pressure of the fleet")
    return found


def named_strategy(name: str) -> Strategy:
    """Return a strategy by its name; `greedy` is the rule that others ship."""
    return find_strategy(INITIAL_PROGRAM if name == GREEDY else name)


def _pressure_of(fleet: Fleet, strategy: Strategy, seed: int) -> tuple[float, str]:
    """Return the pressure that a strategy reaches on the whole fleet; it knows no targets."""
    try:
        plan = place(without_targets(problem_of_all(fleet)), strategy, seed)
    except InputError as error:
        advice = "and give its pressure with --pressure"
        faults = (Fault(advice=advice, path=("score_of",), cause=f) for f in error.faults)
        raise InputError(*faults) from None
    if not plan.placement:
        kind = InfeasibleError if plan.status is Status.INFEASIBLE else NothingFoundError
        raise kind(f"{strategy.name} has no plan for the whole fleet: {plan.reason}")
    if not isfinite(plan.pressure):
        raise InputError(
            f"{strategy.name} has an infinite pressure on the whole fleet; give --pressure"
        )
    return plan.pressure, f", the pressure of {strategy.name} on the whole fleet"


def _most(sizes: FleetSizes, pressure: float, most: int | None) -> int:
    """Return how many GPUs a mix may have: as given, or as many as should be enough."""
    highest = MOST_GPUS // len(sizes.kinds)
    if most is not None:
        if most > highest:
            raise InputError.of("most", most, f"at most {highest} for {len(sizes.kinds)} kinds")
        return most
    machine = max(kind.at_once for kind in sizes.kinds)
    listed = sum(kind.listed for kind in sizes.kinds)
    at_once = [kind.at_once for kind in sizes.kinds]
    sample, _ = Market(sizes, costs_by_gpus(at_once)).sample()
    return min(max(enough_gpus(sample, pressure), listed) + machine - 1, highest)


def mixes_of_curve(market: Market, best: Mix | None, most: int) -> list[Mix]:
    """Return the mixes around the answer that a curve shows besides those of the search.

    Parameters
    ----------
    market
        The GPUs that can be had.
    best
        The answer; None if there is none.
    most
        The most GPUs that a mix may have.
    """
    centre = best or market.listed
    mixes = _numbers(market, centre[0], most) if len(centre) == 1 else _neighbours(centre)
    return [mix for mix in mixes if 0 < sum(market.gpus(mix)) <= most]


def _numbers(market: Market, answer: int, most: int) -> list[Mix]:
    """Return numbers of one kind, up to the number in the fleet if that is near."""
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
