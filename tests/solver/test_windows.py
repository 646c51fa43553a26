"""Pressure over time windows: plans are the best there are, and bounds hold in all windows."""

from dataclasses import replace
from math import inf
from random import Random

import pytest

from colocate import Gpu, Model, Problem, Status, solve, verify
from colocate.problem.certificate import Proof
from colocate.problem.verify_bound import refuted
from tests.campaign import batches
from tests.latency_problems import all_placements
from tests.windowed_problems import pressure_by_windows, windowed_problem

BATCH = 20
"""Problems in a batch."""


def without_requests(problem):
    models = tuple(model.changed(requests=None) for model in problem.models)
    return replace(problem, models=models, objective="pressure", stated_windows=())


@pytest.mark.parametrize("batch", batches(60, 2))
def test_plans_have_the_lowest_pressure_over_all_windows(batch):
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        problem = without_requests(windowed_problem(seed))
        best = min((pressure_by_windows(problem, p) for p in all_placements(problem)), default=inf)
        plan = solve(problem, time_limit=1)
        if best == inf:
            assert not plan.placement or plan.pressure == inf, seed
            continue
        assert plan.bound <= best * (1 + 1e-9), seed
        assert verify(problem, plan.placement).valid
        assert plan.certificate is None or refuted(problem, plan.certificate) is None, seed
        if plan.status is Status.OPTIMAL:
            assert plan.pressure == pytest.approx(best, rel=1e-6), seed


def test_models_that_peak_apart_share_a_gpu():
    models = [Model("a", 10, load=[4, 0]), Model("b", 10, load=[0, 4]), Model("c", 10, load=[4, 0])]
    models.append(Model("d", 10, load=[0, 4]))
    plan = solve(Problem([Gpu("g0", 80), Gpu("g1", 80)], models))
    assert plan.status is Status.OPTIMAL
    assert plan.pressure == pytest.approx(4 / 60)
    assert plan.placement["a"] != plan.placement["c"]
    assert plan.placement["b"] != plan.placement["d"]


def test_many_windows_are_the_same_as_the_few_that_decide():
    few = [[3.0, 1.0, 0.5], [1.0, 3.0, 0.5], [2.0, 2.0, 0.5], [0.2, 0.1, 2.0]]
    gpus = [Gpu("g0", 80), Gpu("g1", 60)]
    wanted = solve(Problem(gpus, [Model(f"m{n}", 9 + n, load=each) for n, each in enumerate(few)]))
    # Every further window asks no more of anyone than one of the three.
    many = [[*loads, *(loads[t % 3] * (1 - t / 400) for t in range(165))] for loads in few]
    found = solve(Problem(gpus, [Model(f"m{n}", 9 + n, load=each) for n, each in enumerate(many)]))
    assert (found.status, found.placement) == (Status.OPTIMAL, wanted.placement)
    assert found.pressure == wanted.pressure


@pytest.mark.parametrize("batch", batches(60, 2))
def test_no_forged_proof_over_windows_is_believed(batch):
    refused = 0
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        draw = Random(seed)
        problem = without_requests(windowed_problem(seed))
        best = min((pressure_by_windows(problem, p) for p in all_placements(problem)), default=inf)
        true = solve(problem, time_limit=1).certificate
        # What other solvers have searched carries no proof: `colocate check` searches again.
        if not 0.0 < best < inf or true is None or true.proof is Proof.SOLVERS:
            continue
        for _ in range(6):
            forged = replace(
                true,
                bound=best * draw.choice([1.0 + 1e-6, 1.01, 2.0, 1e6]),
                window=draw.randrange(problem.windows),
                multipliers=tuple(draw.choice([m, 0, 2 * m]) for m in true.multipliers),
                tree=draw.choice([true.tree, true.tree[: len(true.tree) // 2]]),
            )
            assert refuted(problem, forged) is not None, (seed, forged)
            refused += 1
    assert refused > BATCH
