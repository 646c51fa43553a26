"""Mixes of GPUs: how many of each kind, what they cost, and which cheaper mixes there are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm

from colocate.advise.capacity.fleet_sizes import FleetSizes
from colocate.advise.capacity.requirements import Need
from colocate.advise.remedies.lone_engines import counts, fewest_replicas
from colocate.problem.gpu import Gpu
from colocate.problem.problem import Problem
from colocate.problem.tolerance import LONG_SUM

Mix = tuple[int, ...]
"""How many units of each kind. A unit is a GPU, or a machine that comes only as a whole."""


@dataclass(frozen=True)
class Market:
    """The GPUs that can be had, and what they cost.

    Parameters
    ----------
    sizes
        The fleet with any mix of GPUs. A mix with as many or more of each kind contains the GPUs
        of the smaller mix, so it reaches every pressure that the smaller one reaches.
    costs
        The cost of a unit of each kind, a whole number > 0; the cheapest mix is wanted.
    """

    sizes: FleetSizes
    costs: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kinds."""
        return tuple(kind.label for kind in self.sizes.kinds)

    @property
    def at_once(self) -> tuple[int, ...]:
        """How many GPUs are in a unit of each kind."""
        return tuple(kind.at_once for kind in self.sizes.kinds)

    @property
    def listed(self) -> Mix:
        """How many units of each kind there are today."""
        return self.sizes.listed

    def cost(self, mix: Mix) -> int:
        """Return the cost of a mix."""
        return sum(n * cost for n, cost in zip(mix, self.costs, strict=True))

    def gpus(self, mix: Mix) -> Mix:
        """Return how many GPUs of each kind a mix has."""
        return tuple(n * each for n, each in zip(mix, self.at_once, strict=True))

    def sample(self) -> tuple[Problem, tuple[int, ...]]:
        """Return a problem with GPUs of every kind: those of today and one more unit of each.

        There are enough for two replicas of any model, so that open numbers of replicas are open.
        """
        mix = tuple(n + 1 for n in self.listed)
        problem = self.sizes.problem(mix)
        assert problem is not None
        shards = max(model.shards for model in problem.models)
        if shards > 1 and len(problem.gpus) < 2 * shards:
            mix = tuple(
                -(-2 * shards // each) + n for each, n in zip(self.at_once, mix, strict=True)
            )
            problem = self.sizes.problem(mix)
            assert problem is not None
        return problem, self.sizes.kind_of_gpus(mix)


def costs_by_gpus(at_once: Sequence[int]) -> tuple[int, ...]:
    """Let every GPU cost the same."""
    return tuple(at_once)


def costs_by_price(
    at_once: Sequence[int], prices: Sequence[Fraction], most: int
) -> tuple[int, ...]:
    """Let GPUs cost their price; of mixes with one price, the one with fewer GPUs is cheaper.

    Parameters
    ----------
    at_once
        How many GPUs are in a unit of each kind.
    prices
        The price of one GPU of each kind.
    most
        The most GPUs that a mix may have.
    """
    unit = lcm(*(price.denominator for price in prices))
    return tuple(
        each * (int(price * unit) * (most + 1) + 1)
        for each, price in zip(at_once, prices, strict=True)
    )


def least_cost(needs: Sequence[Need], costs: Sequence[Fraction]) -> Fraction:
    """Return a lower limit, from sums alone, on the cost of any mix that has what is needed.

    Parameters
    ----------
    needs
        The sums that a mix must have.
    costs
        The cost of one GPU of each kind.
    """
    least = Fraction()
    for need in needs:
        useful = [c / a for c, a in zip(costs, need.amounts, strict=True) if a > 0]
        least = max(least, need.least * min(useful)) if useful else least
    return least


def largest_below(
    market: Market, needs: Sequence[Need], cost: int, most: int, check: Callable[[], None]
) -> Iterator[Mix]:
    """Yield every cheaper mix to which nothing can be added, if it has what is needed.

    Every cheaper mix that has what is needed is part of one of these. So if none of these reaches a
    pressure, no cheaper mix does.

    Parameters
    ----------
    market
        The GPUs that can be had.
    needs
        The sums that a mix must have.
    cost, most
        Mixes must cost less than this, and have at most so many GPUs.
    check
        Called often; may raise to end the search.
    """
    kinds = len(market.costs)
    rates = [_Rates(need, market) for need in needs]

    def further(mix: Mix, money: int, gpus: int) -> Iterator[Mix]:
        check()
        kind = len(mix)
        if kind == kinds:
            if _full(market, money, gpus) and all(need.met(market.gpus(mix)) for need in needs):
                yield mix
            return
        if not all(rate.may_be_met(mix, money, gpus) for rate in rates):
            return
        affordable = min(money // market.costs[kind], gpus // market.at_once[kind])
        fewest = affordable if kind == kinds - 1 else 0
        for number in range(affordable, fewest - 1, -1):
            spent = number * market.costs[kind]
            yield from further((*mix, number), money - spent, gpus - number * market.at_once[kind])

    yield from further((), cost - 1, most)


def _full(market: Market, money: int, gpus: int) -> bool:
    """Return whether the rest of the money and of the GPUs buys nothing more."""
    offers = zip(market.costs, market.at_once, strict=True)
    return all(cost > money or each > gpus for cost, each in offers)


class _Rates:
    """How much of a need the rest of the money and of the GPUs can still buy at best."""

    def __init__(self, need: Need, market: Market) -> None:
        units = [float(a) * each for a, each in zip(need.amounts, market.at_once, strict=True)]
        self._units = units
        self._least = float(need.least) * (1.0 - LONG_SUM)
        by_money = [unit / cost for unit, cost in zip(units, market.costs, strict=True)]
        by_gpus = [float(amount) for amount in need.amounts]
        self._by_money = [max(by_money[kind:]) for kind in range(len(units))]
        self._by_gpus = [max(by_gpus[kind:]) for kind in range(len(units))]

    def may_be_met(self, mix: Mix, money: int, gpus: int) -> bool:
        kind = len(mix)
        have = sum(n * unit for n, unit in zip(mix, self._units, strict=False))
        more = min(money * self._by_money[kind], gpus * self._by_gpus[kind])
        return have + more >= self._least


def enough_gpus(problem: Problem, pressure: float) -> int:
    """Return a number of GPUs that is enough in most fleets, if any number is.

    It is twice the number of parts when every part is alone on a GPU: machines larger than the
    shards of a model may stay half empty.
    """
    parts = 0
    for model in problem.models:
        replicas = model.replicas
        if model.open_replicas and 0.0 < pressure < inf:
            rooms = [_free(gpu, model.size_gb / model.shards) for gpu in problem.gpus]
            room = max(rooms) * pressure * model.shards
            replicas = max(replicas, int(max(model.load) / room) + 1) if room > 0.0 else replicas
        if model.open_replicas and counts(model, queues=pressure == inf):
            replicas = max(replicas, fewest_replicas(problem, model) or 1)
        parts += replicas * model.shards
    return 2 * parts


def _free(gpu: Gpu, size_gb: float) -> float:
    return gpu.memory_gb - size_gb
