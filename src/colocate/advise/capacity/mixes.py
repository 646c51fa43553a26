"""Numbers of GPUs by kind: what they cost, and which cheaper ones there are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from colocate.advise.capacity.fleet_sizes import FleetSizes
from colocate.advise.capacity.requirements import Need
from colocate.problem.gpu import Gpu
from colocate.problem.problem import Problem
from colocate.problem.tolerance import LONG_SUM

Mix = tuple[int, ...]
"""How many units of each kind: a unit is a GPU, or a machine that is only had whole."""


@dataclass(frozen=True)
class Market:
    """What can be had.

    Parameters
    ----------
    sizes
        The fleet with any mix of GPUs. Those of a mix are all in any mix that has as many or more
        of each kind, so that what can be reached with the one can be reached with the other.
    costs
        What a unit of each kind costs, in whole numbers > 0: the cheapest mix is looked for.
    """

    sizes: FleetSizes
    costs: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the kinds are called."""
        return tuple(kind.label for kind in self.sizes.kinds)

    @property
    def at_once(self) -> tuple[int, ...]:
        """How many GPUs a unit of each kind is."""
        return tuple(kind.at_once for kind in self.sizes.kinds)

    @property
    def listed(self) -> Mix:
        """How many units of each kind there are today."""
        return self.sizes.listed

    def cost(self, mix: Mix) -> int:
        """Return what a mix costs."""
        return sum(n * cost for n, cost in zip(mix, self.costs, strict=True))

    def gpus(self, mix: Mix) -> Mix:
        """Return how many GPUs of each kind a mix has."""
        return tuple(n * each for n, each in zip(mix, self.at_once, strict=True))

    def sample(self) -> tuple[Problem, tuple[int, ...]]:
        """Return a problem with GPUs of every kind, those of today and further ones."""
        mix = tuple(n + 1 for n in self.listed)
        problem = self.sizes.problem(mix)
        assert problem is not None
        return problem, self.sizes.kind_of_gpus(mix)


def costs_by_gpus(at_once: Sequence[int]) -> tuple[int, ...]:
    """Let every GPU cost the same."""
    return tuple(at_once)


def costs_by_price(
    at_once: Sequence[int], prices: Sequence[Fraction], most: int
) -> tuple[int, ...]:
    """Let GPUs cost their price; of mixes of the same price, the one with fewer GPUs is cheaper.

    Parameters
    ----------
    at_once
        How many GPUs a unit of each kind is.
    prices
        Of one GPU of each kind.
    most
        How many GPUs a mix has at most.
    """
    unit = lcm(*(price.denominator for price in prices))
    return tuple(
        each * (int(price * unit) * (most + 1) + 1)
        for each, price in zip(at_once, prices, strict=True)
    )


def least_cost(needs: Sequence[Need], costs: Sequence[Fraction]) -> Fraction:
    """Return what no mix that has what is needed costs less than, from sums alone.

    Parameters
    ----------
    needs
        The sums that a mix must have.
    costs
        Of one GPU of each kind.
    """
    least = Fraction()
    for need in needs:
        useful = [c / a for c, a in zip(costs, need.amounts, strict=True) if a > 0]
        least = max(least, need.least * min(useful)) if useful else least
    return least


def largest_below(
    market: Market, needs: Sequence[Need], cost: int, most: int, check: Callable[[], None]
) -> Iterator[Mix]:
    """Yield every mix that costs less and to which nothing can be added, if it may be enough.

    What cannot be reached with these cannot be reached with any mix that costs less, since all of
    them are part of one of these. Mixes that do not have what is needed are left out.

    Parameters
    ----------
    market
        What can be had.
    needs
        The sums that a mix must have.
    cost, most
        What mixes cost less than, and the number of GPUs they have at most.
    check
        Called often; may raise to end it.
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
    """Say whether what is left buys nothing more."""
    offers = zip(market.costs, market.at_once, strict=True)
    return all(cost > money or each > gpus for cost, each in offers)


class _Rates:
    """How much of a need can still be had for what is left, at best."""

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
    """Return a number of GPUs that is enough, if any is, in most fleets.

    It is twice as many as parts of models when every part is alone on a GPU: machines that are
    larger than the shards of a model may be left half empty.
    """
    parts = 0
    for model in problem.models:
        replicas = model.replicas
        if model.open_replicas and pressure > 0.0:
            rooms = [_free(gpu, model.size_gb / model.shards) for gpu in problem.gpus]
            room = max(rooms) * pressure * model.shards
            replicas = max(replicas, int(max(model.load) / room) + 1) if room > 0.0 else replicas
        parts += replicas * model.shards
    return 2 * parts


def _free(gpu: Gpu, size_gb: float) -> float:
    return gpu.memory_gb - size_gb
