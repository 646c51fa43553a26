"""Files beside judged programs that have the names of modules: no process runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

from colocate.arena.tasks import fresh_optima, placement
from colocate.arena.tasks.scorer import Scorer

NAMES = ("heapq", "json", "struct", "random", "signal", "bisect", "colocate", "socket")
"""Modules that processes of ours import, and that those before them have not."""
SCORER = """
import bisect
import heapq
import neighbour

def cases(seed):
    return [{"arguments": [neighbour.WORD, heapq.nlargest(1, [1, 2])]}]

def score(arguments, answer):
    return 1.0
"""

SCORES = """
import os
from colocate.arena.strategies.strategy_score import score_strategies
from colocate.arena.suites import load_suite

if __name__ == "__main__":
    names = ["initial_program", "bisect_kvpr_packing", "projected_kvpr_load_sort"]
    print(len(score_strategies(load_suite("idle"), names, workers=2)),
          os.environ.get("PYTHONSAFEPATH"))
"""


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """The folder where this runs, full of such files; each leaves a mark when it is run."""
    for name in NAMES:
        mark = tmp_path / f"{name}-ran"
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(fresh_optima.__file__).parents[3]))
    yield tmp_path
    assert list(tmp_path.glob("*-ran")) == []


def test_fresh_cases_are_solved_without_the_files_of_this_folder(marked):
    found = placement._fresh_optima("idle", 3)
    assert len(found) == 25
    assert all(0 < bound <= value for value, bound in found.values())


def test_a_scorer_has_the_files_beside_it_only_where_no_module_has_the_name(marked):
    (marked / "neighbour.py").write_text("WORD = 'beside'")
    (marked / "scorer.py").write_text(SCORER)
    assert Scorer(marked / "scorer.py", 5).cases(0) == [{"arguments": ["beside", [2]]}]


def test_strategies_are_scored_without_the_files_of_this_folder(marked):
    (marked / "elsewhere").mkdir()
    (marked / "elsewhere" / "scores.py").write_text(SCORES)
    command = [sys.executable, marked / "elsewhere" / "scores.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout, done.stderr) == ("3 None\n", "")
