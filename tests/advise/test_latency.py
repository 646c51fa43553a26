from dataclasses import replace
from math import inf

import pytest

from colocate import Gpu, Model, Problem
from colocate.advise.latency import missing, other_sharing, predictions_of, with_targets, worst_of
from colocate.latency.prediction import predict_placement
from colocate.problem.placement import Placement
from colocate.solver.plan import Plan, Status
from tests.outputs.made_plans import latencies


def test_every_replica_has_a_prediction_and_a_model_asleep_has_none():
    _, plan = latencies()
    found = predictions_of(plan)
    assert [(each.model, each.replica, each.gpus) for each in found] == [
        ("chat", 0, ("g-0",)),
        ("chat", 1, ("g-2",)),
        ("coder", 0, ("g-0",)),
        ("flood", 0, ("g-1",)),
        ("reader", 0, ("g-1",)),
    ]
    assert missing(found) == ["coder"]
    assert with_targets(found) == ["chat", "coder"]
    assert worst_of(found).model == "flood"
    asleep = replace(plan, placement=Placement({**plan.placement, "coder": ()}))
    assert "coder" not in [each.model for each in predictions_of(asleep)]
    all_asleep = replace(plan, placement=Placement(dict.fromkeys(plan.placement, ())))
    assert predictions_of(all_asleep) == ()


def test_without_requests_nothing_is_predicted():
    problem = Problem([Gpu("g", 80)], [Model("m", 1, load=1)])
    plan = Plan(problem, Status.FEASIBLE, Placement({"m": ("g",)}), {"g": 1 / 79})
    assert predictions_of(plan) == ()


@pytest.mark.parametrize(("sharing", "other"), [("slices", "mps"), ("mps", "slices")])
def test_the_other_way_to_share_is_predicted_for_the_same_placement(sharing, other):
    _, plan = latencies(sharing)
    placement = Placement({"chat": ("g-0", "g-2"), "coder": ("g-0",), "flood": (), "reader": ()})
    plan = replace(plan, placement=placement)
    found = predictions_of(plan)
    then = predict_placement(plan.problem, placement, other)
    told = other_sharing(plan, found)
    assert told is not None
    (chat, _, coder), (chat_then, _, coder_then) = found, then
    changes = (chat.slower / chat_then.slower, coder.slower / coder_then.slower)
    assert told.sharing == other
    assert told.faster == pytest.approx(sum(changes) / 2)
    assert told.ratio == max(each.shared.ratio for each in found)
    assert told.ratio_then == max(each.shared.ratio for each in then)
    assert (told.missed, told.models) == (1, 2)


def test_models_alone_and_gpus_of_another_maker_share_in_no_other_way():
    _, plan = latencies()
    alone = {"chat": ("g-0", "g-2"), "coder": ("g-1",), "flood": (), "reader": ()}
    apart = replace(plan, placement=Placement(alone))
    assert other_sharing(apart, predictions_of(apart)) is None
    _, plan = latencies(kind="MI300X")
    assert other_sharing(plan, predictions_of(plan)) is None
    assert worst_of(predictions_of(plan)).shared.ratio == inf
