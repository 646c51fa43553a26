"""How processes share a GPU, and what each way costs.

`slices` is the driver's time slicing: one process at a time has the whole GPU, for a slice or until
it has nothing left to do. `mps` lets the kernels of all processes run side by side. Every constant
was measured on engines that run steps, prefills or bursts without a pause, side by side on one
H200. None is fitted to engines that serve requests.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

Sharing = Literal["alone", "slices", "mps"]
"""The ways to share; `alone` answers what a model would do without neighbours."""
SHARINGS: tuple[Sharing, ...] = get_args(Sharing)

LEAST, OF_LAYERS, PER_SECOND, PER_SECOND_OF_PREFILL, PART_TURN, SWITCH, SHORT = range(7)
"""Where the constants are in the array that kernels take."""


class SharingCost(NamedTuple):
    """What it costs to share a GPU in one way.

    Work of x seconds in n layers takes `max(least, of_layers n + per_second x + part_turn)` turns,
    with a rate of its own for the long kernels of prefills. Each of them waits for every busy
    neighbour: for a turn of it, and for the change of process. Where layers take turns, there are
    no more turns than layers, and one that is shorter than `short` of a neighbour's turn slips in
    before that ends: it waits less by the cube root.
    """

    least: float
    of_layers: float
    per_second: float
    per_second_of_prefill: float
    part_turn: float
    switch: float
    short: float


QUANTUM = 2.0e-3
"""Seconds that a process keeps an H200 while others want it. Bursts of 1.8 ms take one turn, of 3.9
ms two, of 5.8 ms three and of 7.8 ms four (`benchmarks/gpu/data`)."""
QUANTUM_OF_PREFILL = 2.3e-3
"""The same for prefills: their long kernels lose less of a slice to changes of process. Prefills of
14, 26 and 52 ms take 6.8, 10.9 and 20.6 turns beside an 8B model that decodes."""
PART_OF_TURN = 0.4
"""Work ends within a slice: on average it takes so many turns more than its length over a slice."""
SWITCH_SECONDS = 0.3e-3
"""Seconds from the end of a turn to the next one of another process, from the same readings."""
CHANGE_SECONDS = 0.205e-3
"""The same where every turn counts, and not a mean of turns. Engines that decode without a pause
lose so much for each turn of theirs and of their neighbours: 3.16 ms for steps of 1.46 ms side by
side, 12.0 for steps of 5.47 ms, 17.7 and 3.56 for steps of 9.76 and 1.28 ms."""
HOST_GAP = 0.08e-3
"""Seconds of a step in which the host reads its tokens and launches the next one, while neighbours
may have the GPU. It decides which steps fit into one slice: those of 2.05 ms do, those of 2.13 ms
take two."""
PREFILL_AHEAD = 1.2
"""While a prefill waits for its turn, its host launches kernels ahead. Beside engines that decode,
the GPU runs them so many times faster than alone: prefills of 26 and 52 ms take 11.7 and 22.6 turns
of 2 ms. Beside another prefill it does not: two of 13.6 ms take 30.0 ms."""
PREFILL_HEAD = 0.6e-3
"""The first turn of a prefill beside others does so much of it: prefills of 3.0 and 13.6 ms take
2.0 and 6.9 turns."""
TURNS_OF_LAYER = 0.55
"""Under MPS kernels run side by side: a layer of a step waits for about half a layer of each
neighbour. With the next constant it gives 74 step and prefill times of engines side by side, five
models from 0.5B to 14B, with a median error of 2.4%."""
TURNS_OF_SECOND = 800.0
"""A longer layer gives way more often, once more in every 1.25 ms, until layers of both take turns
one by one: prefills of 228 and 200 ms in layers of 7.1 and 4.2 ms take 356 and 529 ms side by side,
11 ms for a layer of either."""
SHORT_TURN = 0.2
"""Of a neighbour's turn. Steps of an 8B model with turns of 0.25 ms take 34, 93 and 144 ms beside
prefills whose layers take 1.6, 7.1 and 16 ms, where whole turns would make it 41, 162 and 361. With
the cube root, 98 step and prefill times have a median error of 1.9%, prompts up to 16,384 tokens
among them. The worst is 22%: a 1B that decodes beside an 8B that decodes and one that reads."""

COSTS: Mapping[str, SharingCost] = MappingProxyType(
    {
        "alone": SharingCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "slices": SharingCost(
            1.0, 0.0, 1.0 / QUANTUM, 1.0 / QUANTUM_OF_PREFILL, PART_OF_TURN, SWITCH_SECONDS, 0.0
        ),
        "mps": SharingCost(
            0.0, TURNS_OF_LAYER, TURNS_OF_SECOND, TURNS_OF_SECOND, 0.0, 0.0, SHORT_TURN
        ),
    }
)
"""By name."""
