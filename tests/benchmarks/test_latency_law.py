"""The law against stored measurements: what an H200 did, and what was written down before."""

import csv
from statistics import median

import pytest
from benchmarks.latency_law import (
    APART,
    DATA,
    SETS,
    company_tpots,
    compared,
    fleet_of_four,
    in_order,
    mean_slowdowns,
    rank_correlations,
    read,
    right_calls,
    side_by_side_errors,
)

MOST_TPOT = {"alone": 0.05, "slices": 0.08, "mps": 0.10}
"""Median errors that the law has to stay below."""
MOST_TTFT = 0.20


@pytest.fixture(scope="module", params=SETS, ids=["first", "second", "third"])
def found(request):
    groups, *lone = request.param
    return compared(read(groups), [row for file in lone for row in read(file)])


@pytest.mark.parametrize("sharing", ["alone", "slices", "mps"])
def test_latencies_below_saturation_are_near_the_measured_ones(found, sharing):
    below = [c for c in found if c.row["sharing"] == sharing and not c.prediction.shared.saturated]
    for error, most in (("tpot_error", MOST_TPOT[sharing]), ("ttft_error", MOST_TTFT)):
        sizes = [abs(getattr(each, error)) for each in below]
        assert not sizes or median(sizes) < most


def test_targets_are_called_rightly(found):
    right, total = right_calls([c for c in found if not c.prediction.shared.saturated])
    assert right >= 0.98 * total


def test_estimated_constants_do_nearly_as_well():
    for groups, *_ in SETS:
        estimated = [c for c in compared(read(groups), None) if not c.prediction.shared.saturated]
        assert median(abs(each.tpot_error) for each in estimated) < 0.12


@pytest.mark.parametrize(
    ("sharing", "least_of_models", "least_of_placements"),
    [("slices", 0.97, 0.86), ("mps", 0.95, 0.93)],
)
def test_placements_rank_as_measured(sharing, least_of_models, least_of_placements):
    found = fleet_of_four()
    of_models, of_placements = rank_correlations(found, sharing)
    assert min(of_models) >= least_of_models
    assert of_placements >= least_of_placements
    right, pairs = in_order(mean_slowdowns(company_tpots(found, sharing)), APART)
    assert right == pairs >= 75


def test_turns_explain_work_side_by_side():
    for errors in side_by_side_errors().values():
        assert median(map(abs, errors)) < 0.04


@pytest.mark.parametrize(
    ("prefix", "engines", "most"),
    [
        ("2026-11-16", 100, {"slices": 0.04, "mps": 0.07}),
        ("2026-11-16_second", 64, {"slices": 0.07, "mps": 0.08}),
    ],
)
def test_what_was_written_down_before_is_still_there(prefix, engines, most):
    """The predictions of the law as it was then, against what came."""
    with (DATA / f"{prefix}_predictions.csv").open(encoding="utf-8", newline="") as file:
        said = {(r["sharing"], r["group"], r["member"]): r for r in csv.DictReader(file)}
    rows = read(f"{prefix}_groups.csv")
    assert len(rows) == len(said) == engines
    errors = {"slices": [], "mps": []}
    for row in rows:
        before = said[row["sharing"], row["group"], row["member"]]
        if row["sharing"] in errors:
            errors[row["sharing"]].append(float(before["tpot_ms"]) / float(row["tpot_ms"]) - 1.0)
    for sharing, misses in errors.items():
        assert median(map(abs, misses)) < most[sharing]
