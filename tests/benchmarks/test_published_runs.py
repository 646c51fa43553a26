"""Published runs of lone engines: the data is sound, and the simulator comes near them."""

from statistics import median

import pytest
from benchmarks.published_runs import FIGURES, compared, engine_of, over_engines, read, speed_of

NUMBERS = ("rate", "requests", "shards", "prompt_tokens", "output_tokens", "token_budget", *FIGURES)
MOST_ESTIMATED, MOST_CALIBRATED = 0.15, 0.08
"""Median errors of TPOT over all runs: by the catalogue alone, and with one run to calibrate on."""


def test_every_run_is_well_formed():
    rows = read()
    assert len(rows) >= 10
    assert len({row["source"] for row in rows}) >= 4
    for row in rows:
        assert all(float(row[field]) > 0.0 for field in NUMBERS), row
        assert row["arrivals"] in ("poisson", "even", "one")
        assert row["lengths"] in ("fixed", "varied")
        assert row["prefill"] in ("first", "chunked")
        assert row["statistic"] in ("mean", "median")
        assert row["address"]
        assert speed_of(row).step > 0.0


def test_runs_of_an_engine_stand_side_by_side_with_the_least_load_first():
    seen = []
    for row in read():
        if not seen or seen[-1][0] != engine_of(row):
            assert engine_of(row) not in [engine for engine, _ in seen]
            seen.append((engine_of(row), float(row["rate"])))
        assert float(row["rate"]) >= seen[-1][1]


def test_two_runs_are_compared():
    rows = [row for row in read() if row["source"] == "tensorrt-llm-4275"][:2]
    first, second = compared(rows, seeds=1)
    assert first.calibrated is None
    assert abs(first.error("tpot_ms")) < 0.05
    assert abs(second.error("tpot_ms", calibrated=True)) < 0.05
    assert first.error("ttft_ms", calibrated=True) is None


@pytest.fixture(scope="module")
def found():
    return list(compared(read(), seeds=2))


@pytest.mark.parametrize(("calibrated", "most"), [(False, MOST_ESTIMATED), (True, MOST_CALIBRATED)])
def test_tpot_is_near_the_published_one(found, calibrated, most):
    errors = [e for each in found if (e := each.error("tpot_ms", calibrated)) is not None]
    assert median(map(abs, errors)) < most
    assert median(over_engines(found, "tpot_ms", calibrated)) < most
