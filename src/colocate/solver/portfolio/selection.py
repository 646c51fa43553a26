"""Selects the activities for a problem, and lets them share the time."""

from functools import partial

from colocate.problem.reduction import Reduction
from colocate.solver.budget import SolveBudget
from colocate.solver.portfolio.activity import Activity
from colocate.solver.portfolio.asking_solvers import AskingSolvers
from colocate.solver.portfolio.exhaustion import Exhaustion
from colocate.solver.portfolio.regrouping import Regrouping
from colocate.solver.portfolio.start import FEW
from colocate.solver.portfolio.swap_search import SwapSearch
from colocate.solver.portfolio.tightening import Tightening
from colocate.solver.portfolio.time_sharing import share_time
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.bound_search import BoundSearch
from colocate.solver.prove.solvers.two_solvers import small_enough


def close_gap(progress: ItemProgress, budget: SolveBudget) -> None:
    """Move the value down and the bound up until the search is finished.

    Parameters
    ----------
    progress
        The state of the search, which already has a placement.
    budget
        The seed of random choices, and the number of workers.
    """
    first = _first(progress, budget)
    share_time(first, partial(_others, progress, budget), progress, budget.workers)


def _first(progress: ItemProgress, budget: SolveBudget) -> Activity:
    """Return the only activity that small problems need, or the best one for large problems."""
    reduction, deadline = progress.reduction, progress.deadline
    if _searchable(reduction):
        return Exhaustion(reduction, deadline)
    if reduction.whole.windows > 1:
        return SwapSearch(reduction, deadline, budget.seed)
    return Tightening(reduction, deadline, budget.seed)


def _others(progress: ItemProgress, budget: SolveBudget) -> list[Activity]:
    """Return the other activities."""
    reduction, deadline = progress.reduction, progress.deadline
    searches: list[Activity] = [
        Regrouping(reduction, deadline, budget.seed + 1 + number)
        for number in range(max(budget.workers - 1, 1))
    ]
    if reduction.whole.windows > 1 and not _searchable(reduction):
        searches.append(Tightening(reduction, deadline, budget.seed))
    bounds_see_all = (
        reduction.whole.plain and reduction.whole.windows == 1 and not reduction.resources
    )
    if _searchable(reduction) and not bounds_see_all and small_enough(reduction.whole):
        return [*searches, BoundSearch(reduction.instance), AskingSolvers(reduction)]
    return [*searches, BoundSearch(reduction.instance)]


def _searchable(reduction: Reduction) -> bool:
    """Whether the whole problem is small enough for an exhaustive search."""
    return len(reduction.items) <= FEW or len(reduction.whole.gpus) == 1
