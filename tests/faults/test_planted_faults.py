"""Faults planted in the kernel: the slow simulator has to find every one of them.

Every fault is one changed line in a copy of the package. The copy runs without the compiler, on
cases that send requests back in all ways.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import colocate
from tests.simulate.test_second_simulator import TELLING

ROOT = Path(__file__).parents[2]
LONGEST = 300
"""Seconds: a fault may also keep the simulation from ending."""
CASES = [seed for seeds in TELLING.values() for seed in seeds]
FAULTS = [
    ("cache", "(tokens + size - 1) // size", "tokens // size + 1"),
    ("cache", "if asked > state.pools", "if asked >= state.pools"),
    ("cache", "blocks_of(state, prompt + max(output - 1, 0))", "blocks_of(state, prompt)"),
    ("engine", "return (batch + 7) // 8 * 8", "return batch"),
    ("engine", "work *= tokens / mean", "work *= 1.0"),
    ("engine", "whole = work + host", "whole = work"),
    ("engine", "used >= engines[engine, SLOTS]", "used > engines[engine, SLOTS]"),
    ("engine", "    state.requests[request, READ] = 0\n", ""),
    ("engine", "max(state.settings[BUDGET] - batch, 1)", "max(state.settings[BUDGET], 1)"),
    ("engine", "length = max(length, whole)", "length = length + whole"),
    ("engine", "need = max(need, work)", "need = need + work"),
    ("engine", "BLOCK]] > 0:\n        return False", "BLOCK]] > 99:\n        return False"),
    ("slots", "tokens - requests[request, PROMPT] + 1", "tokens - requests[request, PROMPT]"),
    ("slots", "OUTPUT] - requests[request, MADE] - 1", "OUTPUT] - requests[request, MADE]"),
    ("slots", "if state.times[request, FIRST_TOKEN] < 0.0:", "if True:"),
    (
        "slots",
        "ENDS_AT] <= state.engines[engine, STEPS]",
        "ENDS_AT] < state.engines[engine, STEPS]",
    ),
    ("slots", "        engines[engine, CURRENT] = NOBODY\n        take", "        take"),
    ("side_by_side", "longest = max(longest, wait)", "longest = wait"),
    ("side_by_side", "speeds[engine, PACE] * spent", "speeds[engine, PACE] * 0.0"),
    ("side_by_side", "if other != engine and", "if"),
    ("side_by_side", "length / (length + count * longest)", "length / (length + longest)"),
    ("side_by_side", "seen_turn(speeds[other, TURN], own, state.sharing)", "speeds[other, TURN]"),
    ("events", "            if state.engines[other, WORK] == IDLE and", "            if False and"),
    ("turns", "QUANTUM * max(ceil((now - began) / QUANTUM), 1)", "QUANTUM"),
    ("turns", "if end < state.moments[gpu, NEXT]:", "if True:"),
    ("turns", "moments[gpu, TURN_ENDED] + CHANGE_SECONDS", "moments[gpu, TURN_ENDED]"),
    ("turns", "if part != gpus[gpu, LAST_PART]:", "if True:"),
    ("turns", "contended = gpus[gpu, READY] > 0", "contended = gpus[gpu, READY] > 1"),
    ("turns", "now = max(now, state.progress[part, BEGUN] + gap)", "now = now + gap"),
    ("turns", "if state.progress[part, DONE] == 0.0:", "if False:"),
    ("turns", "1.0 / PREFILL_AHEAD if _others_read(state, gpu) else 1.0", "1.0"),
    ("turns", "WORK] != STEP:", "WORK] == STEP:"),
    ("turns", "work = min(left, _launched(state, engine, part, now))", "work = left"),
    ("turns", "need * PREFILL_HEAD / length", "need / length"),
    ("turns", "need * PREFILL_AHEAD * (now", "need * (now"),
    ("turns", "now - state.progress[part, BEGUN]", "now - state.progress[engine, BEGUN]"),
    ("turns", "launched - state.progress[part, DONE]", "launched"),
    ("turns", "pace = left / host if host > left else 1.0", "pace = 1.0"),
    ("turns", "work = min(work, QUANTUM * pace)", "work = min(work, QUANTUM)"),
    ("turns", "PENDING] == 0 else NOBODY", "PENDING] >= 0 else NOBODY"),
    ("engine", "min(HOST_GAP, length)", "HOST_GAP"),
    ("engine", "whole * LEAST_WORK), whole / PREFILL_AHEAD)", "whole * LEAST_WORK), whole)"),
    (
        "engine",
        "host_gap(state, length + more) if chunk == 0",
        "host_gap(state, length + more) if 1",
    ),
    ("router", "state.models[model, ROUND] += 1", "state.models[model, ROUND] += 2"),
    ("router", "_asked(state, other) < _asked", "_asked(state, other) <= _asked"),
    ("router", "_drawn(state, model) % (count - 1)", "_drawn(state, model) % count"),
    ("accounts", "tpot = (now - first) / (output - 1)", "tpot = (now - first) / output"),
]


def run(package):
    """Compare the simulators with a package that stands in a folder; return whether they agree."""
    told = f"import tests.simulate.test_second_simulator as t; [t.compare(s) for s in {CASES}]"
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", told],
        env=environment,
        cwd=package,
        timeout=LONGEST,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(colocate.__file__).parent, folder / "colocate", ignore=ignored)
    return folder


def test_the_copy_agrees_without_a_fault(package):
    assert run(package)


@pytest.mark.parametrize(("module", "sound", "faulty"), FAULTS)
def test_a_planted_fault_is_found(package, module, sound, faulty):
    path = package / "colocate" / "simulate" / "kernel" / f"{module}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(sound) == 1
    path.write_text(text.replace(sound, faulty), encoding="utf-8")
    try:
        assert not run(package)
    except subprocess.TimeoutExpired:
        pass  # it did not end, which tells as well
    finally:
        path.write_text(text, encoding="utf-8")
