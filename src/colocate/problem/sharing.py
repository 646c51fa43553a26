"""How processes share a GPU, and what each way costs.

`slices` is the driver's time slicing: one process at a time has the whole GPU, for a slice or until
it has nothing left to do. `mps` lets the kernels of all processes run side by side. Every constant
was measured on bursts of work and on lone engines; none is fitted to engines that share a GPU with
requests coming in.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

Sharing = Literal["alone", "slices", "mps"]
"""The ways to share; `alone` answers what a model would do without neighbours."""
SHARINGS: tuple[Sharing, ...] = get_args(Sharing)

LEAST, OF_KERNELS, PER_SECOND, PART_TURN, SCALE, SWITCH = range(6)
"""Where the constants are in the array that kernels take."""


class SharingCost(NamedTuple):
    """What it costs to share a GPU in one way.

    Work of x seconds in k kernels takes `max(least + of_kernels k, per_second x + part_turn)`
    turns. Each waits for every busy neighbour, for `scale` times the length of its turn and for the
    change of process.
    """

    least: float
    of_kernels: float
    per_second: float
    part_turn: float
    scale: float
    switch: float


QUANTUM = 2.15e-3
"""Seconds that a process keeps an H200 while others want it, from bursts of known length."""
SWITCH_SECONDS = 0.3e-3
"""Seconds from the end of a turn to the next one of another process, from the same bursts."""
OVERLAP = 0.72
"""The share of a neighbour's kernel that delays ours under MPS; 1 if kernels never overlapped."""

COSTS: Mapping[str, SharingCost] = MappingProxyType(
    {
        "alone": SharingCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "slices": SharingCost(1.0, 0.0, 1.0 / QUANTUM, 0.5, 1.0, SWITCH_SECONDS),
        "mps": SharingCost(0.0, OVERLAP, 0.0, 0.0, OVERLAP, 0.0),
    }
)
"""By name. A step ends within a slice: on average it needs half a turn more than its length over
that of a slice."""
