"""The levels below the peak: brute force agrees, proofs hold, forged ones do not."""

import json
from dataclasses import replace
from itertools import combinations, product
from math import inf, nan
from time import perf_counter

import numpy as np
import pytest

from colocate import Gpu, InputError, Model, Plan, Problem, solve, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.level import Level
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.tolerance import PROVEN
from colocate.problem.verify_levels import check_levels
from colocate.solver.check import check_plan
from colocate.solver.plan import gap_between


def ways_of(problem, model):
    """Yield every way to put the parts of one model on GPUs."""
    names = [gpu.name for gpu in problem.gpus]
    nodes = {gpu.name: gpu.node for gpu in problem.gpus}
    groups = [
        group
        for group in combinations(names, model.shards)
        if len({nodes[name] for name in group}) == 1
    ]
    for replicas in range(model.replicas, model.most_replicas + 1):
        for chosen in combinations(groups, replicas):
            parts = [name for group in chosen for name in group]
            if len(set(parts)) == len(parts):
                yield tuple(parts)


def best_of_all(problem):
    """Return the lexicographically lowest sorted pressures over all placements."""
    best = None
    names = [model.name for model in problem.models]
    for ways in product(*(list(ways_of(problem, model)) for model in problem.models)):
        verdict = verify(problem, dict(zip(names, ways, strict=True)))
        if verdict.valid:
            found = sorted(verdict.pressures.values(), reverse=True)
            best = found if best is None else min(best, found)
    return best


