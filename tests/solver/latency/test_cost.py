"""The costs that the search rates are the ratios that the law predicts."""

from math import inf

import numpy as np
import pytest

from colocate.latency.prediction import predict_placement, ratios_of
from colocate.problem.layout import arrange
from colocate.problem.reduction import reduction_of
from colocate.solver.latency.cost import BROKEN, SATURATED
from colocate.solver.latency.descent import descend
from colocate.solver.latency.item_moves import no_moves, rate_all
from colocate.solver.latency.now import empty_state
from tests.latency_fleets import small_fleet, with_binding


def rated(problem, gpu_of):
    """The cost of every GPU, by its name."""
    now = empty_state(reduction_of(problem))
    arrange(now.instance, now.layout, gpu_of)
    rate_all(now)
    return dict(zip((gpu.name for gpu in problem.gpus), now.costs.cost.tolist(), strict=True))


def anywhere(problem, seed):
    """Random places of all items, with the parts of a model on different GPUs."""
    rng, taken, gpu_of = np.random.default_rng(seed), {}, []
    for number, item in enumerate(reduction_of(problem).items):
        model = item.models[0]
        used = taken.setdefault(model.name if model.parts > 1 else number, set())
        gpu_of.append(int(rng.choice([g for g in range(len(problem.gpus)) if g not in used])))
        used.add(gpu_of[-1])
    return np.array(gpu_of, np.int64)


FLEETS = [
    (seed, fleet)
    for seed, fleet in enumerate(map(small_fleet, range(400)))
    if all(model.parts <= len(fleet.gpus) for model in fleet.models)
]


def test_costs_are_the_predicted_ratios():
    for seed, problem in FLEETS:
        gpu_of = anywhere(problem, seed)
        placement = reduction_of(problem).placement(gpu_of)
        wanted = ratios_of(predict_placement(problem, placement), {g.name: g for g in problem.gpus})
        for gpu, cost in rated(problem, gpu_of).items():
            if wanted[gpu] == inf:
                assert cost >= SATURATED
            else:
                assert cost == pytest.approx(wanted[gpu], rel=1e-9), (seed, gpu)


def test_a_broken_target_costs_more_than_saturation():
    for seed, problem in FLEETS[:150]:
        bound = with_binding(problem, 0.5, seed)
        gpu_of = anywhere(problem, seed)
        predicted = predict_placement(bound, reduction_of(problem).placement(gpu_of))
        for gpu, cost in rated(bound, gpu_of).items():
            here = [each for each in predicted if gpu in each.gpus]
            breaks = any(
                each.requests.binding and each.requests.has_target and each.shared.ratio > 1.0
                for each in here
            )
            assert (cost >= BROKEN) == breaks, (seed, gpu)


def test_costs_after_moves_are_those_of_the_placement():
    for seed, problem in FLEETS[:150]:
        now = empty_state(reduction_of(problem))
        arrange(now.instance, now.layout, anywhere(problem, seed))
        rate_all(now)
        before = sorted(now.costs.cost, reverse=True)
        descend(now, no_moves(len(now.layout.gpu_of)), len(problem.gpus))
        after = sorted(now.costs.cost, reverse=True)
        assert after <= [cost * (1 + 1e-8) for cost in before]
        anew = rated(problem, now.layout.gpu_of)
        assert now.costs.cost.tolist() == pytest.approx(list(anew.values()), rel=1e-9)
