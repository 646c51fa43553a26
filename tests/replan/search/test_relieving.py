"""The search within a target and a budget: what it returns keeps both, and it misses little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.problem.requests import EngineSpeed, Requests
from colocate.replan.bounds.exhaustion import search_below
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import homes_of
from colocate.replan.search.seeker import Seeker
from colocate.replan.search.within_budget import BudgetSearch
from colocate.solver.deadline import Deadline
from colocate.solver.latency.item_moves import rate_all
from tests.campaign import campaign


def drawn_fleet(seed, models, gpus, latency=False, windows=1):
    """A fleet with rules of several kinds, and a valid placement; None if none was drawn."""
    rng = np.random.default_rng(seed)
    names = [f"g{n}" for n in range(gpus)]

    def requests():
        rate = float(rng.uniform(0.1, 1.5))
        return Requests(rate, 50.0, (("", EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)),), 1.0)

    fleet = tuple(
        Model(
            f"m{n}",
            float(rng.integers(5, 25)),
            load=[float(rng.integers(1, 9)) for _ in range(windows)],
            requests=requests() if latency else None,
        )
        for n in range(models)
    )
    apart = [("m0", "m1")] if seed % 2 else []
    capacity = [Gpu(name, float(rng.choice([60, 80]))) for name in names]
    objective = "latency" if latency else "pressure"
    problem = Problem(capacity, fleet, apart=apart, objective=objective)
    for _ in range(200):
        old = {model.name: [str(rng.choice(names))] for model in fleet}
        verdict = verify(problem, old)
        if verdict.valid and verdict.pressure < np.inf:
            return problem, old
    return None


def check_found(problem, old, seed):
    """Whatever is found keeps the target, the budget and all rules."""
    homes = homes_of(problem, old, {})
    seeker = Seeker(homes, Deadline(), seed)
    stay = seeker.value(homes.start)
    whole = sum(model.size_gb for model in problem.models)
    rng = np.random.default_rng(seed)
    found_any = False
    for _ in range(6):
        target, budget = stay * rng.uniform(0.5, 1.0), whole * rng.uniform(0.0, 1.0)
        found = seeker.seek(homes.start, target, budget, 60, 0.1)
        if found is not None:
            found_any = True
            placement = homes.reduction.placement(found)
            verdict = verify(problem, placement)
            value = verdict.ratio if problem.objective == "latency" else verdict.pressure
            assert verdict.valid, verdict.faults
            assert value <= target * (1 + 1e-9)
            assert homes.moved_gb(placement) <= budget * (1 + 1e-9)
    return found_any


@campaign(60)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_what_is_found_keeps_the_target_the_budget_and_the_rules(seed, windows):
    if drawn := drawn_fleet(seed, 10, 4, windows=windows):
        check_found(*drawn, seed)


@campaign(30)
@given(st.integers(0, 10**9))
def test_so_does_what_is_found_by_latency(seed):
    if drawn := drawn_fleet(seed, 8, 3, latency=True):
        check_found(*drawn, seed)


def test_something_is_found():
    fleets = [drawn_fleet(seed, 10, 4) for seed in range(8)]
    assert sum(check_found(*fleet, 0) for fleet in fleets if fleet) >= 6
    fleets = [drawn_fleet(seed, 8, 3, latency=True) for seed in range(8)]
    assert sum(check_found(*fleet, 0) for fleet in fleets if fleet) >= 6


def test_small_fleets_come_to_the_best_of_all_placements():
    """By pressure and by latency, within a quarter of all weights."""
    missed, looked = 0, 0
    for seed in range(16):
        drawn = drawn_fleet(seed, 8, 3, latency=seed >= 8)
        if drawn is None:
            continue
        problem, old = drawn
        homes = homes_of(problem, old, {})
        budget = 0.25 * sum(model.size_gb for model in problem.models)
        search = BudgetSearch(homes, Deadline(), 0)
        search.offer(homes.start)
        search.lower_value(budget, 0.0, 0.5)
        best = search.best(budget)
        below = search_below(homes, GroupValues(homes.reduction), best.value, budget)
        assert below.complete
        looked += 1
        missed += below.gpu_of is not None
    assert looked >= 12
    assert missed <= 1


def drawn_speeds(step):
    """Speeds of a model on two kinds of GPU, one of which takes longer."""
    return tuple(
        (kind, EngineSpeed(step * f, 0.0, 0.01, 0.01, 16)) for kind, f in (("H", 1.0), ("L", 1.5))
    )


@pytest.mark.parametrize("seed", range(40))
def test_costs_by_latency_after_a_search_are_those_of_its_layout(seed):
    rng = np.random.default_rng(seed)
    models = [
        Model(
            f"m{n}",
            5.0,
            load=1.0,
            requests=Requests(
                float(rng.uniform(0.1, 2.0)),
                60.0,
                drawn_speeds(float(rng.uniform(0.005, 0.02))),
                0.05,
            ),
        )
        for n in range(2)
    ]
    problem = Problem([Gpu("g0", 80.0, "L"), Gpu("g1", 24.0, "H")], models, objective="latency")
    homes = homes_of(problem, {"m0": ["g1"], "m1": ["g1"]}, {})
    seeker = Seeker(homes, Deadline(), 0)
    stay = seeker.value(homes.start)
    for share in (0.9, 0.6, 0.3):
        seeker.seek(homes.start, share * stay, 40.0, 60, 0.1)
        seen = seeker._now.costs.cost.copy()
        rate_all(seeker._now)
        assert seen == pytest.approx(seeker._now.costs.cost, rel=1e-6)
