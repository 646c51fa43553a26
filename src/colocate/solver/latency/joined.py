"""What GPUs cost that models with shards join: their engines settle together.

The shards of an engine run in step, so each of its turns waits as long as on the GPU where the wait
is longest. It keeps as much cache on each GPU as on the one with the least, and what it leaves goes
to the others there.
"""

from math import inf

from colocate.latency.law import (
    ENGINE_COLUMNS,
    RATE,
    SLOTS,
    SWEEPS,
    TPOT_SLO,
    TTFT_SLO,
    arrived,
    delay_by,
    ratio_of,
    step_and_turns,
    work_and_turns,
)
from colocate.problem.kernel import leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.solver.latency.cost import (
    cost_alone,
    cost_by_ratios,
    next_window,
    ratio_limits,
    settled_by,
    slots_of,
)
from colocate.solver.latency.engines import EQUAL, LEAST, WEIGHT, EngineTable
from colocate.solver.latency.now import NOTED, PARTIAL, RATED, GpuCosts, SearchState


@leaf_kernel
def note_joined(table: EngineTable, layout: Layout, costs: GpuCosts, gpu: int) -> None:
    """Add a GPU, and all that shards join to it, to those that a change concerns.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    costs : where the GPUs are noted
    gpu : the GPU
    """
    if costs.mark[gpu]:
        return
    done = costs.number[NOTED]
    _note(costs, gpu)
    while table.joined and done < costs.number[NOTED]:
        item = layout.first[costs.changed[done]]
        done += 1
        while item != NOWHERE:
            engine = table.engine[table.first[item]]
            first, shards = table.items[engine, 0], table.items[engine, 1]
            for shard in range(first, first + shards if shards > 1 else first):
                if layout.gpu_of[shard] != NOWHERE and not costs.mark[layout.gpu_of[shard]]:
                    _note(costs, layout.gpu_of[shard])
            item = layout.after[item]


@leaf_kernel
def _note(costs: GpuCosts, gpu: int) -> None:
    costs.mark[gpu] = 1
    costs.changed[costs.number[NOTED]] = gpu
    costs.number[NOTED] += 1


@leaf_kernel
def forget_noted(costs: GpuCosts) -> None:
    """Forget which GPUs a change concerned."""
    for place in range(costs.number[NOTED]):
        costs.mark[costs.changed[place]] = 0
    costs.number[NOTED] = 0


@leaf_kernel
def rate_noted(now: SearchState, limit: float) -> bool:
    """Write the cost of the noted GPUs to `trial`; False once one is above a limit.

    Parameters
    ----------
    now : the state of the search
    limit : the limit
    """
    costs = now.costs
    costs.number[RATED] += 1
    if now.table.joined and _has_shards(now.table, now.layout, costs):
        return _rate_together(now, limit)
    for place in range(costs.number[NOTED]):
        gpu = costs.changed[place]
        costs.trial[gpu] = cost_alone(now, gpu, limit)
        if costs.trial[gpu] > limit:
            return False
    return True


@leaf_kernel
def cost_with(now: SearchState, item: int, gpu: int, limit: float) -> float:
    """Return what a GPU costs with an item that is nowhere; infinite if it cannot be there.

    Parameters
    ----------
    now : the state of the search
    item, gpu : the item and the GPU
    limit : the cost above which it may not be there
    """
    if not fits(now.instance, now.layout, gpu, NOWHERE, item):
        return inf
    put(now.instance, now.layout, item, gpu)
    note_joined(now.table, now.layout, now.costs, gpu)
    within = rate_noted(now, limit)
    forget_noted(now.costs)
    take(now.instance, now.layout, item)
    cost: float = now.costs.trial[gpu]
    return cost if within else inf


@leaf_kernel
def _has_shards(table: EngineTable, layout: Layout, costs: GpuCosts) -> bool:
    for place in range(costs.number[NOTED]):
        item = layout.first[costs.changed[place]]
        while item != NOWHERE:
            if table.items[table.engine[table.first[item]], 1] > 1:
                return True
            item = layout.after[item]
    return False


@leaf_kernel
def _rate_together(now: SearchState, limit: float) -> bool:
    """Rate all noted GPUs as one; parameters as `rate_noted` takes them."""
    table, layout, costs = now.table, now.layout, now.costs
    count = _list_engines(now)
    _share_out(table, layout, costs, count)
    for row in range(count):
        costs.worst[costs.members[row]] = 0.0
    within = True
    window = next_window(table, costs, count, NOWHERE)
    while within and window != NOWHERE:
        for row in range(count):
            for column in (RATE, TPOT_SLO, TTFT_SLO):
                costs.rows[row, column] = table.rows[window, 0, costs.members[row], column]
        within = _settled(now, count, limit)
        if within:
            _rate_listed(table, costs, count)
        window = next_window(table, costs, count, window)
    if within:
        for place in range(costs.number[NOTED]):
            gpu = costs.changed[place]
            costs.trial[gpu] = cost_by_ratios(table, layout, costs, gpu)
            within = within and costs.trial[gpu] <= limit
    for row in range(count):
        costs.place[costs.members[row]] = NOWHERE
    return within


