import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import colocate
from colocate.problem.kernel import SOURCES
from colocate.problem.layout import pressure_after

PRESSURE_OF_ONE_MODEL = """
import numpy as np
from colocate import Gpu, Model, Problem
from colocate.problem.layout import NOWHERE, empty_layout, pressure_after
instance = Problem([Gpu("g", 80)], [Model("m", 20, 3, 6)]).instance
print(pressure_after(instance, empty_layout(instance), 0, NOWHERE, 0))
"""


def run(path, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PRESSURE_OF_ONE_MODEL],
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def test_what_is_kept_carries_the_digest_of_all_sources():
    assert pressure_after._cache._cache_file._source_stamp == SOURCES


def test_a_change_in_what_a_kernel_calls_is_noticed(tmp_path):
    package = tmp_path / "colocate"
    shutil.copytree(Path(colocate.__file__).parent, package)
    assert run(tmp_path) == 0.5 / 60
    formula = package / "problem" / "pressure.py"
    text = formula.read_text()
    assert "return load / free" in text
    formula.write_text(text.replace("return load / free", "return 2.0 * load / free"))
    assert run(tmp_path) == 1.0 / 60


def test_what_another_version_kept_is_compiled_anew(tmp_path):
    package = tmp_path / "colocate"
    shutil.copytree(Path(colocate.__file__).parent, package)
    assert run(tmp_path) == 0.5 / 60
    kept = list((package / "problem" / "__pycache__").glob("layout.pressure_after*.nbi"))
    assert kept
    for index in kept:
        with index.open("rb") as file:
            version = pickle.load(file)
        unknown_class = b"ccolocate.problem.layout\nGone\n."
        index.write_bytes(pickle.dumps(version) + unknown_class)
    assert run(tmp_path) == 0.5 / 60


def test_a_place_that_cannot_be_written_to_is_no_fault(tmp_path):
    code = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n" + PRESSURE_OF_ONE_MODEL
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == 0.5 / 60
