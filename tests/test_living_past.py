"""The past of the replayed conditions: the same process, and nothing of what is to come."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.living_conditions import SECONDS, conditions
from benchmarks.living_past import PAST, past_counts, past_demand

MINUTE = 60.0
NAMED = {each.name: each for each in conditions()}


def hot(curves, moment):
    """Return the models that are asked most at a moment."""
    asked = {name: curve.factors[at(curve, moment)] for name, curve in curves.items()}
    return {name for name, factor in asked.items() if factor == max(asked.values())}


def at(curve, moment):
    return int(np.searchsorted(curve.starts, moment, side="right")) - 1


@pytest.mark.parametrize("name", ["hot set 16", "hot set 17", "hot set 20"])
def test_no_model_is_hot_twice_in_a_row_from_the_past_on(name):
    condition = NAMED[name]
    before, coming = past_demand(condition).curves, condition.demand.curves
    period = condition.pattern["period"]
    sets = [hot(before, PAST - 1.0 - period * n) for n in reversed(range(int(PAST // period)))]
    sets += [hot(coming, 1.0 + period * n) for n in range(int(SECONDS // period))]
    assert {len(each) for each in sets} == {condition.pattern["hot"]}
    assert not any(early & late for early, late in pairwise(sets))
    highest = {max(curve.factors) for curve in (*before.values(), *coming.values())}
    assert len(highest) == 2


@pytest.mark.parametrize("name", ["day and night 13", "day and night 14", "day and night 15"])
def test_by_day_and_night_the_clock_goes_back(name):
    condition = NAMED[name]
    before, coming = past_demand(condition).curves, condition.demand.curves
    day = condition.pattern["seconds"]
    for moment in np.arange(1.0, PAST, 97.0):
        later = moment - PAST + day * np.ceil(PAST / day)
        for model, curve in before.items():
            now = coming[model]
            assert curve.factors[at(curve, moment)] == now.factors[at(now, later)]


def test_a_drift_begins_with_the_rates_of_the_past():
    condition = NAMED["drift 12"]
    for model, curve in past_demand(condition).curves.items():
        assert curve.factors == condition.demand.curves[model].factors[:1]


def test_bursts_were_at_other_moments():
    condition = NAMED["burst groups 8"]
    before, coming = past_demand(condition).curves, condition.demand.curves
    assert all(before[name].starts[1:9] != coming[name].starts[1:9] for name in coming)


@pytest.mark.parametrize("name", ["steady 1", "bursts 5", "hot set 18"])
def test_counts_are_those_of_the_rates(name):
    condition = NAMED[name]
    problem = condition.problem
    counts = past_counts(condition, problem, MINUTE)
    assert counts.shape == (PAST / MINUTE, len(problem.models))
    rates = [model.requests.rate for model in problem.models]
    assert counts.sum() / PAST == pytest.approx(sum(rates), rel=0.1)
    assert (past_counts(condition, problem, MINUTE) == counts).all()
