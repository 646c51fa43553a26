"""CP-SAT, run so that it can be stopped.

While it searches, no other Python code would run in its thread, and so no interrupt would arrive.
Therefore it has a thread of its own, and the one that waits for it looks up now and then.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from typing import Any

LOOKING_UP = 0.05
"""Seconds between two looks whether it should stop."""
SHORTEST = 0.01


def never() -> bool:
    """Let a search go on until its time is over."""
    return False


def solve_program(
    program: Any, seconds: float, workers: int, stopped: Callable[[], bool] = never
) -> tuple[Any, Any]:
    """Return the solver after its search and what it says about the program.

    Parameters
    ----------
    program
        A model of `ortools.sat.python.cp_model`.
    seconds, workers
        How long it may take, and with how many threads.
    stopped
        Says whether it should end earlier.
    """
    cp_model = import_module("ortools.sat.python.cp_model")  # slow, and not always needed
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, SHORTEST)
    solver.parameters.num_workers = workers
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, program)
        try:
            while wait([status], LOOKING_UP).not_done:
                if stopped():
                    solver.stop_search()
        finally:
            solver.stop_search()
        return solver, status.result()
