"""Explanations and remedies in words: every figure that they need, and no name does harm."""

import json
from math import inf

import pytest

from colocate import Gpu, Model, Problem, Status, place, solve
from colocate.advise.explain.cause import Cause
from colocate.advise.explain.explanation import explain
from colocate.advise.remedies.diagnosis import Diagnosis, Remedy, diagnose, diagnose_fleet
from colocate.advise.what_if import Change, ChangeKind, TargetDelta
from colocate.inputs.fleet import parse_fleet
from colocate.outputs.explain.remedies import change_text, diagnosis_lines
from colocate.outputs.explain.sentences import explanation_lines
from colocate.outputs.text.plain_data import plain
from colocate.outputs.text.wording import amount, gigabytes, listed, percent, pressure_text, quoted
from colocate.problem.placement import Placement
from colocate.solver.plan import Plan

HOSTILE = "[bold red]$(rm -rf /)[/] <script>" + "x" * 300 + "\u202e"
GPUS = [Gpu("a", 80), Gpu("b", 80), Gpu("c", 80)]


def told(problem, **arguments):
    plan = solve(problem, time_limit=20)  # ends with the proof, however busy the machine is
    return "\n".join(explanation_lines(explain(plan, **arguments)))


def test_one_hot_model_in_words():
    fleet = parse_fleet(
        """
gpus: [{name: g, memory_gb: 80, count: 3, reserve_gb: 0}]
models: [{name: hot, size_gb: 16, overhead_gb: 4, load: 6}, {name: cold, size_gb: 10, load: 1}]
"""
    )
    text = told(fleet.problem, fleet=fleet)
    assert text.splitlines() == [
        "bottleneck",
        "  g-0 has the highest pressure, 0.1: a load of 6 over 60 GB free of 80 GB",
        "  - hot: 20 GB, load 6, 100% of the load",
        "",
        "what its models can serve",
        "  - hot: 60 GB of cache",
        "",
        "why",
        "  hot sets the peak: even alone on the largest GPU (80 GB) its pressure is 0.1, "
        "so no placement with one replica of it can be lower",
        "",
        "next move",
        "  no move or swap lowers it: the best ones leave it as it is",
        "",
        "levers",
        "  a second replica of hot (replicas: 2, 20 GB more): peak 0.05 (-50%), proven optimal",
        "  hot in 2 shards (4 GB more): peak 0.04412 (-56%), proven optimal",
        "  replicas: auto lets the solver decide how many replicas of each model pay",
        "",
        "bound",
        "  no placement is below 0.1, by one model: hot has a load of 6 and leaves 60 GB of the "
        "largest GPU that it may be on",
        "  so nothing lower is possible with these models and GPUs",
        "",
        "idle",
        "  1 GPU of 80 GB: g-2; hot sets the peak wherever the other models are",
    ]


def test_a_plan_that_can_be_improved_in_words():
    models = [Model("hot", 20, load=6), Model("cold", 10, load=1), Model("idle", 30, load=0)]
    problem = Problem([Gpu("a", 80, "X", {"compute": 1}), Gpu("b", 80, "X")], models)
    pressures = {"a": 6 / 30, "b": 1 / 70}
    placement = Placement({"hot": ("a",), "cold": ("b",), "idle": ("a",)})
    plan = Plan(problem, Status.FEASIBLE, placement, pressures)
    text = "\n".join(explanation_lines(explain(plan)))
    assert "moving idle to b lowers the peak: 0.1 (-50%)" in text
    assert "the solver finds 0.1 (-50%) for the same models and GPUs" in text
    assert (
        "why\n  the placement is not the best one: plan again, with a longer --time-limit" in text
    )
    assert "the plan states none, so the possible gain is unknown" in text


def test_constraints_limits_and_sleep_in_words():
    gpus = [Gpu("big", 80, "X", {"compute": 1}), Gpu("small", 40, "X", {"compute": 1})]
    models = [
        Model("hot", 20, load=6, only=["small"], uses={"compute": 0.95}),
        Model("cold", 10, load=1),
        Model("dormant", 81, load=9, sleep_cost=0),
    ]
    text = told(Problem(gpus, models))
    assert "alone on the largest GPU that it may be on (40 GB)" in text
    assert "- without only, of 'hot': 0.1" in text
    assert "small is busy 95% of the time, 100% allowed" in text
    assert "asleep\n  dormant" in text


def test_memory_that_least_caches_nearly_fill_is_told():
    models = [Model("m", 50, load=1, least_cache_gb=28), Model("n", 9, load=1, least_cache_gb=30)]
    gpus = [Gpu("a", 80), Gpu("b", 80), Gpu("c", 30)]
    text = told(Problem(gpus, models))
    assert "a needs 78 GB of 80 GB with the least cache of its models (98%)" in text
    assert "c; no model is within its limits, or its memory with the least cache" in text


