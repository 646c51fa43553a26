"""Who slows whom, as facts and in words."""

from dataclasses import replace

import pytest

from colocate.advise.explain.explanation import explain
from colocate.advise.explain.fixed_plan import fixed_plan_of
from colocate.advise.explain.slowdown import MOST_SLOW, slowdowns
from colocate.latency.prediction import predict_placement
from colocate.outputs.explain.latency import latency_lines
from colocate.outputs.explain.sentences import explanation_lines
from colocate.outputs.text.plain_data import plain
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Plan, Status, with_ratios
from tests.outputs.made_plans import STEPS, asked, fleet_from


def planned(placement, *models, gpus=3, **fields):
    """Return the plan of a placement, whatever targets it breaks."""
    stated = [{"name": "g", "kind": "H100-80GB", "memory_gb": 80, "count": gpus}]
    fleet = fleet_from(stated, list(models), compute_limit=None, **fields)
    pressures = dict.fromkeys((f"g-{n}" for n in range(gpus)), 1.0)
    return with_ratios(Plan(fleet.problem, Status.FEASIBLE, Placement(placement), pressures))


def found_in(plan, seconds=5.0):
    return slowdowns(fixed_plan_of(plan), Deadline(seconds))


PAIR = {"slow": ("g-0",), "busy": ("g-0",), "rare": ("g-0",), "other": ("g-1",)}


def pair(**fields):
    models = (
        asked("slow", 2, **{"tpot_slo": 0.017, **fields}),
        asked("busy", 8),
        asked("rare", 0.02),
        asked("other", 1),
    )
    return planned(PAIR, *models)


def test_each_neighbour_costs_what_is_saved_without_it():
    plan = pair()
    (facts,) = found_in(plan)
    assert (facts.slowed.model, facts.gpu) == ("slow", "g-0")
    assert [cost.neighbour for cost in facts.costs] == ["busy", "rare"]
    for cost in facts.costs:
        others = {name: gpus for name, gpus in PAIR.items() if name != cost.neighbour}
        again = predict_placement(plan.problem, others)
        assert next(each for each in again if each.model == "slow").shared == cost.without
    assert facts.costs[0].without.tpot.mean < facts.costs[1].without.tpot.mean


def test_costs_are_told_where_models_name_gpus_that_none_of_them_is_on():
    (freely,) = found_in(pair())
    (bound,) = found_in(pair(only=["g-0", "g-2"], never=["g-1"]))
    assert bound.costs == freely.costs


def test_the_best_move_is_the_best_of_all():
    plan = pair()
    (facts,) = found_in(plan)
    worst = {}
    for model in ("slow", "busy", "rare"):
        for target in ("g-1", "g-2"):
            moved = {**PAIR, model: (target,)}
            after = predict_placement(plan.problem, moved)
            worst[model, target] = max(
                each.shared.ratio for each in after if {"g-0", target} & set(each.gpus)
            )
    assert facts.move is not None
    assert facts.move.worst == pytest.approx(min(worst.values()))
    assert worst[facts.move.models[0], facts.move.target] == facts.move.worst
    moved = {**PAIR, facts.move.models[0]: (facts.move.target,)}
    assert verify(plan.problem, moved).valid


def test_a_rule_that_forbids_a_move_is_kept():
    models = (asked("slow", 2, tpot_slo=0.03, only=["g-0"]), asked("busy", 8, only=["g-0"]))
    (facts,) = found_in(planned({"slow": ("g-0",), "busy": ("g-0",)}, *models))
    assert facts.move is None
    assert list(latency_lines((facts,)))[-1] == (
        "no move of one model leaves both GPUs with a lower worst latency"
    )


def test_sentences_name_the_cost_and_what_parting_brings():
    lines = list(latency_lines(found_in(pair())))
    assert lines[0].startswith("slow on g-0: TPOT ")
    assert " of its target; TPOT " in lines[0]
    assert lines[1].startswith("- busy costs it ")
    assert lines[-1].startswith("moving ")
    assert " to g-2 brings it to 0." in lines[-1]


def test_a_queue_that_grows_is_explained():
    models = (asked("one", 40), asked("two", 40))
    facts = found_in(planned({"one": ("g-0",), "two": ("g-0",)}, *models))
    lines = list(latency_lines(facts))
    assert lines[0].startswith("one on g-0: its queue grows without end; TPOT ")
    assert lines[1].startswith("- without two it would keep up, with a TPOT of ")
    assert lines[2].startswith("moving ")
    lines = list(latency_lines(found_in(planned({"flood": ("g-0",)}, asked("flood", 500)))))
    assert lines == [
        "flood on g-0: with the cache that it gets, its queue grows without end even alone",
        "no other model shares its GPUs, and no other GPU suits it better: more replicas or shards "
        "would help",
    ]


def test_the_time_to_the_first_token_is_told_where_its_target_is_closer():
    lines = list(latency_lines(found_in(pair(tpot_slo=1.0, ttft_slo=0.1, percentile=95))))
    assert lines[0].startswith("slow on g-0: p95 TTFT ")


def test_models_with_shards_are_slowed_on_any_of_their_gpus():
    models = (
        asked("wide", 4, shards=2, size_gb=40, steps={**STEPS, "base_ms": 20.0}),
        asked("left", 3),
        asked("right", 1),
    )
    placement = {"wide": ("g-0", "g-1"), "left": ("g-1",), "right": ("g-0",)}
    facts = found_in(planned(placement, *models))[0]
    assert (facts.slowed.model, facts.gpu) == ("wide", "g-1")
    assert {cost.neighbour for cost in facts.costs} == {"left", "right"}


def test_without_requests_or_time_little_is_said():
    fleet = fleet_from([{"name": "g", "memory_gb": 80}], [{"name": "m", "size_gb": 1, "load": 1}])
    plan = Plan(fleet.problem, Status.FEASIBLE, Placement({"m": ("g",)}), {"g": 1 / 79})
    assert found_in(plan) == ()
    many = [asked(f"m{n}", 30, size_gb=4) for n in range(30)]
    placement = {f"m{n}": (f"g-{n % 3}",) for n in range(30)}
    plan = planned(placement, *many)
    assert len(found_in(plan)) == MOST_SLOW
    assert len(found_in(plan, 1e-9)) == 1


def test_explain_tells_it_and_gives_it_as_data():
    told = explain(pair(), seconds=0.5)
    assert told is not None
    assert "who slows whom" in "\n".join(explanation_lines(told)).splitlines()
    assert plain(told)["latency"][0]["costs"][0]["neighbour"] == "busy"
    by_pressure = replace(told, latency=(), ratio=None)
    assert "who slows whom" not in "\n".join(explanation_lines(by_pressure))
