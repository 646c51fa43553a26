from dataclasses import replace
from io import StringIO
from math import inf

import pytest
from rich.console import Console

from colocate.advise.latency import SharingChange, other_sharing, predictions_of
from colocate.outputs.plan.latency_rows import latency_rows
from colocate.outputs.plan.latency_words import (
    DEATH,
    held_line,
    latency_line,
    of_target,
    saturated_lines,
    sharing_lines,
)
from colocate.outputs.plan.table import plan_table
from colocate.problem.placement import Placement
from tests.outputs.made_plans import asked, fleet_from, latencies, plan_of


def drawn(plan, width=100):
    console = Console(file=StringIO(), width=width)
    console.print(plan_table(plan, width, (), predictions_of(plan)))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.8214, "0.82"), (1.0007, "1.0007"), (0.9996, "0.9996"), (1.0, "1.00"), (0.0042, "0.0042"),
     (12.3, "12.30"), (inf, "∞")],
)  # fmt: skip
def test_ratios_show_on_which_side_of_the_target_they_are(ratio, text):
    assert of_target(ratio) == text


def test_a_row_a_model_by_its_worst_replica():
    _, plan = latencies()
    rows, others = latency_rows(predictions_of(plan), 9)
    chat, coder, flood, reader = rows
    assert others == 0
    assert (chat.gpus, chat.target) == ("g-0 and g-2", "TPOT 20 ms")
    assert chat.model == "chat (worst of 2)"
    assert chat.slower.endswith("x slower")
    assert chat.holds.startswith("yes, 0.")
    assert coder.tpot.startswith("p99 ")
    assert coder.target == "TPOT 15 ms, TTFT 1 s (p99)"
    assert coder.holds.startswith("no, 1.")
    assert (flood.ttft, flood.target, flood.holds) == ("∞", "(TPOT 100 ms)", "no: queue grows")
    assert (reader.tpot, reader.target) == ("-", "(TTFT 2 s)")


def test_of_many_models_those_closest_to_their_targets_are_shown():
    _, plan = latencies()
    rows, others = latency_rows(predictions_of(plan), 2)
    assert [row.model for row in rows] == ["flood", "coder"]
    assert others == 2


def test_the_table_says_what_is_saturated_assumed_and_missed():
    _, plan = latencies()
    text = drawn(plan)
    assert "flood is saturated: with the cache that it gets, its queue grows without end" in text
    assert "targets in brackets are assumed" in text
    assert text.count("grows without end") == 1
    assert "\n1 of 2 models misses its target" in text
    assert "MPS gives up isolation" in text
    assert all("of target" in line for line in text.splitlines() if "pressure  " in line)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_the_screen(width):
    _, plan = latencies()
    assert max(len(line.rstrip()) for line in drawn(plan, width).splitlines()) <= width


@pytest.mark.parametrize("width", [80, 100])
def test_names_are_whole_on_a_usual_screen(width):
    names = ["chat-mobile", "assistant", "summaries", "translate", "complete", "titles"]
    fleet = fleet_from(
        [{"name": "h100", "kind": "H100-80GB", "memory_gb": 240}],
        [asked(name, 1, tpot_slo=0.25, ttft_slo=0.5) for name in names],
    )
    lines = drawn(plan_of(fleet), width).splitlines()
    words = [word.strip(",") for line in lines for word in line.split()]
    assert all(words.count(name) >= 2 for name in names)


def test_neighbours_are_blamed_where_a_model_alone_keeps_up():
    fleet = fleet_from(
        [{"name": "g", "kind": "H100-80GB", "memory_gb": 80}],
        [asked("one", 40), asked("two", 40)],
        compute_limit=None,
    )
    found = predictions_of(plan_of(fleet))
    assert all(each.shared.saturated and not each.alone.saturated for each in found)
    assert list(saturated_lines(found)) == [
        "one and two are saturated: beside the neighbours, their queues grow without end"
    ]


def sharing_text(plan):
    return "\n".join(sharing_lines(other_sharing(plan, predictions_of(plan))))


def test_mps_is_offered_with_what_it_brings_and_what_it_gives_up():
    _, plan = latencies()
    calm = Placement({"chat": ("g-0", "g-2"), "coder": ("g-0",), "flood": (), "reader": ()})
    text = sharing_text(replace(plan, placement=calm))
    assert text.startswith("with MPS (sharing: mps) models that share a GPU would be 1.")
    assert " times faster (median); the worst latency would fall from 1." in text
    assert text.endswith(DEATH)
    _, plan = latencies("mps")
    text = sharing_text(replace(plan, placement=calm))
    assert text.startswith(f"the engines share GPUs by MPS: {DEATH}\nwith time slices")
    assert " times slower (median); the worst latency would rise from " in text


def told_change(**fields):
    return list(sharing_lines(SharingChange(**{**CHANGE, **fields})))


CHANGE = {
    "sharing": "mps", "faster": 1.5, "ratio": 1.2, "ratio_then": 0.8, "missed": 2, "missed_then": 0,
    "models": 5,
}  # fmt: skip


def test_every_change_by_the_other_way_has_its_words():
    assert told_change()[0].endswith("none of 5 models would miss a target, instead of 2")
    assert "a queue would grow without end" in told_change(ratio_then=inf)[0]
    assert "a queue would still grow" in told_change(ratio=inf, ratio_then=inf)[0]
    assert "no queue would grow without end" in told_change(ratio=inf)[0]
    (worse,) = told_change(faster=0.8, ratio_then=1.3, missed_then=2)
    assert worse == (
        "with MPS (sharing: mps) models that share a GPU would be 1.2 times slower (median); "
        "the worst latency would rise from 1.20 to 1.30 of its target"
    )
    same = told_change(faster=1.01, ratio_then=1.2)[0]
    assert "would be as fast (median); the worst latency would stay 1.20" in same


def test_fleets_without_requests_say_nothing_of_latency():
    fleet = fleet_from([{"name": "g", "memory_gb": 80}], [{"name": "m", "size_gb": 1, "load": 1}])
    assert "latency" not in drawn(plan_of(fleet))
    assert "target" not in drawn(plan_of(fleet))


@pytest.mark.parametrize(("slo", "verb"), [(0.5, "keeps"), (0.0001, "misses")])
def test_one_model_with_a_target_is_told_as_one(slo, verb):
    models = [asked("chat", 1, tpot_slo=slo), asked("reader", 1)]
    gpus = [{"name": "g", "kind": "H100-80GB", "memory_gb": 80}]
    plan = plan_of(fleet_from(gpus, models))
    placed = replace(plan, placement=Placement({"chat": ("g",), "reader": ("g",)}))
    assert held_line(predictions_of(placed)) == f"the only model with a target {verb} it"


def test_all_targets_hold_in_one_line():
    _, plan = latencies()
    calm = Placement({"chat": ("g-0", "g-2"), "coder": (), "flood": (), "reader": ()})
    line = latency_line(predictions_of(replace(plan, placement=calm)))
    assert line.endswith("of its target (chat on g-0); all targets hold")
