"""What a GPU costs: its ratio or its pressure, and far more if it breaks a limit.

The cost of a GPU that keeps all targets is its ratio, or its pressure, by the objective. Saturated
engines without a target to keep cost more than any ratio, and what breaks a target or the highest
pressure costs more than these. So a search that lowers the highest cost mends a placement first.

The law's iteration rises, and so does every latency on the way. A rating ends as soon as one of
them shows that the cost is above a limit.
"""

from math import inf

from colocate.latency.law import (
    PREFILLED,
    RATE,
    SLOTS,
    SPREAD,
    STRETCHED,
    SWEEPS,
    TOKENS,
    TPOT,
    TPOT_SLO,
    TTFT_SLO,
    arrived,
    ratio_of,
    settle_one,
    waits,
)
from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import leaf_kernel
from colocate.problem.layout import NOWHERE, Layout
from colocate.solver.latency.engines import EQUAL, LEAST, REQUEST, WEIGHT, EngineTable
from colocate.solver.latency.now import GpuCosts, SearchState
from colocate.solver.targets import KEPT

SATURATED = 1e20
"""The cost of one saturated engine, or of an infinite pressure: more than any ratio in use."""
BROKEN = 1e40
"""The cost of a target that just does not hold: more than any number of saturated engines."""
MOST_BROKEN = 1e30
"""The most times that a target counts as missed: sums of such costs stay finite."""
TYPICAL_HARM = 0.01
"""Seconds that neighbours wait each turn: the scale on which saturated GPUs are compared."""


@leaf_kernel
def gather_engines(table: EngineTable, layout: Layout, gpu: int, members: Ints) -> int:
    """List the engines of a GPU; return how many there are.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    gpu : the GPU
    members : the list, written here
    """
    count = 0
    item = layout.first[gpu]
    while item != NOWHERE:
        for place in range(table.first[item], table.first[item + 1]):
            members[count] = table.engine[place]
            count += 1
        item = layout.after[item]
    return count


@leaf_kernel
def ratio_limits(table: EngineTable, limit: float) -> tuple[float, float]:
    """Return the ratios above which the cost is above a limit: with targets to keep, and without.

    Parameters
    ----------
    table : the engines
    limit : the limit on the cost
    """
    free = inf if table.by_pressure or limit >= SATURATED else limit
    if limit >= BROKEN:
        return limit / BROKEN, free
    return min(KEPT, free), free


@leaf_kernel
def is_over(rows: Floats, engine: int, state: Floats, row: int, limit: float) -> bool:
    """Return whether a latency that still rises is above so many times its target already.

    Parameters
    ----------
    rows, engine : all engines, and which one
    state, row : the state of all, and the row of this one
    limit : the highest ratio
    """
    if state[row, PREFILLED] > limit * rows[engine, TTFT_SLO]:
        return True
    stretched = state[row, STRETCHED]
    tpot = stretched + rows[engine, SPREAD] * (state[row, TPOT] - stretched)
    return bool(rows[engine, TOKENS] > 0.0 and tpot > limit * rows[engine, TPOT_SLO])


@leaf_kernel
def settled_by(
    rows: Floats,
    engine: int,
    delays: tuple[float, float],
    sharing: Floats,
    state: Floats,
    row: int,
    limit: float,
) -> float:
    """Settle one engine beside the others as they are; return by which share of it it rose.

    Infinite if a latency is above so many times its target already.

    Parameters
    ----------
    rows, engine : all engines, and which one
    delays : seconds that each turn of a step, and of a prefill, waits for the neighbours
    sharing : the constants of the way to share
    state, row : the state of all engines, and the row to write
    limit : the highest ratio
    """
    before = state[row, TPOT] + state[row, PREFILLED]
    settle_one(rows, engine, delays[0], delays[1], sharing, state, row)
    if is_over(rows, engine, state, row, limit):
        return inf
    now = state[row, TPOT] + state[row, PREFILLED]
    risen: float = (now - before) / now if now > 0.0 else 0.0
    return risen


@leaf_kernel
def next_window(table: EngineTable, costs: GpuCosts, count: int, before: int) -> int:
    """Return the window to look at next for the engines in `members`, or `NOWHERE`.

    That is the one in which they press on each other most. A window in which none of them is asked
    more than in one that was looked at is passed over: it cannot be worse.

    Parameters
    ----------
    table, costs : the engines, and the list of those to rate
    count : how many there are
    before : the window that was looked at last; `NOWHERE` to begin
    """
    windows = table.rows.shape[0]
    best, most = NOWHERE, -1.0
    for window in range(windows):
        if before == NOWHERE:
            costs.passed[window] = 0
        elif costs.passed[window] == 0:
            more = 0
            for row in range(count):
                engine = costs.members[row]
                more += table.rows[window, 0, engine, RATE] > table.rows[before, 0, engine, RATE]
            costs.passed[window] = more == 0
        if costs.passed[window] == 0:
            push = 0.0
            for row in range(count):
                push += table.push[window, costs.members[row]]
            if push > most:
                best, most = window, push
    return best


