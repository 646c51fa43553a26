"""A race between numbers of replicas: what a short try finds says little about them.

Every contender has numbers of its own, and improves its placement by regrouping. After each round
the worse half drops out, and the others take twice as many steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.portfolio.regrouping import Regrouping
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.volume import prove_by_volume

STEPS = 16
"""Steps of regrouping in a round of a race, for all contenders together."""


class Contender:
    """A placement with fixed numbers of replicas, and the search that improves it.

    Parameters
    ----------
    problem
        The problem with these numbers of replicas.
    places
        A placement to begin with.
    budget
        When the search ends.
    """

    def __init__(
        self, problem: Problem, places: Mapping[str, Sequence[str]], budget: SolveBudget
    ) -> None:
        reduction = reduction_of(problem)
        self._progress = ItemProgress(reduction, budget.attempt(budget.deadline.left))
        self._progress.offer(reduction.indices(places), "start")
        self._progress.prove(prove_by_volume(reduction.instance))
        self._search = Regrouping(reduction, self._progress.deadline, budget.seed)

    @property
    def value(self) -> float:
        """The peak pressure of its placement."""
        return self._progress.value

    @property
    def placement(self) -> Placement:
        """Its placement."""
        return self._progress.reduction.placement(self._progress.best[0])

    def advance(self, steps: int, over: Callable[[], bool]) -> None:
        """Search for some steps, or until time is up."""
        for _ in range(steps):
            if over() or self._progress.finished or self._search.exhausted:
                return
            self._search.step(self._progress)


def race(
    contenders: Iterable[Contender], over: Callable[[], bool], found: Callable[[Contender], object]
) -> Contender | None:
    """Let contenders improve in rounds, and return the best.

    Parameters
    ----------
    contenders
        Who takes part.
    over
        Whether it is time to stop.
    found
        Called with a contender after each of its turns.
    """
    left = list(contenders)
    while left and not over():
        for contender in left:
            contender.advance(max(STEPS // len(left), 1), over)
            found(contender)
        left.sort(key=lambda contender: contender.value)
        if len(left) == 1:
            break
        del left[(len(left) + 1) // 2 :]
    return left[0] if left else None
