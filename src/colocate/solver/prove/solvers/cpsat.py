"""Set up CP-SAT, and run it so that it can be stopped.

While it searches, no other Python code runs in its thread, so no interrupt would arrive. So it gets
a thread of its own, and the waiting thread checks for a stop now and then.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from typing import Any

from colocate.solver.deadline import Deadline

LARGEST = 2**28
"""The largest coefficient. OR-Tools 9.15 calls feasible programs infeasible from 2^32 on: see
`tests/evidence/cpsat_report.md`."""
LOOKING_UP = 0.05
"""Seconds between two checks for a stop."""
SHORTEST = 0.01
"""Seconds that CP-SAT gets at least, so that a clock that has just run out is no limit of 0."""


def new_program() -> Any:
    """Return an empty model of `ortools.sat.python.cp_model`."""
    return import_module("ortools.sat.python.cp_model").CpModel()  # slow, and not always needed


def configured_solver(seconds: float, workers: int) -> Any:
    """Return a solver with the parameters that all our programs use.

    It does not look for symmetries, because large coefficients went wrong there. Programs order
    exchangeable GPUs themselves.
    """
    solver = import_module("ortools.sat.python.cp_model").CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, SHORTEST)
    solver.parameters.num_workers = workers
    solver.parameters.catch_sigint_signal = False
    solver.parameters.symmetry_level = 0
    return solver


def run_cpsat(program: Any, deadline: Deadline, workers: int) -> tuple[Any, str]:
    """Return the solver after its search, and the name of its verdict on the program.

    Parameters
    ----------
    program
        The model to solve.
    deadline
        When to end.
    workers
        How many threads to use.
    """
    solver = configured_solver(deadline.left, workers)
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, program)
        try:
            while wait([status], LOOKING_UP).not_done:
                if deadline.over:
                    solver.stop_search()
        finally:
            solver.stop_search()
        return solver, str(solver.status_name(status.result()))
