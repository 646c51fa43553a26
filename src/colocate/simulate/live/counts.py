"""What has happened to the requests of each model so far."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.accounts import in_work
from colocate.simulate.kernel.state import SimulationState


class RequestCounts(NamedTuple):
    """Requests of each model, in the order of the problem, since the warm-up was over."""

    arrived: Ints
    finished: Ints
    refused: Ints
    attained: Ints
    """Those that kept all targets."""
    waiting: Ints
    """Requests in queues and at the router, now."""
    in_work: Ints
    """Requests that engines work on, now."""


def counts_of(state: SimulationState) -> RequestCounts:
    """Return the counts of a simulation."""
    models, engines = state.models, state.engines
    working = np.array([in_work(state, row) for row in range(len(engines))], np.int64)
    waiting, at_work = (
        np.bincount(engines[:, columns.MODEL], each, len(models)).astype(np.int64)
        for each in (engines[:, columns.WAITING], working)
    )
    return RequestCounts(
        models[:, columns.ARRIVED].copy(),
        models[:, columns.FINISHED].copy(),
        models[:, columns.REFUSED].copy(),
        models[:, columns.ATTAINED].copy(),
        waiting,
        at_work,
    )
