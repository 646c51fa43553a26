"""The placement problem given to HiGHS: a feasibility MIP for every lower target.

That gives HiGHS a better chance than a single MIP with the products of pressure and choice
linearised. It has a process of its own, because highspy and OR-Tools cannot be imported into the
same one.
"""

import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

from colocate import Gpu, Model, Problem

PROGRAM = Path(__file__).with_name("highs_program.py")


def minimise(problem: Problem, seconds: float) -> tuple[float, float]:
    """Return the lowest peak pressure that HiGHS finds in time, and its bound."""
    process = _process()
    try:
        pickle.dump((problem, seconds), process.stdin)
        process.stdin.flush()
        found: tuple[float, float] = pickle.load(process.stdout)
    except (EOFError, BrokenPipeError):
        _process.cache_clear()
        raise RuntimeError("the process of HiGHS ended without an answer") from None
    return found


def warm_up() -> None:
    """Start the process, so that no measured time includes it."""
    gpus, models = (Gpu("a", 2), Gpu("b", 2)), (Model("m", 1, load=1), Model("n", 1, load=1))
    minimise(Problem(gpus, models), 1.0)


@cache
def _process() -> subprocess.Popen[bytes]:
    command = [sys.executable, str(PROGRAM)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
