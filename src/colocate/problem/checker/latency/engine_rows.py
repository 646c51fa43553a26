"""The engines of items as arrays: in one time window, and what differs in the further ones."""

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import NDArray

from colocate.problem.checker.items import Kin
from colocate.problem.checker.latency.engines import engine_of, must_keep, rate_in
from colocate.problem.checker.latency.law import COUNTS, ENGINE_NUMBERS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def engine_rows(
    items: Sequence[tuple[Kin, int]],
    kinds: tuple[str, Sequence[str]],
    windows: tuple[int, Sequence[int]],
    binding: bool,
) -> tuple[Floats, Floats, Floats]:
    """Return `engine`, `others` and `counts` of a company.

    Nobody feels the latency of a model in a window in which it is not asked, unless it never is.

    Parameters
    ----------
    items
        Each with the number of its replicas.
    kinds
        The kind of the GPUs, and all kinds that other shards may be on.
    windows
        The time window that the engines are in, and the further ones.
    binding
        Whether only the targets that a placement must keep count.
    """
    (kind, all_kinds), (window, further) = kinds, windows
    engines: list[tuple[float, ...]] = []
    rates: list[list[float]] = []
    counts: list[list[float]] = []
    for kin, replicas in items:
        elsewhere = all_kinds if kin.shards > 1 else ()
        for member in kin.members:
            engine = engine_of(member, replicas, (kind,), elsewhere, window)
            counted = not binding or must_keep(member)
            engines.append((*engine[:COUNTS], engine[COUNTS] * counted))
            rates.append([rate_in(member, other) / replicas for other in further])
            never = rate_in(member, None) == 0.0
            counts.append([float(counted and (never or rate > 0.0)) for rate in rates[-1]])
    shape = (len(engines), len(further))
    return (
        np.array(engines).reshape(-1, ENGINE_NUMBERS),
        np.array(rates).reshape(shape).T.copy(),
        np.array(counts).reshape(shape).T.copy(),
    )


def starts_of(parts: Sequence[Sized]) -> Ints:
    """Return where each of some parts begins if they follow each other, and where the last ends."""
    return np.cumsum([0, *(len(part) for part in parts)])
