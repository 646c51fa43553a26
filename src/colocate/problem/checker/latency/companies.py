"""What may be on one GPU together at a ratio: the items, and how much delay each tolerates.

An item is one part of a model, or models that stay together. Where the number of replicas is open,
every number of them makes another item. At a ratio an item tolerates a certain delay and no more,
and it adds a delay to its neighbours that rises with its own: bin packing with fragile objects
(Bansal, Liu and Sankar, 2009), whose sizes grow with the company they keep. All delays are lower
limits, so what is called impossible is impossible.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.problem.checker.items import Kin, kin_of, open_to
from colocate.problem.checker.latency.delays import LENGTHS, STRIDE, item_tables, item_turns
from colocate.problem.checker.latency.demands import amounts_of, shares_of
from colocate.problem.checker.latency.engine_rows import engine_rows, starts_of
from colocate.problem.checker.latency.engines import rate_in
from colocate.problem.checker.tolerance import BELOW, FITS
from colocate.problem.gpu import Gpu, Limits
from colocate.problem.problem import Problem
from colocate.problem.sharing import COSTS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MOST_WINDOWS = 200
"""Further time windows in which groups are tried, those with the peak of some model first: enough
for the hours of a week. The time that a proof takes grows with them."""


class ItemChoice(NamedTuple):
    """A part of a model that has some number of replicas, or models that stay together."""

    kin: Kin
    owner: int
    """The number of the kin; one of its choices is taken."""
    replicas: int

    @property
    def parts(self) -> int:
        """How many items there are if this choice is taken."""
        return self.replicas * self.kin.shards


class GpuCompany(NamedTuple):
    """The items that may be on a kind of GPU at a ratio, as arrays; n items, e engines.

    GPUs of one make, alike in all but memory, limits and pins, share their tables, which have m
    rows: one for each item that may be on any of them.
    """

    gpus: int
    """How many GPUs are of this kind: alike in memory, limits and pins."""
    choice: Ints
    """choice[n]: the number of the choice that an item is a part of."""
    owner: Ints
    """owner[n]: items of one owner are not on one GPU."""
    row: Ints
    """row[n]: the row of an item in the tables."""
    demand: Floats
    """demand[n, r]: shares of what the GPU has of memory, of resources, and of models at most."""
    tolerance: Floats
    """tolerance[n]: a delay at which the item is certain to miss the ratio."""
    length: Ints
    """length[n]: the last of some lengths that no turn of the item is shorter than."""
    engine: Floats
    """engine[e, ENGINE_NUMBERS]"""
    first: Ints
    """first[m + 1]: where the engines of an item begin."""
    colour: Ints
    """The colours of all items; no two items of one colour are on a GPU."""
    first_colour: Ints
    """first_colour[m + 1]: where those of an item begin."""
    sharing: Floats
    ratio: float
    grid: Floats
    """grid[levels]: delays upwards from 0."""
    push: Floats
    """push[lengths, m, levels]: the delay that an item adds to neighbours whose turns have a
    length, when it has the delay of a level."""
    late: Floats
    """late[lengths, m, 2 rows]: the same in a group whose items add up to the delay of a row; then,
    for every row, when the item itself has its delay."""
    others: Floats
    """others[w, e]: the requests each second to the engines in further time windows. All else is
    about one window. A group that is possible there may be impossible in one of these."""
    counts: Floats
    """counts[w, e]: whether the ratio of an engine counts in these windows (1) or not (0)."""


def choices_of(problem: Problem) -> list[ItemChoice]:
    """Return all choices, in the order of the problem; certificates have a multiplier for each."""
    return [
        ItemChoice(kin, owner, replicas)
        for owner, kin in enumerate(kin_of(problem))
        for replicas in range(kin.replicas, kin.members[0].most_replicas + 1)
    ]


def companies_of(
    problem: Problem,
    choices: Sequence[ItemChoice],
    ratio: float,
    binding: bool,
    window: int | None = None,
) -> list[GpuCompany]:
    """Return what may be on every kind of GPU at a ratio.

    Parameters
    ----------
    problem, choices
        The problem, and what may be placed.
    ratio
        Groups with a ratio as high as this are impossible.
    binding
        Whether only the targets that a placement must keep count.
    window
        The time window that the tables are about; None for the only one.
    """
    maker = _CompanyMaker(problem, choices, ratio, binding, window or 0)
    return [maker.company(sort, gpus) for sort, gpus in maker.sorts.items()]


def further_windows(problem: Problem, window: int) -> list[int]:
    """Return the time windows besides one that groups are tried in, those with most requests first.

    Fewer would be safe: what is impossible in one window is impossible.
    """
    total = [sum(rate_in(m, t) for m in problem.models) for t in range(problem.windows)]
    busiest = sorted(range(problem.windows), key=lambda t: -total[t])
    peaks = {max(range(problem.windows), key=lambda t: rate_in(m, t)) for m in problem.models}
    ordered = [*(t for t in busiest if t in peaks), *(t for t in busiest if t not in peaks)]
    return [t for t in ordered if t != window][:MOST_WINDOWS]


class _Sort(NamedTuple):
    """What GPUs that are alike have in common."""

    kind: str
    memory_gb: float
    limits: Limits
    open_here: tuple[bool, ...]
    """Whether each choice may be there."""


class _CompanyMaker:
    """Makes companies; all GPUs of a kind have the same tables.

    Parameters
    ----------
    problem, choices, ratio, binding, window
        As `companies_of` takes them.
    """

    def __init__(
        self,
        problem: Problem,
        choices: Sequence[ItemChoice],
        ratio: float,
        binding: bool,
        window: int,
    ) -> None:
        self._problem = problem
        self._choices = choices
        self._ratio = ratio
        self._binding = binding
        self._window = window
        self._further = further_windows(problem, window)
        self._kinds = sorted({gpu.kind for gpu in problem.gpus})
        self._tables: dict[str, GpuCompany] = {}
        self._amounts: dict[tuple[str, ...], Floats] = {}
        pins = [choice.kin.pins for choice in choices]
        self.sorts: dict[_Sort, list[Gpu]] = {}
        """All GPUs, those that are alike together."""
        for gpu in problem.gpus:
            open_here = tuple([not pin or open_to(pin, gpu) for pin in pins])
            sort = _Sort(gpu.kind, gpu.memory_gb, gpu.limits, open_here)
            self.sorts.setdefault(sort, []).append(gpu)

    def company(self, sort: _Sort, gpus: Sequence[Gpu]) -> GpuCompany:
        """Return what may be on GPUs that are alike."""
        if sort.kind not in self._tables:
            self._tables[sort.kind] = self._tables_of(sort.kind)
        tables = self._tables[sort.kind]
        demand = shares_of(self._amounts_on(gpus[0]), gpus[0], self._problem.most_models)
        open_here = np.array(sort.open_here, np.bool_)[tables.choice]
        possible = open_here & (tables.tolerance > 0.0) & (demand <= FITS).all(axis=1)
        rows = np.flatnonzero(possible)
        return tables._replace(
            gpus=len(gpus),
            choice=tables.choice[rows],
            owner=tables.owner[rows],
            row=rows,
            demand=demand[rows],
            tolerance=tables.tolerance[rows],
            length=tables.length[rows],
        )

    def _amounts_on(self, gpu: Gpu) -> Floats:
        """Return what all items in the tables of a GPU need of it."""
        resources = [resource for resource, _ in gpu.limits]
        key = (gpu.kind, *resources)
        if key not in self._amounts:
            chosen = [self._choices[number] for number in self._tables[gpu.kind].choice]
            items = [(choice.kin, choice.parts) for choice in chosen]
            amounts = amounts_of(items, gpu.kind, resources)
            self._amounts[key] = np.array(amounts).reshape(len(items), 2 + len(resources))
        return self._amounts[key]

    def _tables_of(self, kind: str) -> GpuCompany:
        """Return all that may be on some GPU of a kind, as if there were no limits."""
        flags = [sort.open_here for sort in self.sorts if sort.kind == kind]
        open_there = np.array(flags).any(axis=0)
        numbers = np.flatnonzero(open_there).tolist()
        numbers = [number for number in numbers if not self._choices[number].kin.homeless]
        chosen = [self._choices[number] for number in numbers]
        items = [(choice.kin, choice.replicas) for choice in chosen]
        kinds, windows = (kind, self._kinds), (self._window, self._further)
        engine, others, counts = engine_rows(items, kinds, windows, self._binding)
        first = starts_of([choice.kin.members for choice in chosen])
        sharing = np.array(COSTS[self._problem.sharing])
        turns = item_turns(engine, first, sharing)
        lengths = _lengths(turns)
        tolerance, grid, push = item_tables(engine, first, sharing, lengths, self._ratio)
        colours = [choice.kin.colours for choice in chosen]
        return GpuCompany(
            0,
            np.array(numbers, np.int64),
            np.array([choice.owner for choice in chosen], np.int64),
            np.arange(len(chosen)),
            np.zeros((len(chosen), 0)),
            tolerance,
            np.searchsorted(lengths, turns, "right") - 1,
            engine,
            first,
            np.array([colour for each in colours for colour in each], np.int64),
            starts_of(colours),
            sharing,
            self._ratio,
            grid,
            push,
            _late(grid, push),
            others,
            counts,
        )


def _lengths(turns: Floats) -> Floats:
    """Return some lengths of turns, upwards from the shortest, with as many items at each."""
    finite = np.sort(turns[np.isfinite(turns)])
    if not len(finite):
        return np.zeros(LENGTHS)
    return finite[np.arange(LENGTHS) * len(finite) // LENGTHS]


def _late(grid: Floats, push: Floats) -> Floats:
    """Return what items add once all items of a group, and they themselves, add up to a delay.

    An item waits for the others only, so what it adds itself at most does not count.
    """
    rows = grid[::STRIDE]
    others = (rows[np.newaxis, :] - push[0, :, -1:]) * BELOW
    level = np.maximum(np.searchsorted(grid, others, "right") - 1, 0)
    late = np.take_along_axis(push, level[np.newaxis].repeat(len(push), 0), axis=2)
    return np.concatenate([late, push[:, :, ::STRIDE]], axis=2)
