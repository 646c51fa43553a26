import csv
from importlib import resources
from pathlib import Path

import pytest

from colocate import (
    InputError,
    Status,
    load_suite,
    place,
    predict,
    read_fleet,
    score_strategy,
    solve,
    verify,
)
from colocate.arena import real_fleets
from colocate.arena.best_known import read_best_known
from colocate.arena.suites import unseen_problems
from colocate.arena.tasks.placement import open_contest
from colocate.inputs.fleet import fleet_of
from colocate.inputs.huggingface import read_model_size

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "data" / "configs"
CHATLMSYS = load_suite("chatlmsys")
PRISM24 = load_suite("prism24")


def rows(name):
    text = (resources.files("colocate.arena") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_chatlmsys_is_the_fleet_of_muxserve():
    assert len(CHATLMSYS.cases) == 5
    for case in CHATLMSYS.cases:
        gpus, models = case.problem.gpus, case.problem.models
        assert [gpu.memory_gb for gpu in gpus] == [80] * 32
        assert [sum(gpu.node == f"node-{n}" for gpu in gpus) for n in range(4)] == [8] * 4
        assert [m.name.split("-")[-1] for m in models] == [
            row["model"].split("-")[-1] for row in rows("chatlmsys_rates.csv")
        ]
        shards = {m.name.split("-")[-1]: m.shards for m in models}
        assert shards == {"7b": 1, "13b": 1, "30b": 2, "65b": 4}
    first = CHATLMSYS.cases[0].problem.models
    assert (first[0].rate, first[0].slo) == (8.136574074074074, 10)
    assert CHATLMSYS.cases[4].problem.models[15].rate == 5.416666666666667


@pytest.mark.parametrize("name", real_fleets.LLAMA)
def test_the_sizes_of_chatlmsys_are_those_of_the_published_shapes(name):
    size = read_model_size(CONFIGS / name.replace("llama", "LLaMA").replace("b", "B"))
    parameters, shards = real_fleets.LLAMA[name]
    assert parameters == size.parameters
    stated = next(m for m in CHATLMSYS.cases[0].problem.models if m.name.endswith(name))
    assert stated.size_gb == pytest.approx(size.weight_bytes / 1e9 + real_fleets.ENGINE_GB * shards)


def test_a_single_hot_model_sets_the_peak_of_chatlmsys():
    for case in CHATLMSYS.cases:
        hot = case.problem.models[0]
        alone = hot.load[0] / (80 - hot.size_gb)
        assert hot.name == "llm-1 llama-13b"
        assert read_best_known(CHATLMSYS)[case.name].value == pytest.approx(alone)


@pytest.mark.parametrize("case", CHATLMSYS.cases, ids=lambda case: case.name)
def test_the_solver_proves_every_level_of_chatlmsys(case):
    plan = solve(case.problem, time_limit=60.0, gap=0.01)
    assert plan.gap <= 0.01
    verdict = verify(case.problem, plan.placement)
    assert verdict.valid, verdict.faults
    node_of = {gpu.name: gpu.node for gpu in case.problem.gpus}
    for model in case.problem.models:
        gpus = plan.placement[model.name]
        assert len(set(gpus)) == model.shards
        assert len({node_of[gpu] for gpu in gpus}) == 1


def test_prism24_is_as_measured_and_its_rates_are_by_zipfs_law():
    assert [len(case.problem.gpus) for case in PRISM24.cases] == [4] * 9 + [8] * 9
    exponents = [0.6] * 3 + [1.0] * 3 + [1.4] * 3
    measured = rows("prism_models.csv")
    for case, exponent in zip(PRISM24.cases, exponents * 2, strict=True):
        models = case.problem.models
        assert [m.name for m in models] == [row["model"] for row in measured]
        tokens = []
        for model, row in zip(models, measured, strict=True):
            assert model.size_gb == pytest.approx(float(row["weight_gib"]) * 1.073741824 + 0.25)
            tokens.append(model.load[0] * 0.1 * 1e9 / float(row["kv_bytes_per_token"]))
        tokens.sort(reverse=True)
        assert sum(tokens) == pytest.approx(1000, abs=0.2)
        for rank, count in enumerate(tokens, 1):
            assert count == pytest.approx(tokens[0] * rank**-exponent, abs=0.011)


def test_the_models_of_prism24_would_not_fit_on_four_gpus_with_the_usual_overhead():
    weights = sum(float(row["weight_gib"]) * 1.073741824 for row in rows("prism_models.csv"))
    assert weights + 24 * real_fleets.ENGINE_GB > 4 * 80
    assert weights + 24 * real_fleets.RUNTIME_GB < 4 * real_fleets.USABLE_GB


def test_all_cases_of_both_suites_are_proven():
    for suite in (CHATLMSYS, PRISM24):
        for record in read_best_known(suite).values():
            assert record.bound >= record.value * (1 - 1e-8)


def test_both_suites_carry_their_credit():
    notice = (resources.files("colocate.arena") / "data" / "NOTICE.md").read_text(encoding="utf-8")
    for word in ("chatlmsys_rates.csv", "MuxServe", "prism_models.csv", "Prism", "Apache"):
        assert word in notice


def test_strategies_that_know_no_shards_fail_the_cases_and_say_so():
    with pytest.raises(InputError, match="strategies do not know shards"):
        place(CHATLMSYS.cases[0].problem, "initial_program")
    score = score_strategy(CHATLMSYS, "initial_program")
    assert score.valid_cases == 0
    assert score.score == 0
    assert "strategies do not know shards" in score.refusal
    assert [result.status for result in score.results] == [Status.UNKNOWN] * 5


def test_a_strategy_that_can_take_a_suite_has_no_refusal():
    assert score_strategy(PRISM24, "bisect_kvpr_packing").refusal == ""
    with pytest.raises(InputError, match="seed=-1"):
        score_strategy(CHATLMSYS, "initial_program", seed=-1)


def test_recorded_fleets_are_no_contest_for_programs():
    with pytest.raises(InputError, match="recorded, not drawn"):
        unseen_problems("chatlmsys", 1)
    with pytest.raises(InputError, match="recorded, not drawn"):
        open_contest("chatlmsys")
    with pytest.raises(InputError, match="do not have 80 GB"):
        open_contest("prism24")


@pytest.mark.parametrize("case", [CHATLMSYS.cases[0], PRISM24.cases[3]], ids=lambda c: c.name)
def test_the_examples_are_cases_of_the_suites(case):
    path = ROOT / "examples" / f"{case.name.split('-')[0]}.yaml"
    example = read_fleet(path).problem
    assert [gpu.memory_gb for gpu in example.gpus] == [g.memory_gb for g in case.problem.gpus]
    assert [len(gpu.node) for gpu in example.gpus] == [len(g.node) for g in case.problem.gpus]
    stated = {model.name.split(" ")[0]: model for model in case.problem.models}
    assert stated.keys() == {model.name for model in example.models}
    for model in example.models:
        assert model.shards == stated[model.name].shards
        assert model.size_gb == pytest.approx(stated[model.name].size_gb, abs=0.001)
        assert model.load == pytest.approx(stated[model.name].load, rel=0.001)


@pytest.mark.parametrize("name", ["chatlmsys", "prism24"])
def test_the_examples_can_be_planned_with_a_cap_on_compute(name):
    data = read_fleet(ROOT / "examples" / f"{name}.yaml").as_dict()
    problem = fleet_of({**data, "compute_limit": 0.8}).problem
    assert all(dict(gpu.limits)["compute"] == 0.8 for gpu in problem.gpus)
    assert all(model.shared_uses for model in problem.models)
    plan = solve(problem, time_limit=60.0, gap=0.01)
    assert plan.gap <= 0.01
    assert verify(problem, plan.placement).valid


@pytest.mark.parametrize(("times", "hot"), [(1.0, set()), (2.4, {"llm-1", "llm-3", "llm-11"})])
def test_the_third_load_level_saturates_one_replica_of_the_hot_models(times, hot):
    data = read_fleet(ROOT / "examples" / "chatlmsys.yaml").as_dict()
    for model in data["models"]:
        model["rate"] *= times
    fleet = fleet_of(data)
    gpus = [gpu.name for gpu in fleet.problem.gpus]
    each_alone = [predict(fleet, {m.name: gpus[: m.shards]}) for m in fleet.problem.models]
    found = {only.model: only.shared for (only,) in each_alone}
    assert {name for name, latency in found.items() if latency.saturated} == hot
    assert all(found[name].ratio < 0.9 for name in found.keys() - hot)


def test_the_second_load_level_needs_second_replicas_under_a_cap_on_compute():
    data = read_fleet(ROOT / "examples" / "chatlmsys.yaml").as_dict()
    data["compute_limit"] = 0.8
    for model in data["models"]:
        model["rate"] *= 1.6
    plan = solve(fleet_of(data).problem)
    assert plan.status is Status.INFEASIBLE
    assert "'llm-1'" in plan.reason
    for model in data["models"]:
        if model["name"] in ("llm-1", "llm-3", "llm-11"):
            model["replicas"] = 2
    plan = solve(fleet_of(data).problem, time_limit=60.0, gap=0.01)
    assert plan.gap <= 0.01
    assert len(plan.placement["llm-1"]) == 2
