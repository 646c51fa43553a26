"""A quick guess at what a GPU costs, from straight lines.

Rating a GPU takes microseconds, since its engines change each other. As functions of the time that
its turns wait, the ratio of an engine, and the time that others wait for it, are nearly straight
lines up to the ratio that is looked for. With lines, the fixed point is a division. A guess
decides what is worth rating, and nothing else.
"""

from typing import NamedTuple

import numpy as np

from colocate.latency.law import (
    BUSY,
    READ_TURN,
    READING,
    SLOTS,
    STATE_COLUMNS,
    STEP_TURN,
    ratio_of,
    settle_one,
)
from colocate.problem.instance import Floats
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, pressure_after
from colocate.solver.latency.engines import EngineTable
from colocate.solver.latency.now import SearchState

AT_REST, GROWTH, PUSH, PUSHED_BACK = 0, 1, 2, 3
"""Columns of the lines. With S, the seconds that all engines on a GPU together make a turn wait,
an engine has the ratio AT_REST + GROWTH x S, and its part of S is PUSH + PUSHED_BACK x S."""
COLUMNS = 4
ATTEMPTS = 8
"""Waits that are tried for one with about the ratio that is looked for."""
NEAR, FAR = 0.9, 2.0
"""The shares of that ratio between which a wait will do at once, and above which it will not."""
LONGER, SHORTER = 10.0, 0.3
"""The most by which the next wait is longer, and by how much it is shorter after one too far."""


class _Seen(NamedTuple):
    """An engine whose turns wait for so long."""

    ratio: float
    push: float
    """Seconds that a neighbour's turn waits for it."""


def no_lines(table: EngineTable) -> Floats:
    """Return room for the lines[T, k, e, COLUMNS] of the engines of a problem."""
    return np.zeros((*table.rows.shape[:-1], COLUMNS))


@leaf_kernel
def _seen(rows: Floats, engine: int, wait: float, sharing: Floats, state: Floats) -> _Seen:
    """Return what an engine does whose turns wait for so long.

    Parameters
    ----------
    rows, engine : all engines, and which one
    wait, sharing : the seconds, and the way to share
    state : room for one state
    """
    settle_one(rows, engine, wait, wait, sharing, state, 0)
    reading = state[0, READING]
    turn = (1.0 - reading) * state[0, STEP_TURN] + reading * state[0, READ_TURN]
    ratio = ratio_of(rows, engine, state, 0, rows[engine, SLOTS])
    return _Seen(ratio, state[0, BUSY] * turn)


@leaf_kernel
def _draw_line(
    rows: Floats, engine: int, sharing: Floats, sought: float, usual: float, state: Floats,
    line: Floats,
) -> None:  # fmt: skip
    """Draw the lines of an engine from where it is alone to about the ratio that is looked for.

    Parameters
    ----------
    rows, engine, sharing : all engines, which one, and the way to share
    sought : the ratio
    usual : the first wait that is tried
    state : room for one state
    line : written here
    """
    alone = _seen(rows, engine, 0.0, sharing, state)
    if alone.ratio == np.inf:
        line[:] = 0.0
        line[AT_REST] = np.inf
        return
    slope, more, wait = 0.0, 0.0, usual
    for _ in range(ATTEMPTS):
        seen = _seen(rows, engine, wait, sharing, state)
        if seen.ratio > FAR * max(sought, alone.ratio):
            wait *= SHORTER
            continue
        risen = seen.ratio - alone.ratio
        slope, more = risen / wait, (seen.push - alone.push) / wait
        if seen.ratio >= NEAR * sought:
            break
        wait *= min((sought - alone.ratio) / risen, LONGER) if risen > 0.0 else LONGER
    line[PUSH] = alone.push / (1.0 + more)
    line[PUSHED_BACK] = more / (1.0 + more)
    line[AT_REST] = alone.ratio - slope * line[PUSH]
    line[GROWTH] = slope * (1.0 - line[PUSHED_BACK])


@entry_kernel
def draw_lines(table: EngineTable, sought: float, lines: Floats) -> None:
    """Draw the lines of all engines.

    Parameters
    ----------
    table : the engines
    sought : the ratio that is looked for
    lines : written here
    """
    state = np.zeros((1, STATE_COLUMNS))
    usual = table.push.max()
    for window in range(table.rows.shape[0]):
        for kind in range(table.rows.shape[1]):
            rows = table.rows[window, kind]
            for engine in range(table.rows.shape[2] if usual > 0.0 else 0):
                line = lines[window, kind, engine]
                _draw_line(rows, engine, table.sharing, sought, usual, state, line)


@leaf_kernel
def guessed(now: SearchState, lines: Floats, gpu: int, gone: int, come: int) -> float:
    """Return a guess at what a GPU costs once an item is gone and another has come.

    Parameters
    ----------
    now, lines : the state of the search, and the lines of its engines
    gpu, gone, come : the GPU, and the items that leave and come; either may be `NOWHERE`
    """
    if now.table.by_pressure:
        return pressure_after(now.instance, now.layout, gpu, gone, come)
    worst, kind = 0.0, now.instance.kind[gpu]
    for window in range(lines.shape[0]):
        by_engine = lines[window, kind]
        pushed, back = _pushes(now.table, by_engine, come) if come != NOWHERE else (0.0, 0.0)
        item = now.layout.first[gpu]
        while item != NOWHERE:
            if item != gone:
                push, more = _pushes(now.table, by_engine, item)
                pushed += push
                back += more
            item = now.layout.after[item]
        if back >= 1.0:
            return float(np.inf)
        total = pushed / (1.0 - back)
        if come != NOWHERE:
            worst = max(worst, _highest(now.table, by_engine, come, total))
        item = now.layout.first[gpu]
        while item != NOWHERE:
            if item != gone:
                worst = max(worst, _highest(now.table, by_engine, item, total))
            item = now.layout.after[item]
    return worst


@leaf_kernel
def _pushes(table: EngineTable, by_engine: Floats, item: int) -> tuple[float, float]:
    """Return how much the engines of an item push, and how much more when pushed back.

    Parameters
    ----------
    table, by_engine : the engines, and their lines in a window
    item : the item
    """
    pushed = back = 0.0
    for place in range(table.first[item], table.first[item + 1]):
        pushed += by_engine[table.engine[place], PUSH]
        back += by_engine[table.engine[place], PUSHED_BACK]
    return pushed, back


@leaf_kernel
def _highest(table: EngineTable, by_engine: Floats, item: int, total: float) -> float:
    """Return the highest ratio of an item's engines by their lines.

    Parameters
    ----------
    table, by_engine, item : as `_pushes` takes them
    total : how long a turn waits for all engines on the GPU
    """
    highest = 0.0
    for place in range(table.first[item], table.first[item + 1]):
        engine = table.engine[place]
        highest = max(highest, by_engine[engine, AT_REST] + by_engine[engine, GROWTH] * total)
    return highest
