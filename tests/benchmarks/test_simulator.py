"""The simulator against stored measurements: engines that shared an H200, and served requests."""

from pathlib import Path
from statistics import median

import pytest
from benchmarks.gpu import plan
from benchmarks.gpu.plan import load_plan
from benchmarks.latency_law import SETS, fleet_of_group, read
from benchmarks.simulator import FIGURES, MINUTES, side_by_side_errors, simulated, with_pools
from benchmarks.written_before import errors_before

from colocate.simulate.kernel import state as columns
from colocate.simulate.layout import first_state
from colocate.simulate.options import SimulateOptions

PLANS = Path(plan.__file__).parent / "plans"
SEEDS = 12
MOST = {"alone": 0.05, "slices": 0.08, "mps": 0.08}
"""Median errors of the mean TPOT that the simulator has to stay below."""
MOST_OF_OTHERS = 0.30
"""The same of all other figures: readings are short, so one request decides on a p99."""
MOST_REPLAYED = {"tpot_ms": 0.06, "tpot_p99_ms": 0.08, "ttft_ms": 0.13, "ttft_p99_ms": 0.16}
"""And where the very same requests are replayed."""


@pytest.fixture(scope="module")
def found():
    return [each for names in SETS for each in simulated(*names, seeds=SEEDS)]


@pytest.mark.parametrize("sharing", ["alone", "slices", "mps"])
@pytest.mark.parametrize("figure", FIGURES)
def test_latencies_below_saturation_are_near_the_measured_ones(found, sharing, figure):
    below = [
        each
        for each in found
        if each.row["sharing"] == sharing and not each.law.prediction.shared.saturated
    ]
    most = MOST[sharing] if figure == "tpot_ms" else MOST_OF_OTHERS
    assert median(abs(each.error(figure)) for each in below) < most
    again = [abs(each.error(figure, True)) for each in below if each.replayed]
    assert sharing == "alone" or median(again) < MOST_REPLAYED[figure]


def test_they_are_on_the_right_side_of_the_cliff(found):
    assert all(each.right_side for each in found)


def test_over_a_minute_chance_decides_on_no_p99():
    found = list(simulated(*MINUTES, seeds=SEEDS))
    assert len(found) == 15
    assert all(each.right_side for each in found)
    for figure, most in {"tpot_ms": 0.03, "tpot_p99_ms": 0.15, "ttft_p99_ms": 0.2}.items():
        assert median(abs(each.error(figure)) for each in found) < most


def test_lone_engines_did_for_a_minute_what_was_written_down_before():
    found = [errors for _, errors in errors_before("2026-11-18_minutes")]
    assert median(abs(errors["tpot_ms"]) for errors in found) < 0.02
    assert median(abs(errors["tpot_p99_ms"]) for errors in found) < 0.07
    assert median(abs(errors["ttft_ms"]) for errors in found) < 0.10


def test_turns_explain_work_side_by_side():
    errors = side_by_side_errors()
    assert median(map(abs, errors["slices"])) < 0.02
    assert median(map(abs, errors["mps"])) < 0.04


def test_engines_with_few_slots_did_what_was_written_down_before():
    found = list(errors_before("2026-11-16_cliffs"))
    assert len(found) == 18
    for row, errors in found:
        assert abs(errors["tpot_ms"]) < 0.05, row
        assert abs(errors["ttft_ms"]) < 0.25, row
    assert median(abs(errors["ttft_ms"]) for _, errors in found) < 0.05
    assert median(abs(errors["ttft_p99_ms"]) for _, errors in found) < 0.10


def test_engines_have_the_blocks_that_a_plan_gives_them():
    group = [
        {"model": "llama-3.1-8b", "rate": 4, "blocks": 300},
        {"model": "llama-3.2-1b", "rate": 14, "blocks": 250},
    ]
    problem = with_pools(fleet_of_group(group, "mps", None).problem, group)
    placement = {model.name: ["h200"] for model in problem.models}
    state = first_state(problem, placement, SimulateOptions(), 0)
    found = state.pools[:, columns.CAPACITY] // state.engines[:, columns.BLOCK_BYTES]
    assert found.tolist() == [300, 250]
    assert problem.sharing == "mps"


@pytest.mark.parametrize("name", ["pools", "second_pools"])
def test_full_caches_are_written_down_for_every_engine_of_the_plan(name):
    readings = load_plan(PLANS / f"{name}.json").readings
    serving = [each for each in readings if each.members[0].rate]
    expected = [
        ("alone" if len(reading.members) == 1 else mode, reading.name, str(number), member.model)
        for mode in ("slices", "mps")
        for reading in serving
        if mode in reading.modes
        for number, member in enumerate(reading.members)
    ]
    rows = read(f"2026-11-18_{name}_predictions.csv")
    assert [tuple(list(row.values())[:4]) for row in rows] == expected
    assert sum(int(row["preemptions"]) for row in rows) > 500


def test_engines_with_full_caches_did_what_was_written_down_before():
    found = list(errors_before("2026-11-18_second_pools"))
    assert len(found) == 30
    most = {"tpot_ms": 0.05, "tpot_p99_ms": 0.10, "ttft_ms": 0.10, "ttft_p99_ms": 0.10}
    for name, limit in most.items():
        assert median(abs(errors[name]) for _, errors in found) < limit
    measured = sum(int(row["preemptions"]) for row, _ in found)
    before = sum(int(row["preemptions"]) for row in read("2026-11-18_second_pools_predictions.csv"))
    assert before == pytest.approx(measured, rel=0.05)


def test_engines_with_long_prompts_did_what_was_written_down_before():
    found = list(errors_before("2026-11-16_long"))
    assert len(found) == 34
    for name, most in (("tpot_ms", 0.03), ("ttft_ms", 0.05), ("tpot_p99_ms", 0.1)):
        assert median(abs(errors[name]) for _, errors in found) < most
    assert max(abs(errors["tpot_ms"]) for _, errors in found) < 0.15
