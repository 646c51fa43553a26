"""Lower and lower targets for a solver that can only say whether a pressure can be beaten.

What the peers have in common. Each is started from `initial_program`, is shown its last placement
as a hint, and is spared the symmetry of equal GPUs: in an order of the models, largest first, the
n-th model may only open the n-th GPU of its kind. Small problems are asked for strictly better
until there is none; on larger ones, where that takes too many steps, the interval between bound
and value is halved first, each probe with half of the time left. Both were chosen because they
gave the peers the best results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from time import perf_counter

from whole_numbers import WholeNumbers, judged, whole_numbers

from colocate import Problem, place

SMALL = 250
"""Up to so many pairs of model and GPU, only strictly better is asked for."""
CLOSE = Fraction(1, 10**4)
"""From this gap on, halving has done what it can."""


@dataclass(frozen=True)
class Answer:
    """What a solver said about a target: a placement below it, proof of none, or neither."""

    gpu_of: Sequence[int] | None = None
    impossible: bool = False


Find = Callable[[WholeNumbers, Fraction, Sequence[int] | None, float], Answer]
"""Look for a placement with all pressures below a target, from a hint, within some seconds."""


def descend(
    problem: Problem, find: Find, seconds: float = inf, step: Fraction = Fraction(0)
) -> tuple[float, float]:
    """Return the value and the bound that a solver reaches from a greedy start.

    `step` is the share by which a better placement has to be better.
    """
    started = perf_counter()
    plan = place(problem, "initial_program")
    start = [int(gpu) for gpu in plan.placement.indices(problem)] if plan.placement else None
    search = Descent(whole_numbers(problem), find, start, step)
    search.run(seconds - (perf_counter() - started))
    return judged(problem, search.best), float(search.bound * search.numbers.unit)


class Descent:
    """The best placement and bound so far, and the next target."""

    def __init__(
        self, numbers: WholeNumbers, find: Find, start: Sequence[int] | None, step: Fraction
    ) -> None:
        self.numbers, self.find, self.step = numbers, find, step
        self.bound = numbers.volume_bound
        peak = numbers.peak(start) if start else None
        self.best = start if peak is not None else None
        self.value = numbers.ceiling if peak is None else peak
        self._floor = self.bound

    def run(self, seconds: float) -> None:
        """Ask until there is nothing better or time is up."""
        end = perf_counter() + seconds
        while self.value > self.bound and (left := end - perf_counter()) > 0:
            target, final = self._next_target()
            answer = self.find(self.numbers, target, self.best, left if final else left / 2)
            if not self._take(answer, target, final):
                return

    def _next_target(self) -> tuple[Fraction, bool]:
        pairs = len(self.numbers.loads) * len(self.numbers.capacities)
        middle = Fraction((float(self.value) + float(self._floor)) / 2).limit_denominator(10**4)
        halves = pairs > SMALL and self.best is not None
        if halves and self._floor < middle < self.value * (1 - CLOSE):
            return middle, False
        return self.value * (1 - self.step), True

    def _take(self, answer: Answer, target: Fraction, final: bool) -> bool:
        """Learn from an answer; False if there is no point in going on."""
        if answer.impossible:
            self.bound = self._floor = max(self.bound, target)
            return not final
        if answer.gpu_of is None:
            self._floor = max(self._floor, target)
            return not final
        peak = self.numbers.peak(answer.gpu_of)
        if peak is not None and peak < self.value:
            self.best, self.value = answer.gpu_of, peak
            return True
        coarser, self.step = self.step == 0, self.step or Fraction(1, 10**9)
        return coarser or not final  # the numbers were rounded: ask for a little more


def virtual_sizes(numbers: WholeNumbers, target: Fraction) -> tuple[list[int], list[int]]:
    """Return what models need and GPUs have: below the target is where the sum is lower."""
    load_weight, size_weight = target.denominator, target.numerator
    pairs = zip(numbers.loads, numbers.sizes, strict=True)
    needs = [load * load_weight + size * size_weight for load, size in pairs]
    return needs, [size_weight * capacity for capacity in numbers.capacities]


def excluded(needs: Sequence[int], rooms: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of model and GPU that need not be tried, as equal GPUs can be exchanged."""
    seats = _seats(rooms)
    ranks = {model: rank for rank, model in enumerate(_largest_first(needs)[: len(rooms)])}
    return [(m, gpu) for m, rank in ranks.items() for gpu, seat in enumerate(seats) if seat > rank]


def rearranged(gpu_of: Sequence[int], needs: Sequence[int], rooms: Sequence[int]) -> list[int]:
    """Exchange equal GPUs so that a placement uses no excluded pair."""
    kinds: dict[int, list[int]] = {}
    for gpu, room in enumerate(rooms):
        kinds.setdefault(room, []).append(gpu)
    unused = {room: iter(gpus) for room, gpus in kinds.items()}
    new_name: dict[int, int] = {}
    for model in _largest_first(needs):
        gpu = gpu_of[model]
        if gpu not in new_name:
            new_name[gpu] = next(unused[rooms[gpu]])
    return [new_name[gpu] for gpu in gpu_of]


def _largest_first(needs: Sequence[int]) -> list[int]:
    return sorted(range(len(needs)), key=lambda model: -needs[model])


def _seats(rooms: Sequence[int]) -> list[int]:
    """Return the number of every GPU among its equals."""
    counts: dict[int, int] = {}
    seats = []
    for room in rooms:
        seats.append(counts.get(room, 0))
        counts[room] = seats[-1] + 1
    return seats