def drawn(seed):
    """Return a small random problem with some of all that a problem may state."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    gpus = []
    for n in range(count):
        kind = "large" if rng.random() < 0.6 else "small"
        limits = {"compute": 1.0} if seed % 3 == 0 else {}
        memory = 80.0 if kind == "large" else 48.0
        gpus.append(Gpu(f"g{n}", memory, kind, limits, f"n{n // 2}" if seed % 2 else ""))
    models = []
    for n in range(int(rng.integers(2, 6 if count < 4 else 5))):
        load = (
            float(rng.integers(0, 20)) if seed % 5 else [float(x) for x in rng.integers(0, 20, 2)]
        )
        pins = {}
        if rng.random() < 0.25:
            pins = {"only": [str(rng.choice([g.kind for g in gpus]))]}
        elif rng.random() < 0.15:
            pins = {"never": [str(rng.choice([g.name for g in gpus]))]}
        parts = {}
        if rng.random() < 0.3:
            parts = {"most_replicas": 2}
        elif rng.random() < 0.2 and count > 1 and seed % 2:
            parts = {"shards": 2}
        elif rng.random() < 0.2:
            parts = {"replicas": 2}
        uses = {"compute": {"large": 0.2, "small": 0.4}} if seed % 3 == 0 else {}
        cache = {"least_cache_gb": float(rng.integers(0, 8))} if seed % 4 == 0 else {}
        size = float(rng.integers(1, 25))
        models.append(Model(f"m{n}", size, load=load, uses=uses, **pins, **parts, **cache))
    single = [m.name for m in models if m.most_replicas * m.shards == 1]
    apart = [tuple(single[:2])] if len(single) > 1 and seed % 7 == 0 else []
    together = [tuple(single[:2])] if len(single) > 1 and seed % 7 == 1 else []
    most = 3 if seed % 11 == 0 else None
    return Problem(gpus, models, apart, together, most)


def findings_of(plan):
    return list(check_levels(plan.problem, plan.levels))


@pytest.mark.parametrize("seed", range(60))
def test_brute_force_agrees_at_every_level(seed):
    problem = drawn(seed)
    best = best_of_all(problem)
    plan = solve(problem, time_limit=20.0, levels=None)
    if best is None:
        assert not plan.placement
        return
    found = sorted(verify(problem, plan.placement).pressures.values(), reverse=True)
    assert found == sorted(plan.pressures.values(), reverse=True)
    assert [level.pressure for level in plan.levels] == found
    assert found == pytest.approx(best, rel=1e-8)
    assert plan.levels_proven == len(best)
    for level, value in zip(plan.levels, best, strict=True):
        assert level.bound <= value * (1 + 1e-9)
        assert gap_between(level.pressure, level.bound) <= PROVEN
    assert [finding.fault for finding in findings_of(plan)] == [None] * (len(best) - 1)


PINNED = Problem(
    [Gpu(f"g{n}", 80) for n in range(4)],
    [
        Model("embedder", 2, load=780, only=["g0"]),
        Model("chat", 20, load=60, most_replicas=3),
        Model("small", 10, load=5),
        Model("other", 30, load=3),
    ],
)
UNLIKE = Problem(
    [Gpu(f"h{n}", 80, "h") for n in range(3)] + [Gpu("l", 48, "l")],
    [Model(f"m{n}", 6 + 3 * n, load=1 + (5 * n) % 7) for n in range(9)],
)


def test_a_pinned_peak_does_not_hide_what_the_other_models_could_have():
    peak = solve(PINNED, time_limit=1.0)
    plan = solve(PINNED, time_limit=20.0, levels=None)
    assert plan.pressure == peak.pressure == pytest.approx(10.0)
    assert plan.levels_proven == 4
    assert [level.pressure for level in plan.levels] == pytest.approx([10.0, 0.5, 0.5, 0.2])
    assert len(plan.placement["chat"]) == 2


def test_the_peak_alone_is_the_default_and_states_no_levels():
    plan = solve(UNLIKE, time_limit=5.0)
    assert plan.levels == ()
    assert "levels" not in plan.as_dict()


def test_as_many_levels_are_settled_as_asked_for():
    plan = solve(UNLIKE, time_limit=5.0, levels=2)
    assert plan.levels_proven == 2
    assert [level.proofs for level in plan.levels[2:]] == [(), ()]


def test_a_target_ends_the_search_at_the_peak():
    assert solve(UNLIKE, time_limit=5.0, levels=None, target=10.0).levels == ()


@pytest.mark.parametrize("levels", [0, 1.5, "2", True])
def test_levels_are_a_count(levels):
    with pytest.raises(InputError, match="levels="):
        solve(UNLIKE, levels=levels)


@pytest.fixture(scope="module")
def proven():
    plan = solve(UNLIKE, time_limit=10.0, levels=None)
    assert plan.levels_proven == 4
    return plan


def test_a_plan_with_levels_survives_the_way_through_json(proven):
    data = json.loads(json.dumps(proven.as_dict()))
    again = Plan.from_dict(UNLIKE, data)
    assert again.levels == proven.levels
    found = check_plan(UNLIKE, data)
    assert found.all_confirmed
    assert any(sentence.startswith("levels: 4 of 4 proven") for sentence in found.confirmed)


def forged(plan, number, **changes):
    """Return a plan whose digest is right, with one level changed."""
    levels = list(plan.levels)
    levels[number] = replace(levels[number], **changes)
    return replace(plan, levels=tuple(levels)).as_dict()


def with_bound(proof, bound):
    return replace(proof, certificate=replace(proof.certificate, bound=bound))


def test_forged_levels_are_refused(proven):
    second = proven.levels[1]
    high = second.pressure * 1.2
    lifted = tuple([with_bound(proof, high) for proof in second.proofs])
    wide = tuple([replace(proof, roof=1e9) for proof in lifted])
    deep = tuple([replace(proof, floor=second.pressure * 1e-6) for proof in second.proofs])
    for changes in (
        {"proofs": ()},
        {"proofs": second.proofs[:1]},
        {"proofs": lifted},
        {"proofs": wide},
        {"proofs": deep, "bound": second.bound},
        {"proofs": second.proofs * 2},
        {"ceiling": second.pressure * 0.9},
        {"pressure": second.pressure * 0.9},
        {"gpu": "nowhere"},
        {"bound": second.bound * 1.01},
        {"proofs": (replace(second.proofs[0], holders=("nowhere",)), *second.proofs[1:])},
    ):
        assert check_plan(UNLIKE, forged(proven, 1, **changes)).faults, changes


@pytest.mark.parametrize("ceiling", [nan, inf])
def test_a_ceiling_that_is_no_number_excludes_no_holders(proven, ceiling):
    """Nothing is above NaN; yet it must not leave the levels below without choices to prove."""
    levels = list(proven.levels)
    levels[1] = replace(levels[1], ceiling=ceiling)
    levels[2:] = [replace(level, bound=5.0, proofs=()) for level in levels[2:]]
    found = check_plan(UNLIKE, replace(proven, levels=tuple(levels)).as_dict())
    assert any("above the ceiling" in fault for fault in found.faults)


def test_the_ceilings_of_a_plan_bind_its_bounds(proven):
    """With a peak that may be higher, the second level could be lower."""
    assert check_plan(UNLIKE, forged(proven, 0, ceiling=proven.pressure * 1.5)).faults


def test_the_first_level_is_the_peak(proven):
    assert check_plan(UNLIKE, forged(proven, 0, bound=0.0)).faults
    assert check_plan(UNLIKE, forged(proven, 0, ceiling=proven.pressure * 0.5)).faults


@pytest.mark.parametrize("part", ["gpu", "pressure", "proofs"])
def test_a_damaged_level_is_told(proven, part):
    data = proven.as_dict()
    del data["levels"][1][part]
    with pytest.raises(InputError, match=r"level.*cannot be read, KeyError") as told:
        Plan.from_dict(UNLIKE, data)
    assert "Fault(" not in str(told.value)


def test_the_time_limit_holds_for_many_models():
    rng = np.random.default_rng(3)
    models = [
        Model(f"m{n}", float(rng.uniform(1, 12)), load=float(rng.uniform(0, 5)))
        for n in range(1000)
    ]
    problem = Problem([Gpu(f"g{n}", 80.0) for n in range(120)], models)
    solve(problem, time_limit=0.2, levels=None)
    started = perf_counter()
    plan = solve(problem, time_limit=2.0, levels=None)
    assert perf_counter() - started < 4.0
    assert plan.placement
    assert plan.levels_proven <= len(plan.levels) == 120


@pytest.mark.parametrize("claimed", [0, 9])
def test_checking_the_levels_of_many_gpus_takes_seconds(claimed):
    gpus = [Gpu(f"g{n}", 80 if n % 3 else 141, node=f"n{n // 8}") for n in range(600)]
    problem = Problem(gpus, [Model("m", 10, load=1), Model("sharded", 10, load=1, shards=2)])
    levels = [Level(f"g{n}", 9.0 - n / 100, 9.1 - n / 100) for n in range(600)]
    levels[claimed] = replace(levels[claimed], bound=1.0)
    started = perf_counter()
    faults = [number for number, each in enumerate(check_levels(problem, levels), 1) if each.fault]
    assert perf_counter() - started < 5.0
    assert faults == [claimed][: claimed > 0]


def test_sleepers_are_chosen_before_levels():
    models = [
        Model("must", 30, load=9),
        Model("heavy", 70, load=1, sleep_cost=5),
        Model("light", 20, load=4, sleep_cost=1),
    ]
    problem = Problem([Gpu("a", 80), Gpu("b", 48)], models)
    plan = solve(problem, time_limit=5.0, levels=None)
    assert plan.asleep == ("light",)
    assert plan.levels_proven == 2
    assert check_plan(problem, plan.as_dict()).faults == []


def test_a_level_by_a_search_without_its_tree_is_not_checked(proven):
    """Two solvers agree on some proofs; nobody has repeated a search."""
    for proof, listed in ((Proof.SOLVERS, "by_solvers"), (Proof.SEARCH, "unchecked")):
        proofs = tuple(
            [
                replace(each, certificate=Certificate(proof, each.certificate.bound))
                for each in proven.levels[1].proofs
            ]
        )
        found = check_plan(UNLIKE, forged(proven, 1, proofs=proofs))
        assert found.faults == []
        (sentence,) = [text for text in getattr(found, listed) if text.startswith("levels: 4 of 4")]
        assert sentence.endswith("(--reprove repeats it)")


def test_a_proof_that_is_refused_again_and_again_is_told_once():
    """Where loads differ by a factor of 1e12, the checker refuses what rounding may decide."""
    models = [
        Model("hot", 26.7, load=1e6),
        Model("cold", 20, load=1e-6, shards=2),
        Model("warm", 39.9, load=1),
    ]
    gpus = [Gpu("a", 40, node="n1"), Gpu("b", 80, node="n2"), Gpu("c", 80, node="n1")]
    plan = solve(Problem(gpus, models), time_limit=1.0, levels=None)
    assert len(plan.alarms) == 1


def test_a_level_may_fall_to_nothing():
    models = [
        Model("hot", 80, load=[1e6, 2], shards=2, least_cache_gb=13.3),
        Model("weightless", 0, load=[1e-6, 1], shards=2, least_cache_gb=10),
    ]
    problem = Problem(
        [Gpu(f"g{n}", 80, kind) for n, kind in enumerate(["A", "B", "A", ""])], models
    )
    plan = solve(problem, time_limit=2.0, levels=None)
    assert [level.pressure for level in plan.levels] == pytest.approx([12_500, 12_500, 0, 0])
    assert plan.levels_proven == 4
    assert check_plan(problem, plan.as_dict()).faults == []


def test_a_very_large_problem_settles_its_peak_alone(monkeypatch):
    problem = Problem(
        (Gpu("a", 80), Gpu("b", 80)), tuple(Model(f"m{n}", 5, load=1 + n) for n in range(4))
    )
    assert solve(problem, levels=None).levels
    monkeypatch.setattr("colocate.solver.solve.MOST_WITH_LEVELS", 3)
    assert not solve(problem, levels=None).levels


def test_levels_are_settled_where_the_models_say_what_they_are_asked():
    speed = EngineSpeed(0.005, 1e-4, 0.02, 0.02, 32)
    asked = Requests(1.0, 100.0, (("H100", speed),), tpot_slo=0.05, binding=False)
    gpus = [Gpu(f"g{n}", 80, kind="H100") for n in range(3)]
    models = [Model(f"m{n}", 10 + n, load=1 + n, requests=asked) for n in range(6)]
    plan = solve(Problem(gpus, models), levels=None)
    assert plan.levels_proven == 3
    assert not any(finding.fault for finding in check_levels(plan.problem, plan.levels))
