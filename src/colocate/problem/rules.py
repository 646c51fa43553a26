"""Where items may be, and with whom, as arrays for kernels.

Rules are rare, so they are kept sparse: items that may be on the same GPUs share a row of `open`,
and items that must be on different GPUs share a colour. There are few arrays, because every call of
a kernel passes all of them.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PIN, HOME, SHARD_GROUP, COLOURS = 0, 1, 2, 3
"""Columns of `item`: its row of `open`, where row 0 is open everywhere; the node that it is
confined to; its shard group, whose items are on one node; where its colours begin. One more row
than items says where the last colours end. -1 stands for none."""
NODE, ALIKE, BY_NODE, FIRST = 0, 1, 2, 3
"""Columns of `gpu`: the node of a GPU; a number shared by identical GPUs; all GPUs, node by node;
and in the row of a node, where its GPUs begin in that list. One more row than GPUs has the number
of nodes in its first column."""


class Rules(NamedTuple):
    """The constraints of a problem with n items on g GPUs."""

    item: Ints
    """item[n + 1, 4]: see `PIN` and the others."""
    gpu: Ints
    """gpu[g + 1, 4]: see `NODE` and the others."""
    open: Bools
    """open[p, g]: whether items with a pin may be on a GPU."""
    colour: Ints
    """colour[c]: the colours of all items; no two items of a GPU share one."""

    @property
    def pin(self) -> Ints:
        """The row of `open` of every item."""
        return self.item[:-1, PIN]

    @property
    def shard_group(self) -> Ints:
        """The shard group of every item; -1 if it is in none."""
        return self.item[:-1, SHARD_GROUP]

    @property
    def coloured(self) -> Bools:
        """Whether each item has colours."""
        starts = self.item[:, COLOURS]
        return starts[1:] > starts[:-1]

    @property
    def node(self) -> Ints:
        """The node of every GPU."""
        return self.gpu[:-1, NODE]

    @property
    def alike(self) -> Ints:
        """A number that identical GPUs share."""
        return self.gpu[:-1, ALIKE]

    def confined(self, homes: Ints) -> "Rules":
        """Return the rules with items confined to nodes; -1 leaves an item free."""
        item = self.item.copy()
        item[:-1, HOME] = homes
        return self._replace(item=item)


def free_rules(items: int, alike: Ints) -> Rules:
    """Return rules that let every item be anywhere, with any other."""
    item = np.zeros((items + 1, 4), np.int64)
    item[:, (HOME, SHARD_GROUP)] = -1
    node = np.zeros(len(alike), np.int64)
    everywhere = np.ones((1, len(alike)), np.bool_)
    return Rules(item, gpu_rules(node, alike), everywhere, np.zeros(0, np.int64))


def gpu_rules(node: Ints, alike: Ints) -> Ints:
    """Return the part of the rules that is about GPUs."""
    gpus = len(node)
    gpu = np.zeros((gpus + 1, 4), np.int64)
    gpu[:-1, NODE] = node
    gpu[:-1, ALIKE] = alike
    gpu[:-1, BY_NODE] = np.argsort(node, kind="stable")
    counts = np.bincount(node)
    gpu[-1, NODE] = len(counts)
    gpu[1 : len(counts) + 1, FIRST] = counts.cumsum()
    return gpu


def numbered(keys: Iterable[Hashable]) -> Ints:
    """Return a number for every key, the same one for equal keys, in the order of appearance."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
