"""The steps of the search: they begin with a whole placement, whatever came before."""

import numpy as np

from colocate.problem.layout import NOWHERE, take
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.deadline import Deadline
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.steps import LatencySearch
from tests.latency_problems import slowing_fleet


def test_a_step_after_a_fill_that_failed_begins_with_the_best_placement():
    """Kicks of items that were nowhere once went round in circles for ever."""
    progress = LatencyProgress(reduction_of(slowing_fleet(30, 4)), SolveBudget(Deadline(5)))
    search = LatencySearch(progress, Deadline(5), 0)
    search.begin(np.full(30, NOWHERE))
    for item in range(20, 30):
        take(search._open.instance, search._open.layout, item)
    search.step()
    assert (search._gpu_of != NOWHERE).all()
    search.kick()
    assert (search._gpu_of != NOWHERE).all()