def test_no_load_and_a_full_gpu_in_words():
    assert "no GPU is under pressure" in told(Problem(GPUS, [Model("m", 1, load=0)]))
    text = told(Problem([Gpu("g", 80)], [Model("m", 80, load=1)]))
    assert "g has the highest pressure, ∞" in text
    assert "a second replica of m (replicas: 2, 80 GB more) does not fit" in text


def test_facts_are_json_with_infinity_as_text():
    found = explain(solve(Problem([Gpu("g", 80)], [Model("m", 80, load=1)])))
    data = json.loads(json.dumps(plain(found), allow_nan=False))
    assert data["bottleneck"]["pressure"] == "Infinity"
    assert data["why"]["cause"] == "hot model"
    pinned = Problem([*GPUS, Gpu("s", 40)], [Model("m", 20, load=1, only=["s"])])
    relief = plain(explain(solve(pinned)))["why"]["reliefs"][0]
    assert relief["change"]["kind"] == "only"
    assert "problem" not in relief["change"]


def test_hostile_names_are_one_line_and_short():
    models = [Model(HOSTILE, 90, load=1), Model("m", 20, load=2, only=["a"])]
    infeasible = Problem([Gpu("a", 80), Gpu(HOSTILE, 40)], models)
    for line in diagnosis_lines(diagnose(infeasible)):
        assert "\u202e" not in line
        assert len(line) < 200
    fitting = Problem([Gpu("a", 80), Gpu(HOSTILE, 40)], [Model(HOSTILE, 20, load=1)])
    for line in explanation_lines(explain(solve(fitting))):
        assert "\u202e" not in line
        assert len(line) < 400


def test_conflicts_in_words():
    models = [Model(name, 5, load=1) for name in "abc"]
    lines = list(diagnosis_lines(diagnose(Problem([Gpu("g", 8), Gpu("h", 8)], models))))
    assert lines == [
        "'a', 'b' and 'c' cannot be placed together: at least 2 GB of memory are missing",
        "  they need 15 GB; the 2 GPUs that they may be on have 16 GB, the largest 8 GB",
        "  without any one of them, the others fit",
        "none of the changes tried makes it fit",
    ]
    problem = Problem([Gpu("g", 8), Gpu("h", 8)], [Model("t", 5, load=1, shards=4)])
    assert list(diagnosis_lines(diagnose(problem)))[:2] == [
        "'t' does not fit even without the other models: 4 shards need as many GPUs in one "
        "node, and no node has them",
        "  it needs 5 GB in 4 parts; the 2 GPUs that it may be on have 16 GB, the largest 8 GB, "
        "and no node has more than 2 of them",
    ]
    assert "--time-limit" in next(diagnosis_lines(Diagnosis(fits=True)))
    by_strategy = list(diagnosis_lines(Diagnosis(fits=True), by_strategy=True))
    assert by_strategy == ["the solver finds a placement: leave out --strategy"]


def lines_of(text, seconds=6.0):
    return list(diagnosis_lines(diagnose_fleet(parse_fleet(text), {}, seconds)))


def test_a_lack_of_cache_in_words():
    lines = lines_of(
        """
gpus: [{name: g, memory_gb: 80, reserve_gb: 0}]
models:
  - {name: x, size_gb: 40, load: 1, kv_bytes_per_token: 196608, max_model_len: 131072}
  - {name: y, size_gb: 20, load: 2, kv_bytes_per_token: 131072, max_model_len: 65536,
     min_concurrency: 2}
"""
    )
    assert lines[:7] == [
        "'x' and 'y' cannot be placed together: the weights fit, but at least 23 GB of cache are "
        "missing",
        "  they need 103 GB, 43 GB of it for cache; the only GPU that they may be on has 80 GB",
        "  'x': 25.8 GB of cache for 1 request of 131,072 tokens",
        "  'y': 17.2 GB of cache for 2 requests of 65,536 tokens",
        "  without any one of them, the others fit",
        "it fits without any one of these constraints (confirmed by a placement):",
        "  - the least cache: room in every model for requests of max_model_len tokens",
    ]
    assert lines[7:9] == [
        "it fits after any one of these changes (confirmed by a placement), easiest first:",
        "  - shorten max_model_len of 'x' to 8,192 tokens (least cache 25.8 GB -> 1.61 GB)",
    ]
    assert "  - shorten max_model_len of 'x' and 'y' to 32,768 tokens (least cache" in lines[9]


def test_a_lack_of_compute_in_words():
    lines = lines_of(
        """
compute_limit: 0.8
gpus: [{name: g, kind: L40S, count: 2}]
models:
  - {name: a, size_gb: 9, load: 1, uses: {compute: 0.5}}
  - {name: b, size_gb: 9, load: 1, uses: {compute: 0.4}}
  - {name: c, size_gb: 9, load: 1, uses: {compute: 0.45}}
"""
    )
    assert lines[:6] == [
        "'a', 'b' and 'c' cannot be placed together: wherever they are, a GPU is busy at least 85% "
        "of the time, 80% allowed",
        "  'a' is the busiest: by itself 50% of a GPU's time",
        "  without any one of them, the others fit",
        "it fits without any one of these constraints (confirmed by a placement):",
        "  - the limit on compute (compute_limit)",
        "it fits after any one of these changes (confirmed by a placement), easiest first:",
    ]
    assert lines[6] == (
        "  - compute_limit: 0.85, so GPUs may be busy 85% of the time instead of 80% (a request "
        "then waits up to 5.7 times as long as it runs, not 4)"
    )