@leaf_kernel
def _rate_listed(table: EngineTable, costs: GpuCosts, count: int) -> None:
    """Raise the ratios of the listed engines to those of the window that was settled."""
    for row in range(count):
        engine = costs.members[row]
        slots = costs.rows[row, SLOTS]
        # One more item where a shard is can leave more cache where another shard is.
        if costs.number[PARTIAL] == 0:
            slots = slots_of(table, engine, slots, costs.share[row])
        ratio = ratio_of(costs.rows, row, costs.state, row, slots)
        costs.worst[engine] = max(costs.worst[engine], ratio)


@leaf_kernel
def _list_engines(now: SearchState) -> int:
    """List the engines of all noted GPUs, each once, as slow as on their slowest GPU."""
    table, layout, costs = now.table, now.layout, now.costs
    count = 0
    for noted in range(costs.number[NOTED]):
        gpu = costs.changed[noted]
        item = layout.first[gpu]
        while item != NOWHERE:
            for place in range(table.first[item], table.first[item + 1]):
                engine = table.engine[place]
                row = costs.place[engine]
                if row == NOWHERE:
                    row = count
                    count += 1
                    costs.members[row] = engine
                    costs.place[engine] = row
                    costs.rows[row, :] = 0.0
                for column in range(ENGINE_COLUMNS):
                    here = table.rows[0, now.instance.kind[gpu], engine, column]
                    costs.rows[row, column] = max(costs.rows[row, column], here)
            item = layout.after[item]
    return count


@leaf_kernel
def _settled(now: SearchState, count: int, limit: float) -> bool:
    """Find the fixed point of all listed engines; False once it is above a limit.

    Parameters
    ----------
    now : the state of the search, with the listed engines
    count : how many there are
    limit : the limit on the cost
    """
    table, costs = now.table, now.costs
    rows, state = costs.rows, costs.state
    kept, free = ratio_limits(table, limit)
    for row in range(count):
        state[row, :] = 0.0
    before = inf
    for _ in range(SWEEPS):
        moved = 0.0
        for row in range(count):
            delays = _longest_delays(table, now.layout, costs, row)
            most = kept if table.binding[costs.members[row]] else free
            moved = max(moved, settled_by(rows, row, delays, table.sharing, state, row, most))
            if moved == inf:
                return False
        if arrived(moved, before, table.left_out):
            return True
        before = moved
    return True


@leaf_kernel
def _longest_delays(
    table: EngineTable, layout: Layout, costs: GpuCosts, row: int
) -> tuple[float, float]:
    """Return how long a turn of a listed engine's step, and of its prefill, waits at the longest.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    costs, row : the listed engines, and which one
    """
    engine, state = costs.members[row], costs.state
    step, step_turns = step_and_turns(costs.rows, row, state, row, table.sharing)
    work, work_turns = work_and_turns(costs.rows, row, table.sharing)
    for_step = for_work = 0.0
    first = table.items[engine, 0]
    for shard in range(first, first + table.items[engine, 1]):
        if layout.gpu_of[shard] == NOWHERE:
            continue
        here = here_for_work = 0.0
        item = layout.first[layout.gpu_of[shard]]
        while item != NOWHERE:
            for place in range(table.first[item], table.first[item + 1]):
                other = table.engine[place]
                if other != engine:
                    here += delay_by(state, costs.place[other], step, step_turns, table.sharing)
                    here_for_work += delay_by(
                        state, costs.place[other], work, work_turns, table.sharing
                    )
            item = layout.after[item]
        for_step, for_work = max(for_step, here), max(for_work, here_for_work)
    return for_step, for_work


@leaf_kernel
def _share_out(table: EngineTable, layout: Layout, costs: GpuCosts, count: int) -> None:
    """Divide the free memory of all noted GPUs: first for engines with shards, then for others."""
    for row in range(count):
        costs.share[row] = inf
    for sharded in (True, False):
        for noted in range(costs.number[NOTED]):
            _share_out_gpu(table, layout, costs, costs.changed[noted], sharded)


@leaf_kernel
def _share_out_gpu(
    table: EngineTable, layout: Layout, costs: GpuCosts, gpu: int, sharded: bool
) -> None:
    """Divide the free memory of one GPU, for the engines with shards or for the others.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    costs : the listed engines, whose shares are written
    gpu : the GPU
    sharded : whether engines with shards get their share, as if all were divided; or the others
    """
    rest, loads, equals = table.memory[gpu] - layout.used[gpu], 0.0, 0.0
    item = layout.first[gpu]
    while item != NOWHERE:
        for place in range(table.first[item], table.first[item + 1]):
            engine = table.engine[place]
            if sharded or table.items[engine, 1] == 1:
                rest -= table.cache[engine, LEAST]
                loads += table.cache[engine, WEIGHT]
                equals += table.cache[engine, EQUAL]
            else:
                rest -= costs.share[costs.place[engine]]
        item = layout.after[item]
    column, whole = (WEIGHT, loads) if loads > 0.0 else (EQUAL, equals)
    item = layout.first[gpu]
    while item != NOWHERE:
        for place in range(table.first[item], table.first[item + 1]):
            engine = table.engine[place]
            if sharded == (table.items[engine, 1] > 1):
                weight = table.cache[engine, column] / whole if whole > 0.0 else 0.0
                share = table.cache[engine, LEAST] + max(rest, 0.0) * weight
                row = costs.place[engine]
                costs.share[row] = min(costs.share[row], share) if sharded else share
        item = layout.after[item]
