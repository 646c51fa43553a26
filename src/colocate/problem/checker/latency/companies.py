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

from colocate.problem.checker.items import Kin, kin_of, open_to, use_on
from colocate.problem.checker.latency.delays import LENGTHS, STRIDE, item_tables, item_turns
from colocate.problem.checker.latency.engines import engine_of, must_keep, rate_in
from colocate.problem.checker.latency.law import COUNTS, ENGINE_NUMBERS
from colocate.problem.checker.tolerance import BELOW, FITS
from colocate.problem.gpu import Gpu
from colocate.problem.model import MEMORY, Model
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
    """The items that may be on a kind of GPU at a ratio, as arrays; n items, e engines."""

    gpus: int
    """How many GPUs are of this kind: alike in memory, limits and pins."""
    choice: Ints
    """choice[n]: the number of the choice that an item is a part of."""
    owner: Ints
    """owner[n]: items of one owner are not on one GPU."""
    engine: Floats
    """engine[e, ENGINE_NUMBERS]"""
    first: Ints
    """first[n + 1]: where the engines of an item begin."""
    colour: Ints
    """The colours of all items; no two items of one colour are on a GPU."""
    first_colour: Ints
    """first_colour[n + 1]: where those of an item begin."""
    demand: Floats
    """demand[n, r]: shares of what the GPU has of memory, of resources, and of models at most."""
    sharing: Floats
    ratio: float
    tolerance: Floats
    """tolerance[n]: a delay at which the item is certain to miss the ratio."""
    grid: Floats
    """grid[levels]: delays upwards from 0."""
    length: Ints
    """length[n]: the last of some lengths that no turn of the item is shorter than."""
    push: Floats
    """push[lengths, n, levels]: the delay that an item adds to neighbours whose turns have a
    length, when it has the delay of a level."""
    late: Floats
    """late[lengths, n, 2 rows]: the same in a group whose items add up to the delay of a row; then,
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
    pins = [choice.kin.pins for choice in choices]
    sorts: dict[object, list[Gpu]] = {}
    for gpu in problem.gpus:
        open_here = tuple([not pin or open_to(pin, gpu) for pin in pins])
        sorts.setdefault((gpu.kind, gpu.memory_gb, gpu.limits, open_here), []).append(gpu)
    kinds = sorted({gpu.kind for gpu in problem.gpus})
    found = []
    for gpus in sorts.values():
        numbers = [n for n, pin in enumerate(pins) if not pin or open_to(pin, gpus[0])]
        numbers = [n for n in numbers if not choices[n].kin.homeless]
        found.append(_company(problem, choices, numbers, gpus, kinds, ratio, binding, window or 0))
    return found


def further_windows(problem: Problem, window: int) -> list[int]:
    """Return the time windows besides one that groups are tried in, those with most requests first.

    Fewer would be safe: what is impossible in one window is impossible.
    """
    total = [sum(rate_in(m, t) for m in problem.models) for t in range(problem.windows)]
    busiest = sorted(range(problem.windows), key=lambda t: -total[t])
    peaks = {max(range(problem.windows), key=lambda t: rate_in(m, t)) for m in problem.models}
    ordered = [*(t for t in busiest if t in peaks), *(t for t in busiest if t not in peaks)]
    return [t for t in ordered if t != window][:MOST_WINDOWS]


def _company(
    problem: Problem,
    choices: Sequence[ItemChoice],
    numbers: Sequence[int],
    gpus: Sequence[Gpu],
    kinds: Sequence[str],
    ratio: float,
    binding: bool,
    window: int,
) -> GpuCompany:
    further = further_windows(problem, window)
    rates: list[list[float]] = []
    counts: list[list[float]] = []
    engines: list[tuple[float, ...]] = []
    first, colours, first_colour = [0], list[int](), [0]
    for number in numbers:
        choice = choices[number]
        others = kinds if choice.kin.shards > 1 else ()
        for member in choice.kin.members:
            engine = engine_of(member, choice.replicas, (gpus[0].kind,), others, window)
            counted = not binding or must_keep(member)
            engines.append((*engine[:COUNTS], engine[COUNTS] * counted))
            rates.append([rate_in(member, other) / choice.replicas for other in further])
            never = rate_in(member, None) == 0.0
            counts.append([float(counted and (never or rate > 0.0)) for rate in rates[-1]])
        first.append(len(engines))
        colours.extend(choice.kin.colours)
        first_colour.append(len(colours))
    demands = [_demand(choices[n], gpus[0], problem.most_models) for n in numbers]
    demand = np.array(demands).reshape(len(numbers), 2 + len(gpus[0].limits))
    sharing = np.array(COSTS[problem.sharing])
    engine_rows, starts = np.array(engines).reshape(-1, ENGINE_NUMBERS), np.array(first)
    turns = item_turns(engine_rows, starts, sharing)
    lengths = _lengths(turns)
    tolerance, grid, push = item_tables(engine_rows, starts, sharing, lengths, ratio)
    whole = GpuCompany(
        len(gpus),
        np.array(numbers, np.int64),
        np.array([choices[n].owner for n in numbers], np.int64),
        engine_rows,
        starts,
        np.array(colours, np.int64),
        np.array(first_colour),
        demand,
        sharing,
        ratio,
        tolerance,
        grid,
        np.searchsorted(lengths, turns, "right") - 1,
        push,
        _late(grid, push),
        np.array(rates).reshape(len(engines), len(further)).T.copy(),
        np.array(counts).reshape(len(engines), len(further)).T.copy(),
    )
    possible = (tolerance > 0.0) & (demand <= FITS).all(axis=1)
    return _only(whole, np.flatnonzero(possible))


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


def _only(company: GpuCompany, kept: Ints) -> GpuCompany:
    """Return the company of some of its items."""
    engines = _ranges(company.first, kept)
    colours = _ranges(company.first_colour, kept)
    return company._replace(
        choice=company.choice[kept],
        owner=company.owner[kept],
        engine=company.engine[engines],
        first=_starts(company.first, kept),
        colour=company.colour[colours],
        first_colour=_starts(company.first_colour, kept),
        demand=company.demand[kept],
        tolerance=company.tolerance[kept],
        length=company.length[kept],
        push=np.ascontiguousarray(company.push[:, kept]),
        late=np.ascontiguousarray(company.late[:, kept]),
        others=np.ascontiguousarray(company.others[:, engines]),
        counts=np.ascontiguousarray(company.counts[:, engines]),
    )


def _ranges(first: Ints, kept: Ints) -> Ints:
    spans = [np.arange(first[n], first[n + 1]) for n in kept]
    return np.concatenate(spans).astype(np.int64) if spans else np.zeros(0, np.int64)


def _starts(first: Ints, kept: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(first[kept + 1] - first[kept])]).astype(np.int64)


def _demand(choice: ItemChoice, gpu: Gpu, most_models: int | None) -> list[float]:
    """Return shares of memory, of every resource, and of the models that a GPU may hold."""
    members = choice.kin.members
    found = [_share(sum(m.size_gb for m in members) / choice.kin.shards, gpu.memory_gb)]
    for resource, limit in gpu.limits:
        used = sum(_used(member, choice.parts, resource, gpu) for member in members)
        found.append(_share(used, limit))
    found.append(0.0 if most_models is None else len(members) / most_models)
    return found


def _used(model: Model, parts: int, resource: str, gpu: Gpu) -> float:
    """Return what one part of a model uses of a resource."""
    if resource == MEMORY and model.least_cache_gb is not None:
        return (model.size_gb + model.least_cache_gb) / model.shards
    shared = use_on(model.shared_uses, resource, gpu.kind)
    return use_on(model.uses, resource, gpu.kind) + shared / parts


def _share(amount: float, limit: float) -> float:
    if amount <= 0.0:
        return 0.0
    return amount / limit if limit > 0.0 else float("inf")
