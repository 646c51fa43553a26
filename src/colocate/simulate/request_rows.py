"""Rows for requests: as many as there are at once, however long a simulation is."""

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.state import NOBODY, SimulationState

FIRST_ROWS = 1024
"""Rows of requests to begin with; their number doubles when they run out."""


def with_more_rows(state: SimulationState) -> SimulationState:
    """Return the state with twice as many rows for requests."""
    rows = len(state.requests)
    requests, times = unused_rows(rows)
    requests[:, columns.NEXT_REQUEST] += rows
    requests[-1, columns.NEXT_REQUEST] = state.settings[columns.FREE_REQUEST]
    state.settings[columns.FREE_REQUEST] = rows
    return state._replace(
        requests=np.concatenate([state.requests, requests]),
        times=np.concatenate([state.times, times]),
    )


def unused_rows(count: int) -> tuple[Ints, Floats]:
    """Return unused rows of requests, each with the next unused one."""
    requests = np.zeros((count, columns.REQUEST_INTS), np.int64)
    requests[:, columns.NEXT_REQUEST] = np.arange(1, count + 1)
    requests[-1, columns.NEXT_REQUEST] = NOBODY
    return requests, np.zeros((count, 2))
