import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic
from zlib import crc32

import pytest

import colocate
from colocate.machine_code import store
from colocate.machine_code.environment import PACKAGE, ROOMS_WITH_KERNELS

PRESSURE_OF_ONE_MODEL = """
import sys
import numpy as np
from colocate import Gpu, Model, Problem
from colocate.problem.layout import arrange, empty_layout
instance = Problem([Gpu("g", 80)], [Model("m", 20, 3, 6)]).instance
layout = empty_layout(instance)
arrange(instance, layout, np.zeros(1, np.int64))
print(layout.pressure[0])
"""
NO_COMPILER = """
from colocate.machine_code import batches
batches.compile_requests = None
"""
WITHOUT_PROCESSES = "import sys; sys.executable = '/nowhere/python'"


def run(cache, code="", path=None, **environment):
    places = {"NUMBA_CACHE_DIR": str(cache)} | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(
        [sys.executable, "-c", code + PRESSURE_OF_ONE_MODEL + "print('numba' in sys.modules)"],
        env={**os.environ, **places, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    pressure, compiler = done.stdout.split()
    return float(pressure), compiler == "True"


def files(cache):
    return sorted(cache.rglob("*.kernels"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the code of one kernel."""
    cache = tmp_path_factory.mktemp("filled")
    assert run(cache) == (0.5 / 60, False)
    assert len(files(cache)) == 1
    return cache


@pytest.fixture
def cache(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "cache")
    return tmp_path / "cache"


def test_a_later_start_needs_no_compiler(cache):
    assert run(cache, NO_COMPILER) == (0.5 / 60, False)


def test_code_loaded_without_numba_runs_beside_numba(cache):
    numba = "import numba; assert numba.njit(lambda x: x + 1)(1) == 2\n"
    assert run(cache, NO_COMPILER + numba) == (0.5 / 60, True)


def test_numba_may_be_imported_after_the_code(cache):
    code = (
        NO_COMPILER + PRESSURE_OF_ONE_MODEL.replace("print", "str") + "import numba; import numpy\n"
        "assert numba.njit(lambda x: numpy.sort(x))(numpy.array([2, 1]))[0] == 1\n"
    )
    assert run(cache, code) == (0.5 / 60, True)


def test_a_change_in_what_a_kernel_calls_is_noticed(tmp_path):
    package = tmp_path / "colocate"
    shutil.copytree(Path(colocate.__file__).parent, package)
    assert run(tmp_path / "cache", path=tmp_path) == (0.5 / 60, False)
    before = files(tmp_path / "cache")
    formula = package / "problem" / "pressure.py"
    text = formula.read_text()
    assert "return load / free" in text
    formula.write_text(text.replace("return load / free", "return 2.0 * load / free"))
    assert run(tmp_path / "cache", path=tmp_path) == (1.0 / 60, False)
    assert len(files(tmp_path / "cache")) == 1
    assert files(tmp_path / "cache") != before


def unknown_class(content):
    pickled = b"ccolocate.problem.layout\nGone\n."
    return crc32(pickled).to_bytes(4, "big") + pickled


def something_else(content):
    pickled = pickle.dumps(["no", "code", "here"])
    return crc32(pickled).to_bytes(4, "big") + pickled


@pytest.mark.parametrize(
    "damaged",
    [lambda content: content[:1000], lambda _: b"", unknown_class, something_else],
    ids=["cut off", "empty", "unknown class", "something else"],
)
def test_what_cannot_be_read_counts_as_not_kept(cache, damaged, monkeypatch):
    from colocate.machine_code import store  # noqa: PLC0415

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    assert len(list(store.kept())) == 1
    (kept,) = files(cache)
    kept.write_bytes(damaged(kept.read_bytes()))
    assert list(store.kept()) == []


def test_what_cannot_be_read_is_compiled_anew(cache):
    (kept,) = files(cache)
    content = kept.read_bytes()
    kept.write_bytes(content[:1000])
    assert run(cache) == (0.5 / 60, False)
    assert len(kept.read_bytes()) > 1000


def test_a_place_that_cannot_be_written_to_is_no_fault():
    assert run("/dev/null/nowhere") == (0.5 / 60, False)


def test_what_cannot_start_a_process_compiles_by_itself(tmp_path):
    assert run(tmp_path, WITHOUT_PROCESSES) == (0.5 / 60, True)
    assert run(tmp_path, NO_COMPILER) == (0.5 / 60, False)


def test_other_settings_of_the_compiler_have_code_of_their_own(cache):
    assert run(cache, NUMBA_BOUNDSCHECK="1") == (0.5 / 60, False)
    assert len(files(cache)) == 2


def test_code_with_checked_indices_names_the_fault(cache):
    beyond = PRESSURE_OF_ONE_MODEL.replace("np.zeros(1, np.int64)", "np.full(1, 5)")
    done = subprocess.run(
        [sys.executable, "-c", beyond],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.endswith("IndexError: index is out of bounds\n")


def test_kernels_run_uncompiled_if_numba_is_switched_off(tmp_path):
    assert run(tmp_path, NUMBA_DISABLE_JIT="1") == (0.5 / 60, False)
    assert files(tmp_path) == []


def test_a_change_in_any_room_with_kernels_is_noticed():
    marked = re.compile(r"^@(entry_kernel|kernel|leaf_kernel|kernel_section|leaf_section)$", re.M)
    folders = [PACKAGE / room for room in ROOMS_WITH_KERNELS]
    outside = [
        path
        for path in PACKAGE.rglob("*.py")
        if marked.search(path.read_text(encoding="utf-8"))
        and not any(path.is_relative_to(folder) for folder in folders)
    ]
    assert outside == []


def test_processes_that_start_together_compile_once(tmp_path):
    told = "from colocate.machine_code import batches; import sys\n"
    told += "batches.about_to_compile = lambda: print('compiles', file=sys.stderr)\n"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", told + PRESSURE_OF_ONE_MODEL],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    ended = [process.communicate(timeout=120) for process in started]
    assert [out.strip() for out, _ in ended] == [str(0.5 / 60)] * 3
    assert sum("compiles" in said for _, said in ended) == 1


def test_a_process_that_compiles_too_long_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "LONGEST_WAIT", 0.2)
    begin = monotonic()
    with store.one_at_a_time(), store.one_at_a_time():
        assert monotonic() - begin >= 0.2


def test_a_folder_that_takes_no_lock_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with store.one_at_a_time():
        assert not list(tmp_path.rglob(store.LOCK))
