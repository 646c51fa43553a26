"""The least that a fleet must have to reach a pressure: exact sums over kinds of GPU.

If all GPUs of a fleet are at or below the pressure K, then `sum(load / K + size) <= capacity` holds
on each GPU. So it holds over any set of GPUs for the models that can be nowhere else, and likewise
for sizes with least caches and for every limited resource. What a sum excludes, no placement
reaches.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isinf
from typing import NamedTuple

from colocate.problem.instance import Instance
from colocate.problem.model import MEMORY
from colocate.problem.problem import Problem
from colocate.problem.reduction import COUNT, Reduction, reduction_of
from colocate.problem.tolerance import EXACT_FIT, EXACTLY_SAFE

MOST_SETS = 64
"""The most sets of kinds to look at."""

Kinds = frozenset[int]


class Need(NamedTuple):
    """A sum that any fleet must have."""

    amounts: tuple[Fraction, ...]
    """What one GPU of each kind adds to it."""
    least: Fraction
    unit: str
    purpose: str
    """What the sum is needed for, in words for people."""

    def met(self, gpus: Sequence[int]) -> bool:
        """Return whether so many GPUs of each kind add up to enough."""
        return self.sum_of(gpus) >= self.least

    def sum_of(self, gpus: Sequence[int]) -> Fraction:
        """Return the sum over so many GPUs of each kind."""
        return sum((n * a for n, a in zip(gpus, self.amounts, strict=True) if n), Fraction())


def needs_of(problem: Problem, kind_of: Sequence[int], pressure: float) -> list[Need]:
    """Return the sums that a fleet must have to reach a pressure.

    Parameters
    ----------
    problem
        The models, all awake, and GPUs of every kind. If GPUs of a kind differ in which models may
        be on them, there is at least one of each.
    kind_of
        The number of the kind of every GPU; GPUs of one kind have the same memory and limits.
    pressure
        The pressure that no GPU may exceed; infinite if any will do.
    """
    reduction = reduction_of(problem)
    kinds = max(kind_of) + 1
    sums = _Sums(reduction, tuple(kind_of), None if isinf(pressure) else Fraction(pressure))
    for number, item in enumerate(reduction.items):
        if not sums.open_to[number]:
            purpose = sums.why_nowhere(number, item.name)
            return [Need((Fraction(),) * kinds, Fraction(1), "GPUs", purpose)]
    sets = _sets(sums.open_to, frozenset(kind_of))
    needs = [sums.memory(only) for only in sets]
    for column, name in enumerate(sums.resources):
        if name == MEMORY:
            needs += [sums.cache(column, only) for only in sets]
        else:
            needs.append(sums.resource(column))
    needs += [sums.apart(members) for members in sums.groups()]
    return [need for need in needs if need.least > 0]


def _sets(open_to: Iterable[Kinds], every: Kinds) -> list[Kinds]:
    """Return the sets of kinds that some models are bound to, and unions of such sets."""
    found = {every}
    for one in dict.fromkeys(open_to):
        if len(found) < MOST_SETS:
            found |= {one | other for other in found} | {one}
    return sorted(found, key=lambda kinds: (-len(kinds), sorted(kinds)))


class _Sums:
    """Sums over the items of a problem, by kind of GPU."""

    def __init__(
        self, reduction: Reduction, kind_of: tuple[int, ...], pressure: Fraction | None
    ) -> None:
        self._reduction = reduction
        self._instance: Instance = reduction.instance
        self._kind_of = kind_of
        self._pressure = pressure
        self.resources = reduction.resources
        self.open_to = [self._open_kinds(number) for number in range(len(reduction.items))]

    def why_nowhere(self, number: int, name: str) -> str:
        """Say what no GPU has for an item that can be on none."""
        open_gpus = [gpu for gpu in range(len(self._kind_of)) if self._may_be_on(number, gpu)]
        roomy = [gpu for gpu in open_gpus if self._has_room(number, gpu)]
        if MEMORY in self.resources and roomy:
            column = self.resources.index(MEMORY)
            held = float(self._instance.use[:, number, column].min())
            if all(self._share(number, gpu, column) > 1 for gpu in roomy):
                return f"with the {held:.6g} GB that {name} needs with its least cache"
        if roomy:
            return f"whose limits leave room for {name} alone"
        if self._pressure is None:
            return f"with memory for {name} alone"
        return f"on which {name} alone is at or below that pressure"

    def memory(self, only: Kinds) -> Need:
        """Return the memory that models need on some kinds of GPU if they can be on no other."""
        inside = self._inside(only)
        least = max(
            sum((self._room(number, window) for number in inside), Fraction())
            for window in range(self._instance.load.shape[1])
        )
        purpose = "for its models" if self._pressure is None else "at that pressure"
        return Need(self._memories(only), least * EXACTLY_SAFE, "GB", purpose)

    def cache(self, column: int, only: Kinds) -> Need:
        """Return the memory that such models need for their sizes and least caches."""
        held = self._instance.use[:, :, column].min(axis=0)
        least = sum((Fraction(float(held[number])) for number in self._inside(only)), Fraction())
        purpose = "with the least cache of its models"
        return Need(self._memories(only), least * EXACTLY_SAFE, "GB", purpose)

    def _inside(self, only: Kinds) -> list[int]:
        """Return the items that can be nowhere but on some kinds of GPU."""
        return [n for n, kinds in enumerate(self.open_to) if kinds <= only]

    def _memories(self, only: Kinds) -> tuple[Fraction, ...]:
        """Return the memory of one GPU of each of some kinds."""
        amounts = [Fraction()] * (max(self._kind_of) + 1)
        for gpu, kind in enumerate(self._kind_of):
            if kind in only:
                amounts[kind] = self._capacity(gpu)
        return tuple(amounts)

    def resource(self, column: int) -> Need:
        """Return how many GPUs the use of a resource fills, each up to its limit."""
        least, kinds = Fraction(), frozenset[int]()
        for number, found in enumerate(self.open_to):
            share = min(
                self._share(number, gpu, column)
                for gpu, kind in enumerate(self._kind_of)
                if kind in found
            )
            if share > 0:
                least += share
                kinds |= found
        one = 1 + EXACT_FIT
        amounts = (one if kind in kinds else Fraction() for kind in range(max(self._kind_of) + 1))
        return Need(tuple(amounts), least * EXACTLY_SAFE, "GPUs", self._purpose(column))

    def groups(self) -> list[list[int]]:
        """Return the items of every colour."""
        members: dict[int, list[int]] = {}
        for number, item in enumerate(self._reduction.items):
            for colour in item.colours:
                members.setdefault(colour, []).append(number)
        return list(members.values())

    def apart(self, members: Sequence[int]) -> Need:
        """Return how many GPUs are needed for items that must all be apart."""
        kinds = frozenset[int]().union(*(self.open_to[number] for number in members))
        every = range(max(self._kind_of) + 1)
        amounts = tuple(Fraction(kind in kinds) for kind in every)
        return Need(amounts, Fraction(len(members)), "GPUs", "for what must be apart")

    def _purpose(self, column: int) -> str:
        name = self.resources[column]
        return "for so many models" if name == COUNT else f"for {name}"

    def _open_kinds(self, number: int) -> Kinds:
        """Return the kinds with a GPU on which an item can be at or below the pressure."""
        return frozenset(
            kind
            for gpu, kind in enumerate(self._kind_of)
            if self._may_be_on(number, gpu)
            and self._has_room(number, gpu)
            and self._within_limits(number, gpu)
        )

    def _may_be_on(self, number: int, gpu: int) -> bool:
        """Return whether the pins of an item leave a GPU open."""
        models = self._reduction.items[number].models
        return all(model.may_be_on(self._reduction.whole.gpus[gpu]) for model in models)

    def _has_room(self, number: int, gpu: int) -> bool:
        """Return whether an item alone is at or below the pressure, with any number of replicas."""
        if not self._open_replicas(number):
            windows = range(self._instance.load.shape[1])
            room = max(self._room(number, window) for window in windows)
            return room * EXACTLY_SAFE <= self._capacity(gpu)
        memory = Fraction(float(self._instance.capacity[gpu]))
        rounding = -EXACT_FIT if self._instance.load[number].any() else EXACT_FIT
        return Fraction(float(self._instance.size[number])) * EXACTLY_SAFE <= memory * (
            1 + rounding
        )

    def _open_replicas(self, number: int) -> bool:
        return any(model.open_replicas for model in self._reduction.items[number].models)

    def _within_limits(self, number: int, gpu: int) -> bool:
        """Return whether an item alone respects the limits, with any number of replicas."""
        if self._open_replicas(number):
            return True
        columns = range(len(self.resources))
        return all(
            self._share(number, gpu, column) * EXACTLY_SAFE <= 1 + EXACT_FIT for column in columns
        )

    def _share(self, number: int, gpu: int, column: int) -> Fraction:
        """Return the share of a GPU's limit that an item uses; 0 where there is no limit."""
        use = float(self._instance.use[self._instance.kind[gpu], number, column])
        limit = float(self._instance.limit[gpu, column])
        if not 0.0 < limit < float("inf"):
            return Fraction(2 if limit == 0.0 and use > 0.0 else 0)
        return Fraction(use) / Fraction(limit)

    def _room(self, number: int, window: int) -> Fraction:
        """Return the memory that an item needs for itself and its load at the pressure."""
        load = Fraction(float(self._instance.load[number, window]))
        room = Fraction(float(self._instance.size[number]))
        if load == 0 or self._pressure is None:
            return room
        return room + load / self._pressure if self._pressure > 0 else Fraction(10) ** 300

    def _capacity(self, gpu: int) -> Fraction:
        return Fraction(float(self._instance.capacity[gpu])) * (1 + EXACT_FIT)
