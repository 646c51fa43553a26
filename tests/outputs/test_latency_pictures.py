"""Latencies on the page and in the picture of a plan."""

import re
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from colocate.advise.latency import predictions_of
from colocate.outputs.page.figure import LOOKS
from colocate.outputs.plan.distinct_names import distinct_names
from colocate.outputs.plan.fleet_bars import cut_in_middle, fleet_bars
from colocate.outputs.plan.latency_bars import LONGEST, SHORTEST, latency_bars
from colocate.outputs.plan.plot import _Drawing, plan_plot
from colocate.outputs.report import report_page
from tests.outputs.made_plans import HOSTILE, asked, fleet_from, latencies, plan_of, small
from tests.outputs.test_plan_plot import texts
from tests.pages import Page


def page_of(fleet, plan):
    return report_page(plan, fleet, None, "colocate plan fleet.yaml")


def hostile():
    fleet = fleet_from(
        [{"name": "g", "kind": "H100-80GB", "memory_gb": 300}],
        [asked(name, 0.01) for name in HOSTILE],
        compute_limit=None,
    )
    return fleet, plan_of(fleet)


def test_bars_are_worst_first_and_end_on_their_track():
    bars = latency_bars(predictions_of(latencies()[1]))
    assert [bar.worst.model for bar in bars.drawn] == ["flood", "coder", "chat", "reader"]
    flood, coder, chat, reader = bars.drawn
    assert [bar.misses for bar in bars.drawn] == [True, True, False, False]
    assert bars.share(flood.ratio) == 1.0
    assert bars.length == pytest.approx(1.05 * coder.ratio)
    assert SHORTEST <= bars.length <= LONGEST
    assert 0 < bars.share(chat.alone) < bars.share(chat.ratio) < bars.share(1.0) < 1
    assert flood.told == "queue grows without end"
    assert re.fullmatch(r"[\d.]+ ms, alone [\d.]+ ms", coder.told)
    assert re.fullmatch(r"[\d.]+ ms, alone [\d.]+ ms", reader.told)


def test_of_many_models_the_worst_are_drawn():
    bars = latency_bars(predictions_of(latencies()[1]), 3)
    assert [bar.worst.model for bar in bars.drawn] == ["flood", "coder", "chat"]
    assert bars.rest == "The 3 closest to their targets are shown, 1 other model is not."


def test_the_page_tells_every_latency_and_the_worst_of_every_gpu():
    page = Page(page_of(*latencies()))
    assert "What users feel" in page.text
    assert "1 of 2 models misses its target" in page.text
    assert "Flood is saturated: with the cache that it gets, its queue grows" in page.text
    assert (
        "Flood is saturated: with the cache that it gets, its queue grows without end" in page.text
    )
    assert "MPS gives up isolation" in page.text
    assert "Targets in brackets are assumed" in page.text
    kinds = [attributes.get("class") for _, attributes in page.elements]
    assert kinds.count("track versus") == kinds.count("target") == 4
    assert kinds.count("gpu latency worst") == 2
    assert "latency / target" in page.text


def test_names_cannot_break_out_of_the_page():
    plain = Page(page_of(*latencies()))
    page = Page(page_of(*hostile()))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}


def test_a_page_without_requests_says_nothing_of_latency():
    page = Page(page_of(*small()))
    assert "atency" not in page.text
    assert "target" not in page.text


def test_the_picture_has_a_bar_a_model_and_its_times():
    fleet, plan = latencies()
    svg = plan_plot(plan, fleet, "svg")
    ElementTree.fromstring(svg)
    found = texts(svg)
    assert {"flood", "coder", "chat", "reader", "queue grows without end"} <= set(found)
    assert any(text.startswith("What users feel") for text in found)
    fleet, plan = small()
    assert not any("feel" in text for text in texts(plan_plot(plan, fleet, "svg")))


@pytest.mark.parametrize("fleet_and_plan", [latencies, hostile])
def test_no_text_overlaps_another_or_leaves_the_picture(fleet_and_plan):
    fleet, plan = fleet_and_plan()
    predictions = predictions_of(plan)
    with matplotlib.rc_context(LOOKS):
        figure = _Drawing(plan, fleet_bars(plan, fleet), predictions).figure()
        renderer = FigureCanvasAgg(figure).get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    page = figure.bbox
    for number, box in enumerate(boxes):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[:number])


def cut(name, room):
    return cut_in_middle(name, int(room))


def test_names_that_are_cut_stay_distinct():
    long = [f"organisation/a-model-{size}b-with-a-long-name-instruct" for size in (7, 70)]
    shown = distinct_names([(long[0], 12), (long[1], 12), ("chat", 12)], cut)
    assert shown == ["…7b-wi…struct", "…70b-w…struct", "chat"]
    one_word = [("x" * 40 + letter * 9 + "y" * 40, 9) for letter in "ab"]
    assert distinct_names(one_word, cut) == ["1: xx…yyyy", "2: xx…yyyy"]
    assert distinct_names(one_word, lambda name, room: name[-1:]) == ["", ""]
    assert distinct_names([(long[0], 9), (long[0], 9)], cut) == ["organ…ruct"] * 2


def test_long_names_in_a_picture_are_distinct():
    models = [
        {"name": f"some-organisation/some-model-{n}b-with-a-rather-long-name-instruct",
         "size_gb": 9, "rate": 1, "slo": 1, "prompt_tokens": 100, "output_tokens": 10,
         "kv_bytes_per_token": 1e5}
        for n in range(1, 7)
    ]  # fmt: skip
    fleet = fleet_from([{"name": "g", "kind": "H100-80GB", "memory_gb": 80}], models)
    found = texts(plan_plot(plan_of(fleet), fleet, "svg"))
    for n in range(1, 7):
        assert any(text.startswith(f"…{n}b-") for text in found)
