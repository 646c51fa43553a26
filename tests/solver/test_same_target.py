"""Targets that mean the same, and crowds that are too much: exact, by hand and by brute force."""

from fractions import Fraction
from itertools import chain, combinations
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.solver.prove.solvers.choices import choices_of
from colocate.solver.prove.solvers.crowds import Crowd, crowds_in
from colocate.solver.prove.solvers.same_target import _neighbours, robust_target
from tests.campaign import campaign
from tests.problems import problems


def two_on_ten(**kwargs):
    return Problem([Gpu("g", 10)], [Model("a", 2, load=3), Model("b", 5, load=1)], **kwargs)


def test_between_two_fractions_all_targets_mean_the_same():
    """A GPU of 10 units: pressures are fractions with denominators up to 10."""
    problem = two_on_ten()
    middle = float((Fraction(3, 8) + Fraction(2, 5)) / 2)
    for target in (0.375, 0.376, 0.39, 0.3999):
        assert robust_target(problem, choices_of(problem), target) == pytest.approx(middle)


@pytest.mark.parametrize("target", [0.0, inf])
def test_ends_stay_what_they_are(target):
    problem = two_on_ten()
    assert robust_target(problem, choices_of(problem), target) == target


def test_numbers_without_a_unit_leave_the_target_alone():
    problem = Problem([Gpu("g", 10)], [Model("a", 2**0.5, load=3**0.5)])
    assert robust_target(problem, choices_of(problem), 0.3) == 0.3


@given(st.fractions(0, 50, max_denominator=10**6), st.integers(1, 60))
def test_neighbours_are_the_nearest_fractions(value, most):
    below, above = _neighbours(value, most)
    expected_below = max(Fraction(int(value * d), d) for d in range(1, most + 1))
    expected_above = min(Fraction(int(value * d) + 1, d) for d in range(1, most + 1))
    assert (below, above) == (expected_below, expected_above)


@campaign(150)
@given(problems(max_gpus=1, max_models=5, max_windows=2), st.floats(1e-3, 20), st.booleans())
def test_what_is_within_the_target_is_within_the_one_that_means_the_same(problem, target, at):
    """And what is not, is not: for every crowd on a GPU."""
    everything = [
        verify(
            Problem(problem.gpus, crowd), {model.name: (problem.gpus[0].name,) for model in crowd}
        ).pressure
        for crowd in chain.from_iterable(
            combinations(problem.models, count + 1) for count in range(len(problem.models))
        )
    ]
    if at and (finite := [pressure for pressure in everything if 0 < pressure < inf]):
        target = finite[len(finite) // 2]
    same = robust_target(problem, choices_of(problem), target)
    for pressure in everything:
        assert (pressure <= target) == (pressure <= same) or same == target


def test_a_crowd_has_only_who_is_needed_and_all_gpus_it_is_too_much_for():
    gpus = [Gpu("a", 20), Gpu("b", 20), Gpu("c", 40)]
    models = [Model("x", 9, load=5), Model("y", 9, load=5), Model("z", 1, load=0.1)]
    problem = Problem(gpus, models)
    everyone_on_b = {"x": ("b",), "y": ("b",), "z": ("b",)}
    crowds = crowds_in(problem, choices_of(problem), everyone_on_b, 2.0)
    assert crowds == [Crowd(((0, 1), (1, 1)), (0, 1))]
    assert crowds_in(problem, choices_of(problem), everyone_on_b, inf) == []