def test_limits_are_told_in_their_own_units():
    gpus = [Gpu("g", 80, "", {"compute": 0.8, "adapters": 8})]
    busy = Problem(gpus, [Model("m", 1, load=1, uses={"compute": 0.8004})])
    assert next(diagnosis_lines(diagnose(busy))) == (
        "'m' does not fit even without the other models: it keeps a GPU busy 80.04% of the time, "
        "80.00% allowed"
    )
    models = [Model(name, 1, load=1, uses={"adapters": 5}) for name in "ab"]
    assert next(diagnosis_lines(diagnose(Problem(gpus, models)))) == (
        "'a' and 'b' cannot be placed together: wherever they are, a GPU uses at least 10 of "
        "'adapters', 8 allowed"
    )
    models = [Model(name, 1, load=1) for name in "ab"]
    assert next(diagnosis_lines(diagnose(Problem(gpus, models, most_models=1)))) == (
        "'a' and 'b' cannot be placed together: wherever they are, a GPU holds at least 2 models, "
        "1 allowed (most_models)"
    )


def test_replicas_with_more_gpus_in_words():
    problem = Problem(GPUS, [Model("m", 1, load=1)])
    change = Change(ChangeKind.REPLICAS, problem, ("m",), "L40S", 3, 2, node="x")
    assert change_text(change) == "3 replicas of 'm', and 2 more GPUs of L40S in node 'x'"


@pytest.mark.parametrize("kind", ChangeKind)
def test_every_change_has_words(kind):
    problem = Problem(GPUS, [Model("m", 1, load=1)])
    raised = (TargetDelta("tpot_slo", 0.03, 0.04),)
    change = Change(
        kind, problem, ("m",), "fp8", 2, gb=3.0, before_gb=4.0, after_gb=1.0, targets=raised
    )
    placement = place(problem).placement
    (line,) = list(diagnosis_lines(Diagnosis(remedies=(Remedy(change, placement),))))[1:]
    assert line.startswith("  - ")
    undecided = list(diagnosis_lines(Diagnosis(undecided=(change,))))
    assert undecided[-2] == "there was no time to find out whether these changes make it fit:"


def test_of_many_changes_of_a_kind_the_smallest_are_told():
    problem = Problem(GPUS, [Model("m", 1, load=1)])
    placement = place(problem).placement
    remedies = [
        Remedy(Change(ChangeKind.SLEEP, problem, (f"m{n}",), gb=n), placement) for n in range(9)
    ]
    remedies.append(Remedy(Change(ChangeKind.GPUS, problem, to="L4", count=1, gb=24), placement))
    lines = list(diagnosis_lines(Diagnosis(remedies=tuple(remedies))))[1:]
    assert [line.split("'")[1] for line in lines[:3]] == ["m0", "m1", "m2"]
    assert lines[2].endswith(", or 6 other changes of this kind")
    assert lines[3] == "  - one more GPU of L4"


def test_amounts_in_words():
    assert listed(["a"]) == "a"
    assert listed(list("abcd"), 2) == "a, b and 2 more"
    assert quoted("a\nb") == "'a b'"
    assert amount(1, "replica", "replicas") == "1 replica"
    assert amount(2000, "GPU") == "2,000 GPUs"
    assert (gigabytes(1234.5), gigabytes(2.345), gigabytes(0)) == ("1,234 GB", "2.35 GB", "0 GB")
    assert (pressure_text(inf), percent(inf), percent(0.052), percent(0.52)) == (
        "∞",
        "∞",
        "5.2%",
        "52%",
    )


def test_constraints_are_not_blamed_for_a_placement_that_is_not_the_best():
    models = [Model("hot", 20, load=6), Model("cold", 10, load=5), Model("idle", 30, load=0)]
    problem = Problem(GPUS[:2], models, apart=[("hot", "cold")], most_models=2)
    placement = Placement({"hot": ("a",), "cold": ("b",), "idle": ("a",)})
    plan = Plan(problem, Status.FEASIBLE, placement, {"a": 6 / 30, "b": 5 / 70})
    told_of = explain(plan)
    assert told_of.why.cause is Cause.PLACEMENT
    assert told_of.why.reliefs == ()


def test_more_replicas_that_do_not_help_are_told_so():
    problem = Problem([Gpu("g", 80), Gpu("h", 30)], [Model("m", 20, load=6)])
    assert "a second replica of m (replicas: 2, 20 GB more) would not lower the peak" in told(
        problem
    )
