"""Tolerances have one home, and the checker's own agree with those of the solver."""

import ast
from fractions import Fraction
from pathlib import Path

from colocate.problem import tolerance
from colocate.problem.checker import tolerance as of_checker

SOURCES = Path(tolerance.__file__).parents[1]
HOMES = {"problem/tolerance.py", "problem/checker/tolerance.py"}
SMALL = 1e-6
"""Numbers up to this are tolerances, but for those below."""
NO_TOLERANCES = {
    "arena/tasks/start/fleet_copies.py": {1e-9},  # start programs import nothing of ours
    "arena/tasks/start/fleet_latency.py": {1e-7},
    "cli/replan.py": {1e-9},  # GB in a byte
    "solver/improve/descent.py": {1e-7},  # what a block asks of a move
    "solver/improve/iterated.py": {1e-7},
    "solver/improve/neighbourhood.py": {1e-6},
    "solver/strategies.py": {1e-9},
    "solver/progress.py": {2e-9, 0.3e-6},  # seconds
    "solver/prove/solvers/two_solvers.py": {1e-100},  # the range of numbers that are ordinary
}


def names_of(module):
    return [name for name in vars(module) if name.isupper()]


def small_numbers_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        number = node.value if isinstance(node, ast.Constant) else None
        if isinstance(number, float) and 0.0 < number <= SMALL:
            yield number


def test_no_tolerance_stands_outside_its_home():
    for path in SOURCES.rglob("*.py"):
        place = path.relative_to(SOURCES).as_posix()
        if place not in HOMES:
            strays = set(small_numbers_in(path)) - NO_TOLERANCES.get(place, set())
            assert not strays, f"{place}: name these in problem/tolerance.py"


def test_every_tolerance_is_used_and_says_by_whom():
    for home, module in zip(sorted(HOMES, reverse=True), (tolerance, of_checker), strict=True):
        text = (SOURCES / home).read_text(encoding="utf-8")
        imported = set()
        for path in SOURCES.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module == module.__name__:
                    imported |= {name.name for name in node.names}
        assert imported == set(names_of(module))
        assert text.count("\nUsers: ") == len(names_of(module))


def test_the_solver_counts_on_what_the_checker_allows():
    assert of_checker.ROUNDING == tolerance.EXACT_FIT
    assert abs(Fraction(tolerance.FIT) - of_checker.ROUNDING) < Fraction(1, 10**26)
    assert of_checker.SLACK == tolerance.OVER_LIMIT
    assert 1.0 - tolerance.PROVEN == of_checker.STRICTLY_BELOW
    assert of_checker.SAME_LOSS == tolerance.COST_ROUNDING


def test_values_that_figures_and_proofs_rest_on():
    assert (tolerance.FIT, tolerance.TIE, tolerance.PROVEN) == (1e-11, 1e-9, 2e-9)
    assert (tolerance.JUST_BELOW, tolerance.JUST_ABOVE) == (1.0 - 1e-9, 1.0 + 1e-9)
    assert (tolerance.SAFE, float(tolerance.EXACTLY_SAFE)) == (1.0 - 1e-12, 1.0 - 1e-12)
