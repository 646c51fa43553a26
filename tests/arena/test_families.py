from itertools import pairwise

import numpy as np
import pytest

from colocate import Gpu, InputError, Model, Problem, load_suite, score_strategy, verify
from colocate.arena.best_known import Record
from colocate.arena.families import CASES, GPUS_OF_NODE, planted
from colocate.arena.strategies.strategy_score import CaseResult
from colocate.arena.suites import SUITES, Case, Suite, unseen_problems
from colocate.arena.tasks.placement import open_contest
from colocate.solver.plan import Status

SEED = SUITES["families"].seed
SUITE = load_suite("families")
PROBLEMS = {case.name.removeprefix("families-"): case.problem for case in SUITE.cases}


def fill(problem: Problem) -> float:
    return sum(m.size_gb for m in problem.models) / sum(g.memory_gb for g in problem.gpus)


def part(problem: Problem, condition) -> float:
    return sum(map(condition, problem.models)) / len(problem.models)


def test_cases_are_named_for_what_makes_them_hard_and_for_their_size():
    assert list(PROBLEMS) == list(CASES)
    for name, problem in PROBLEMS.items():
        assert name.endswith(f"-{len(problem.gpus)}")


@pytest.mark.parametrize("case", CASES)
def test_a_placement_was_planted(case):
    problem, placement = planted(case, SEED)
    assert problem.digest == PROBLEMS[case].digest
    verdict = verify(problem, placement)
    assert verdict.faults == ()
    assert verdict.pressure < float("inf")


def test_another_seed_gives_other_fleets_of_the_same_kind():
    first = next(unseen_problems("families", 7))
    assert first.digest != PROBLEMS["sharded-64"].digest
    assert len(first.gpus) == 64


def test_a_third_or_so_of_the_models_have_shards():
    for name in ("sharded-64", "sharded-512"):
        problem = PROBLEMS[name]
        assert part(problem, lambda m: m.shards > 1) == pytest.approx(0.3, abs=0.05)
        assert {model.shards for model in problem.models} == {1, 2, 4, 8}
        nodes = [gpu.node for gpu in problem.gpus]
        assert all(nodes.count(node) == GPUS_OF_NODE for node in nodes)


def test_the_replicas_of_the_hottest_fifth_are_open():
    problem = PROBLEMS["replicas-128"]
    assert part(problem, lambda m: m.open_replicas) == pytest.approx(0.2, abs=0.01)
    coldest = min(m.load for m in problem.models if m.open_replicas)
    assert all(m.load < coldest for m in problem.models if not m.open_replicas)


def test_there_are_five_kinds_of_gpu():
    for name in ("kinds-1024", "kinds-4096"):
        kinds = {(gpu.kind, gpu.memory_gb) for gpu in PROBLEMS[name].gpus}
        assert {memory for _, memory in kinds} == {24, 40, 48, 80, 141}
        assert len(kinds) == 5
        assert fill(PROBLEMS[name]) == pytest.approx(0.6, abs=0.01)


def test_a_day_has_a_night():
    for name in ("windows-1024", "windows-4096"):
        loads = np.array([model.load for model in PROBLEMS[name].models])
        assert loads.shape[1] == 24
        busiest = loads.max(axis=1)
        seen = busiest > 0.5
        assert (loads.min(axis=1)[seen] / busiest[seen]).max() < 0.25
        assert len(set(loads.argmax(axis=1).tolist())) > 4


def test_hardly_any_memory_is_free():
    for name in ("full-64", "full-1024", "full-4096"):
        assert 0.92 <= fill(PROBLEMS[name]) <= 0.97


def test_twice_the_memory_is_asked_for_where_models_may_sleep():
    for name, problem in PROBLEMS.items():
        if "sleepers" not in name:
            assert not problem.sleepers
            continue
        assert fill(problem) == pytest.approx(2, abs=0.1)
        assert all((model.sleep_cost,) == model.load for model in problem.models)
        assert (problem.most_pressure is not None) == ("limited" in name)


def test_constraints_are_many():
    for name in ("constrained-1024", "constrained-4096"):
        problem = PROBLEMS[name]
        assert len(problem.apart) == len(problem.gpus) // 4
        assert part(problem, lambda m: bool(m.only)) == pytest.approx(0.1, abs=0.02)
        assert all(dict(gpu.limits) == {"compute": 0.8} for gpu in problem.gpus)
        assert len({gpu.kind for gpu in problem.gpus}) == 2
        assert all(dict(m.uses)["compute"] for m in problem.models)


def pinned(*pins: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    gpus = [Gpu(f"g{n}", 80, "new" if n > 2 else "old", node=f"n{n // 2}") for n in range(6)]
    models = [Model(f"m{n}", 10, load=1.0, only=o, never=v) for n, (o, v) in enumerate(pins)]
    return Problem(gpus, models, apart=[["m0", "m1"]]).digest


def test_a_digest_tells_where_models_may_be_and_not_how_that_is_said():
    free, first_node = ((), ()), (("n0",), ())
    same = (("g1", "g0"), ()), (("old",), ("g2",)), (("n0", "n1"), ("n1",))
    assert {pinned(free, way) for way in same} == {pinned(free, first_node)}
    assert pinned(free, (("old", "new"), ())) == pinned(free, free)
    others = [free, first_node, (("n1",), ()), ((), ("n0",)), (("n0", "n2"), ()), (("new",), ())]
    assert len({pinned(free, other) for other in others}) == len(others)
    assert pinned(free, first_node) != pinned(first_node, free)


def test_what_must_be_apart_and_together_is_refused():
    models = [Model(f"m{n}", 10, load=1.0) for n in range(9)]
    names = [model.name for model in models]
    bundles = [*map(list, pairwise(names[:4])), names[5:8]]
    Problem([Gpu("g", 80)], models, apart=[["m4", "m5"], ["m0", "m2"]], together=bundles)
    with pytest.raises(InputError, match="apart and together both hold m5 and m7"):
        Problem([Gpu("g", 80)], models, apart=[["m1", "m5", "m7"]], together=bundles)


def test_what_is_served_is_the_ratio_where_models_may_sleep(monkeypatch):
    models = [Model(f"m{n}", 50, load=1.0, sleep_cost=1.0 + n) for n in range(3)]
    case = Case("sleepy-00", Problem([Gpu("g", 80)], models))
    record = Record(case.name, case.problem.digest, 1 / 30, 1 / 30, "a", 2.0, 2.0)
    monkeypatch.setattr(
        "colocate.arena.strategies.strategy_score.read_best_known", lambda _: {case.name: record}
    )
    score = score_strategy(Suite("sleepy", "", (case,)), "solve")
    assert score.ratio == pytest.approx(3 / 4)
    refused = score_strategy(Suite("sleepy", "", (case,)), "initial_program")
    assert refused.ratio == 0
    assert "do not decide on whether 'm0' sleeps" in refused.refusal


def test_all_asleep_is_not_the_best_there_is():
    lazy = CaseResult("a", Status.FEASIBLE, 0.0, 0.1, 0.5, "", served=0.0)
    assert lazy.ratio == 0


def test_families_are_no_contest_for_programs():
    with pytest.raises(InputError, match="do not have 80 GB"):
        open_contest("families")
