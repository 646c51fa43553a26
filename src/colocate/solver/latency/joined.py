"""What GPUs cost that models with shards join: their engines settle together.

The shards of an engine run in step, so each of its turns waits as long as on the GPU where the wait
is longest. It keeps as much cache on each GPU as on the one with the least, and what it leaves goes
to the others there.
"""

from math import inf

from colocate.latency.law import (
    BUSY,
    COST,
    ENGINE_COLUMNS,
    PREFILLED,
    SLOTS,
    SWEEPS,
    TPOT,
    ratio_of,
    settle_one,
)
from colocate.problem.instance import Instance
from colocate.problem.kernel import leaf_kernel
from colocate.problem.layout import NOWHERE, Layout
from colocate.problem.tolerance import ARRIVED
from colocate.solver.latency.cost import cost_alone, cost_by_ratios, is_over, ratio_limits, slots_of
from colocate.solver.latency.engines import EQUAL, LEAST, WEIGHT, EngineTable, Rating


@leaf_kernel
def note_joined(table: EngineTable, layout: Layout, rating: Rating, gpu: int) -> None:
    """Add a GPU, and all that shards join to it, to those that a change concerns.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    rating : where the GPUs are noted
    gpu : the GPU
    """
    if rating.mark[gpu]:
        return
    done = rating.number[0]
    _note(rating, gpu)
    while table.joined and done < rating.number[0]:
        item = layout.first[rating.changed[done]]
        done += 1
        while item != NOWHERE:
            engine = table.engine[table.first[item]]
            first, shards = table.items[engine, 0], table.items[engine, 1]
            for shard in range(first, first + shards if shards > 1 else first):
                if layout.gpu_of[shard] != NOWHERE and not rating.mark[layout.gpu_of[shard]]:
                    _note(rating, layout.gpu_of[shard])
            item = layout.after[item]


@leaf_kernel
def _note(rating: Rating, gpu: int) -> None:
    rating.mark[gpu] = 1
    rating.changed[rating.number[0]] = gpu
    rating.number[0] += 1


@leaf_kernel
def forget_noted(rating: Rating) -> None:
    """Forget which GPUs a change concerned."""
    for place in range(rating.number[0]):
        rating.mark[rating.changed[place]] = 0
    rating.number[0] = 0


@leaf_kernel
def rate_noted(
    table: EngineTable, instance: Instance, layout: Layout, rating: Rating, limit: float
) -> bool:
    """Write the cost of the noted GPUs to `trial`; False once one is above a limit.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : the noted GPUs, and room to work in
    limit : the limit
    """
    rating.number[1] += 1
    if table.joined and _has_shards(table, layout, rating):
        return _rate_together(table, instance, layout, rating, limit)
    for place in range(rating.number[0]):
        gpu = rating.changed[place]
        rating.trial[gpu] = cost_alone(table, instance, layout, rating, gpu, limit)
        if rating.trial[gpu] > limit:
            return False
    return True


@leaf_kernel
def _has_shards(table: EngineTable, layout: Layout, rating: Rating) -> bool:
    for place in range(rating.number[0]):
        item = layout.first[rating.changed[place]]
        while item != NOWHERE:
            if table.items[table.engine[table.first[item]], 1] > 1:
                return True
            item = layout.after[item]
    return False


@leaf_kernel
def _rate_together(
    table: EngineTable, instance: Instance, layout: Layout, rating: Rating, limit: float
) -> bool:
    """Rate all noted GPUs as one; parameters as `rate_noted` takes them."""
    count = _list_engines(table, instance, layout, rating)
    within = _settle(table, layout, rating, count, limit)
    if within:
        _share_out(table, layout, rating, count)
        for row in range(count):
            engine = rating.members[row]
            slots = slots_of(table, engine, rating.rows[row, SLOTS], rating.share[row])
            rating.worst[engine] = ratio_of(rating.rows, row, rating.state, row, slots)
        for place in range(rating.number[0]):
            gpu = rating.changed[place]
            rating.trial[gpu] = cost_by_ratios(table, layout, rating, gpu)
            within = within and rating.trial[gpu] <= limit
    for row in range(count):
        rating.place[rating.members[row]] = NOWHERE
    return within


