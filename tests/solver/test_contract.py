"""What every strategy promises, whatever it is made of."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colocate import STRATEGIES, Status, place, verify
from tests.problems import in_units, optimum, problems, renamed

SIZE_UNITS = st.sampled_from([1000.0, 1024.0, 1 / 1024, 1e-3, 3.0, 0.5])
LOAD_UNITS = st.sampled_from([60.0, 3600.0, 1 / 60, 1e-3, 7.0, 2.0])

each_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@each_strategy
@settings(max_examples=25)
@given(problem=problems(max_windows=2), seed=st.integers(0, 3))
def test_every_model_is_placed_or_the_status_says_why_not(strategy, problem, seed):
    before = problem.instance
    arrays = [array.copy() for array in (*before[:-1], *before.rules)]
    plan = place(problem, strategy, seed)
    after = (*problem.instance[:-1], *problem.instance.rules)
    assert all((a == b).all() for a, b in zip(arrays, after, strict=True))
    assert place(problem, strategy, seed).placement == plan.placement
    if plan.status is Status.FEASIBLE:
        verdict = verify(problem, plan.placement)
        assert verdict.valid, verdict.faults
        assert list(plan.pressures) == [gpu.name for gpu in problem.gpus]
        assert plan.pressures == pytest.approx(verdict.pressures, rel=1e-9)
        assert plan.pressure == max(plan.pressures.values())
    else:
        assert plan.status is Status.INFEASIBLE
        assert plan.reason
        assert not plan.placement
        assert plan.pressure == inf


@each_strategy
@settings(max_examples=10)
@given(problem=problems(max_gpus=3, max_models=5, max_windows=2, limited=True))
def test_brute_force_agrees_on_what_is_possible(strategy, problem):
    plan = place(problem, strategy)
    best = optimum(problem)
    if best is None:
        assert plan.status is Status.INFEASIBLE
    else:
        assert plan.status is Status.FEASIBLE
        assert plan.pressure >= float(best) * (1 - 1e-9)


@each_strategy
@settings(max_examples=20)
@given(problem=problems(max_windows=2), size_unit=SIZE_UNITS, load_unit=LOAD_UNITS)
def test_names_and_units_do_not_matter(strategy, problem, size_unit, load_unit):
    here = list(place(problem, strategy).placement.values())
    assert list(place(renamed(problem), strategy).placement.values()) == here
    scaled = in_units(problem, size_unit, load_unit)
    assert list(place(scaled, strategy).placement.values()) == here
