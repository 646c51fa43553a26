"""The law against stored measurements: what an H200 did, and what was written down before."""

import csv
from statistics import median

import pytest
from benchmarks.latency_law import (
    DATA,
    compared,
    rank_correlations,
    read,
    right_calls,
    side_by_side_errors,
)

SETS = [
    ("h200_sharing.csv", "h200_lone_steps.csv"),
    ("2026-11-16_groups.csv", "2026-11-16_lone_steps.csv"),
]
MOST_TPOT = {"alone": 0.05, "slices": 0.08, "mps": 0.10}
"""Median errors that the law has to stay below."""
MOST_TTFT = 0.20


@pytest.fixture(scope="module", params=SETS, ids=["first readings", "predicted readings"])
def found(request):
    groups, lone = request.param
    return compared(read(groups), read(lone))


@pytest.mark.parametrize("sharing", ["alone", "slices", "mps"])
def test_latencies_below_saturation_are_near_the_measured_ones(found, sharing):
    below = [c for c in found if c.row["sharing"] == sharing and not c.prediction.shared.saturated]
    assert median(abs(each.tpot_error) for each in below) < MOST_TPOT[sharing]
    assert median(abs(each.ttft_error) for each in below) < MOST_TTFT


def test_targets_are_called_rightly(found):
    right, total = right_calls([c for c in found if not c.prediction.shared.saturated])
    assert right >= 0.99 * total


def test_estimated_constants_do_nearly_as_well():
    for groups, _ in SETS:
        estimated = [c for c in compared(read(groups), None) if not c.prediction.shared.saturated]
        assert median(abs(each.tpot_error) for each in estimated) < 0.10


@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_placements_rank_as_measured(sharing):
    groups, lone = SETS[1]
    of_models, of_placements = rank_correlations(compared(read(groups), read(lone)), sharing)
    assert min(of_models) >= 0.9
    assert of_placements >= 0.9


def test_turns_explain_work_side_by_side():
    for errors in side_by_side_errors().values():
        assert median(map(abs, errors)) < 0.03


def test_what_was_written_down_before_is_still_there():
    """The predictions of the law as it was then, against what came."""
    with (DATA / "2026-11-16_predictions.csv").open(encoding="utf-8", newline="") as file:
        said = {(r["sharing"], r["group"], r["member"]): r for r in csv.DictReader(file)}
    rows = read("2026-11-16_groups.csv")
    assert len(rows) == len(said) == 100
    errors = {"slices": [], "mps": []}
    for row in rows:
        before = said[row["sharing"], row["group"], row["member"]]
        if row["sharing"] in errors:
            errors[row["sharing"]].append(float(before["tpot_ms"]) / float(row["tpot_ms"]) - 1.0)
    assert median(map(abs, errors["slices"])) < 0.04
    assert median(map(abs, errors["mps"])) < 0.07
