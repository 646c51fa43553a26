"""Where items may be, and with whom, as arrays that kernels see.

What is seldom is kept sparse: items that may be on the same GPUs share a row of `open`, and items
that must be on different GPUs share a colour.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rules(NamedTuple):
    """The constraints of a problem with n items on g GPUs."""

    pin: Ints
    """pin[n]: which row of `open` an item has; 0 is that of items that may be anywhere."""
    open: Bools
    """open[p, g]: whether items with a pin may be on a GPU."""
    first_colour: Ints
    """first_colour[n + 1]: where the colours of an item begin, and those of the one before end."""
    colour: Ints
    """colour[c]: the colours of all items; no two items of a GPU share one."""
    node: Ints
    """node[g]: the node of a GPU."""
    squad: Ints
    """squad[n]: the squad of an item, whose items are on one node; -1 if it is in none."""
    home: Ints
    """home[n]: the node that an item is confined to, -1 if to none."""
    alike: Ints
    """alike[g]: a number that GPUs share which nothing tells apart."""
    by_node: Ints
    """by_node[g]: all GPUs, node by node."""
    first_of_node: Ints
    """first_of_node[v + 1]: where the GPUs of a node begin in `by_node`, and those before end."""


def free_rules(items: int, alike: Ints) -> Rules:
    """Return the rules of items that may be anywhere, with any other."""
    nowhere = np.full(items, -1)
    gpus = len(alike)
    return Rules(
        pin=np.zeros(items, np.int64),
        open=np.ones((1, gpus), np.bool_),
        first_colour=np.zeros(items + 1, np.int64),
        colour=np.zeros(0, np.int64),
        node=np.zeros(gpus, np.int64),
        squad=nowhere,
        home=nowhere,
        alike=alike,
        by_node=np.arange(gpus),
        first_of_node=np.array([0, gpus]),
    )


def numbered(keys: Iterable[Hashable]) -> Ints:
    """Return a number for every key, the same one for equal keys, in the order of appearance."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