@leaf_kernel
def _list_engines(table: EngineTable, instance: Instance, layout: Layout, rating: Rating) -> int:
    """List the engines of all noted GPUs, each once, as slow as on their slowest GPU."""
    count = 0
    for noted in range(rating.number[0]):
        gpu = rating.changed[noted]
        item = layout.first[gpu]
        while item != NOWHERE:
            for place in range(table.first[item], table.first[item + 1]):
                engine = table.engine[place]
                row = rating.place[engine]
                if row == NOWHERE:
                    row = count
                    count += 1
                    rating.members[row] = engine
                    rating.place[engine] = row
                    rating.rows[row, :] = 0.0
                for column in range(ENGINE_COLUMNS):
                    here = table.rows[instance.kind[gpu], engine, column]
                    rating.rows[row, column] = max(rating.rows[row, column], here)
            item = layout.after[item]
    return count


@leaf_kernel
def _settle(table: EngineTable, layout: Layout, rating: Rating, count: int, limit: float) -> bool:
    """Find the fixed point of all listed engines; False once it is above a limit.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    rating : the listed engines
    count : how many there are
    limit : the limit on the cost
    """
    state = rating.state
    kept, free = ratio_limits(table, limit)
    for row in range(count):
        state[row, :] = 0.0
    for _ in range(SWEEPS):
        moved = 0.0
        for row in range(count):
            before = state[row, TPOT] + state[row, PREFILLED]
            delay = _longest_delay(table, layout, rating, row)
            settle_one(rating.rows, row, delay, table.sharing, state, row)
            bound = kept if table.binding[rating.members[row]] else free
            if is_over(rating.rows, row, state, row, bound):
                return False
            after = state[row, TPOT] + state[row, PREFILLED]
            moved = max(moved, (after - before) / after if after > 0.0 else 0.0)
        if moved <= ARRIVED:
            break
    return True


@leaf_kernel
def _longest_delay(table: EngineTable, layout: Layout, rating: Rating, row: int) -> float:
    """Return how long a turn of a listed engine waits on the GPU where it waits longest."""
    engine = rating.members[row]
    longest = 0.0
    first = table.items[engine, 0]
    for shard in range(first, first + table.items[engine, 1]):
        if layout.gpu_of[shard] == NOWHERE:
            continue
        delay = 0.0
        item = layout.first[layout.gpu_of[shard]]
        while item != NOWHERE:
            for place in range(table.first[item], table.first[item + 1]):
                other = table.engine[place]
                if other != engine:
                    beside = rating.place[other]
                    delay += rating.state[beside, BUSY] * rating.state[beside, COST]
            item = layout.after[item]
        longest = max(longest, delay)
    return longest


@leaf_kernel
def _share_out(table: EngineTable, layout: Layout, rating: Rating, count: int) -> None:
    """Divide the free memory of all noted GPUs: first for engines with shards, then for others."""
    for row in range(count):
        rating.share[row] = inf
    for sharded in (True, False):
        for noted in range(rating.number[0]):
            _share_out_gpu(table, layout, rating, rating.changed[noted], sharded)


@leaf_kernel
def _share_out_gpu(
    table: EngineTable, layout: Layout, rating: Rating, gpu: int, sharded: bool
) -> None:
    """Divide the free memory of one GPU, for the engines with shards or for the others.

    Parameters
    ----------
    table, layout : the engines of all items, and where the items are
    rating : the listed engines, whose shares are written
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
                rest -= rating.share[rating.place[engine]]
        item = layout.after[item]
    column, whole = (WEIGHT, loads) if loads > 0.0 else (EQUAL, equals)
    item = layout.first[gpu]
    while item != NOWHERE:
        for place in range(table.first[item], table.first[item + 1]):
            engine = table.engine[place]
            if sharded == (table.items[engine, 1] > 1):
                weight = table.cache[engine, column] / whole if whole > 0.0 else 0.0
                share = table.cache[engine, LEAST] + max(rest, 0.0) * weight
                row = rating.place[engine]
                rating.share[row] = min(rating.share[row], share) if sharded else share
        item = layout.after[item]
