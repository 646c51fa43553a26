import pytest

from colocate import Gpu, Model, Problem, solve
from colocate.advise.latency import predictions_of
from colocate.solver.plan_rows import LATENCY_FIELDS
from tests.outputs.made_plans import latencies


def plan():
    gpus = (Gpu("g0", 40, kind="big", node="n"), Gpu("g1", 40, kind="big", node="n"))
    models = (
        Model("wide", 20, load=2, shards=2, least_cache_gb=2),
        Model("<b>hot", 5, load=3, least_cache_gb=1, only=["g0"]),
        Model("idle", 5, load=0, least_cache_gb=1, only=["g1"]),
    )
    return solve(Problem(gpus, models))


def test_a_plan_is_a_data_frame_with_a_row_for_every_shard():
    frame = plan().to_dataframe()
    assert list(frame.model) == ["wide", "wide", "<b>hot", "idle"]
    assert list(frame.shard) == [0, 1, 0, 0]
    assert list(frame.gpu) == ["g0", "g1", "g0", "g1"]
    assert list(frame.least_cache_gb) == [1, 1, 1, 1]
    # g0 has 25 GB free: one each, and of the other 23 a quarter and three quarters.
    assert list(frame.cache_gb) == pytest.approx(
        [1 + 23 / 4, 1 + 23 / 4, 1 + 3 * 23 / 4, 25 - 6.75]
    )
    assert list(frame.pressure) == pytest.approx([4 / 25, 1 / 25, 4 / 25, 1 / 25])
    assert set(frame.node) == {"n"}


def test_a_notebook_shows_a_table_that_names_cannot_break():
    text = plan()._repr_html_()
    assert text.startswith("<p>OPTIMAL: peak pressure 0.16,")
    assert text.count("<tr>") == 5
    assert "<b>" not in text
    assert "&lt;b&gt;hot" in text


def test_no_placement_has_no_rows():
    full = solve(Problem((Gpu("g", 10),), (Model("m", 20, load=1),)))
    assert full.to_dataframe().empty
    assert "<table" not in full._repr_html_()
    assert "INFEASIBLE" in full._repr_html_()


def test_rows_have_latencies_where_these_are_known():
    _, known = latencies()
    frame = known.to_dataframe()
    assert list(frame.columns)[-6:] == list(LATENCY_FIELDS)
    found = predictions_of(known)
    assert list(frame["tpot_ms"]) == [1000 * each.shared.tpot.mean for each in found]
    assert list(frame["ratio"]) == [each.shared.ratio for each in found]
    coder = frame[frame["model"] == "coder"].iloc[0]
    assert (coder["tpot_slo_ms"], coder["ttft_slo_ms"]) == (15.0, 1000.0)
    assert frame["ttft_slo_ms"].isna().sum() == 3
    assert "<th>tpot_ms</th>" in known._repr_html_()
    assert "tpot_ms" not in plan().to_dataframe().columns
    assert "tpot_ms" not in plan()._repr_html_()
