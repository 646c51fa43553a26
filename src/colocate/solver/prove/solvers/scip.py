"""SCIP, the second solver: branch and bound over linear programs, run so that it can be stopped.

It comes with OR-Tools and shares no code with CP-SAT. (HiGHS would do as well, but the one in
OR-Tools cannot be stopped, and `highspy` cannot be imported beside OR-Tools: both bring a library
of the same name; see google/or-tools, issue 5246.)
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from enum import Enum
from importlib import import_module
from math import inf
from typing import Any

from colocate.problem.tolerance import LP_TOLERANCE
from colocate.solver.deadline import Deadline

PARAMETERS = f"""
numerics/feastol = {LP_TOLERANCE}
limits/gap = 0
"""
LOOKING_UP = 0.05
"""Seconds between two checks for a stop."""
SHORTEST_MS = 10
"""Milliseconds that SCIP gets at least, so that a clock that has just run out is no limit of 0."""
ON_TIME = 0.95
"""The share of the time that SCIP is given: it ends a step before it looks at the clock."""
TRUE = 0.5
"""A variable above this is 1: whole variables come back as floats."""

Term = tuple[int, float]
"""The number of a variable, and its factor."""


class ScipStatus(Enum):
    """The verdict of SCIP on a program."""

    OPTIMAL = 0
    FEASIBLE = 1
    INFEASIBLE = 2
    UNKNOWN = 3


class LinearProgram:
    """Whole variables from 0 up, and rows over them."""

    def __init__(self) -> None:
        linear = import_module("ortools.linear_solver.pywraplp")  # slow, and not always needed
        self._scip: Any = linear.Solver.CreateSolver("SCIP")
        self._variables: list[Any] = []
        if self._scip is None:
            raise ScipMissingError
        self._scip.SetSolverSpecificParametersAsString(PARAMETERS)

    def add_variable(self, most: int = 1) -> int:
        """Return the number of a new variable."""
        self._variables.append(self._scip.IntVar(0.0, float(most), ""))
        return len(self._variables) - 1

    def add_row(self, terms: Iterable[Term], lower: float = -inf, upper: float = inf) -> None:
        """Keep a sum within limits.

        Parameters
        ----------
        terms
            The variables, and what each is multiplied by.
        lower, upper
            The limits.
        """
        row = self._scip.Constraint(lower, upper)
        for number, amount in terms:
            row.SetCoefficient(self._variables[number], amount)

    def minimise(self, terms: Iterable[Term]) -> None:
        """Set the objective; without one, any solution will do."""
        objective = self._scip.Objective()
        for number, amount in terms:
            objective.SetCoefficient(self._variables[number], amount)
        objective.SetMinimization()

    def run(self, deadline: Deadline) -> ScipStatus:
        """Search until time is over or a stop is requested."""
        scip = self._scip
        scip.SetTimeLimit(max(int(1000 * ON_TIME * deadline.left), SHORTEST_MS))
        with ThreadPoolExecutor(1) as pool:
            status = pool.submit(scip.Solve)
            try:
                while wait([status], LOOKING_UP).not_done:
                    if deadline.over:
                        scip.InterruptSolve()
            finally:
                if not status.done():
                    scip.InterruptSolve()
            named = {
                scip.OPTIMAL: ScipStatus.OPTIMAL,
                scip.FEASIBLE: ScipStatus.FEASIBLE,
                scip.INFEASIBLE: ScipStatus.INFEASIBLE,
            }
            return named.get(status.result(), ScipStatus.UNKNOWN)

    @property
    def bound(self) -> float:
        """The proven lower bound on the objective."""
        return float(self._scip.Objective().BestBound())

    def is_true(self, number: int) -> bool:
        """Return whether a variable is 1 in the solution."""
        return bool(self._variables[number].solution_value() > TRUE)


class ScipMissingError(Exception):
    """OR-Tools was built without SCIP."""
