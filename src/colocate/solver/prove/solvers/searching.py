"""Ask one solver until its answer holds in exact arithmetic.

A program relaxes the question: every placement within the target satisfies its rows. So the answer
"none" holds. `verify` judges every placement found. If one is wrong, its crowds are forbidden, and
the solver searches again.
"""

from math import inf
from typing import NamedTuple, Protocol

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.solvers.choices import Options
from colocate.solver.prove.solvers.crowds import Crowd, crowds_in


class Finding(NamedTuple):
    """The answer of one solver."""

    outcome: Outcome
    placement: Places
    cost_bound: float
    """It claims that no placement within the target costs less; infinite if there is no placement.
    """


UNDECIDED = Finding(Outcome.UNDECIDED, {}, 0.0)
NONE = Finding(Outcome.NONE, {}, inf)


class SearchProgram(Protocol):
    """A problem and a target as one solver sees them."""

    def search(self, deadline: Deadline) -> Finding:
        """Search for a placement with the least cost of sleeping."""
        ...

    def forbid(self, crowd: Crowd) -> None:
        """Let parts no longer be all on one GPU."""
        ...


def search_exactly(
    program: SearchProgram,
    problem: Problem,
    choices: Options,
    target: float,
    deadline: Deadline,
) -> Finding:
    """Search until a placement is truly within the target, there is none, or time is over.

    Parameters
    ----------
    program
        The question as one solver sees it; crowds are forbidden in it.
    problem, choices
        What is to be placed, and how many replicas every model may have.
    target
        The highest pressure allowed.
    deadline
        When to end.
    """
    bound = 0.0
    while not deadline.over:
        reply = program.search(deadline)
        bound = max(bound, reply.cost_bound)
        if reply.outcome is not Outcome.FOUND:
            return Finding(reply.outcome, {}, bound)
        verdict = verify(problem, reply.placement)
        if verdict.valid and verdict.pressure <= target:
            return Finding(Outcome.FOUND, reply.placement, bound)
        crowds = crowds_in(problem, choices, reply.placement, target)
        if not crowds:  # it breaks another rule, so this solver does not help
            return UNDECIDED
        for crowd in crowds:
            program.forbid(crowd)
    return Finding(Outcome.UNDECIDED, {}, bound)