@leaf_kernel
def settled_within(
    table: EngineTable, costs: GpuCosts, window: int, kind: int, count: int, limit: float
) -> bool:
    """Find the fixed point of the engines in `members`; False once it is above a limit.

    Parameters
    ----------
    table, costs : the engines, and the list of those on one GPU
    window, kind : the time window, and the kind of the GPU
    count : how many there are
    limit : the limit on the cost
    """
    state, members = costs.state, costs.members
    kept, free = ratio_limits(table, limit)
    for row in range(count):
        for column in range(state.shape[1]):
            state[row, column] = table.lone[window, kind, members[row], column]
    before = inf
    for _ in range(SWEEPS if count > 1 else 0):
        moved = 0.0
        for row in range(count):
            rows, engine = table.rows[window, kind], members[row]
            most = kept if table.binding[engine] else free
            delays = waits(rows, engine, state, row, count, table.sharing)
            moved = max(moved, settled_by(rows, engine, delays, table.sharing, state, row, most))
            if moved == inf:
                return False
        if arrived(moved, before, table.left_out):
            break
        before = moved
    return True


@leaf_kernel
def share_out(table: EngineTable, costs: GpuCosts, count: int, free: float) -> None:
    """Divide the free memory of a GPU among the engines in `members`: write `share`.

    Parameters
    ----------
    table, costs : the engines, and the list of those on one GPU
    count : how many there are
    free : GB
    """
    rest = free
    loads = 0.0
    equals = 0.0
    for row in range(count):
        engine = costs.members[row]
        rest -= table.cache[engine, LEAST]
        loads += table.cache[engine, WEIGHT]
        equals += table.cache[engine, EQUAL]
    rest = max(rest, 0.0)
    column = WEIGHT if loads > 0.0 else EQUAL
    whole = loads if loads > 0.0 else equals
    for row in range(count):
        engine = costs.members[row]
        weight = table.cache[engine, column] / whole if whole > 0.0 else 0.0
        costs.share[row] = table.cache[engine, LEAST] + rest * weight


@leaf_kernel
def slots_of(table: EngineTable, engine: int, settings: float, share: float) -> float:
    """Return how many requests an engine can work on at once.

    Parameters
    ----------
    table, engine : the engines, and which one
    settings : what its settings allow
    share : the cache of each of its parts
    """
    request = table.cache[engine, REQUEST]
    return min(settings, share / request) if request > 0.0 else settings


@leaf_kernel
def cost_by_ratios(table: EngineTable, layout: Layout, costs: GpuCosts, gpu: int) -> float:
    """Return the cost of a GPU from the ratios of its engines in `worst`.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    costs : the ratios
    gpu : the GPU
    """
    ratio, broken, saturated, lost, harm = 0.0, 0.0, 0.0, 0.0, 0.0
    item = layout.first[gpu]
    while item != NOWHERE:
        for place in range(table.first[item], table.first[item + 1]):
            engine = table.engine[place]
            worst = costs.worst[engine]
            harm += table.harm[engine]
            if table.binding[engine] and worst > KEPT:
                broken = max(broken, min(worst, MOST_BROKEN))
                lost += worst == inf
            elif worst == inf:
                saturated += 1.0
            else:
                ratio = max(ratio, worst)
        item = layout.after[item]
    pressure = layout.pressure[gpu]
    if pressure > table.highest:
        over = pressure / table.highest if table.highest > 0.0 else MOST_BROKEN
        broken = max(broken, min(over, MOST_BROKEN))
    # A little more for more harm: so a search knows the way out of saturation.
    harm /= harm + TYPICAL_HARM
    if broken > 0.0:
        return BROKEN * (broken + (lost + harm) * MOST_BROKEN if lost > 0.0 else broken)
    if table.by_pressure:
        return pressure if pressure < inf else SATURATED
    return ratio if saturated == 0.0 else SATURATED * (saturated + harm)


@leaf_kernel
def cost_alone(now: SearchState, gpu: int, limit: float) -> float:
    """Return the cost of a GPU that is not joined to others; infinite if it is above a limit.

    Parameters
    ----------
    now : the state of the search
    gpu : the GPU
    limit : the cost above which the exact one does not matter
    """
    table, layout, costs = now.table, now.layout, now.costs
    count = gather_engines(table, layout, gpu, costs.members)
    if count == 0:
        return 0.0
    if table.by_pressure and layout.pressure[gpu] > limit:
        return inf
    kind = now.instance.kind[gpu]
    share_out(table, costs, count, table.memory[gpu] - layout.used[gpu])
    for row in range(count):
        costs.worst[costs.members[row]] = 0.0
    window = next_window(table, costs, count, NOWHERE)
    while window != NOWHERE:
        if not settled_within(table, costs, window, kind, count, limit):
            return inf
        rows = table.rows[window, kind]
        for row in range(count):
            engine = costs.members[row]
            slots = slots_of(table, engine, rows[engine, SLOTS], costs.share[row])
            ratio = ratio_of(rows, engine, costs.state, row, slots)
            costs.worst[engine] = max(costs.worst[engine], ratio)
        window = next_window(table, costs, count, window)
    return cost_by_ratios(table, layout, costs, gpu)
