"""The evidence against CP-SAT runs, and small coefficients are never wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from colocate.solver.prove.solvers.cpsat import LARGEST, configured_solver

SCRIPT = Path(__file__).parents[1] / "evidence" / "cpsat_false_infeasible.py"


@pytest.mark.long
def test_small_coefficients_are_never_wrong_nor_is_a_search_without_symmetry():
    command = [sys.executable, str(SCRIPT), "20", "28", "50", "--values", "20"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = {
        row[1].strip(): [int(count) for count in row[2].split()]
        for row in re.finditer(r"^(\S.*?)\s{2,}((?:\d+ *)+)$", shown, re.MULTILINE)
    }
    assert len(counts) == 8
    assert all(small == medium == 0 for small, medium, _ in counts.values())
    assert counts["symmetry_level=0"] == [0, 0, 0]
    assert "a tenth of it denied: False" in shown
    if not counts["default"][2]:
        version = shown.splitlines()[0]
        pytest.skip(f"large coefficients are right as well now: {version}")


def test_cp_sat_is_set_up_the_safe_way():
    parameters = configured_solver(1.0, 2).parameters
    assert parameters.symmetry_level == 0
    assert LARGEST <= 2**28
