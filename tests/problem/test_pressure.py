import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem
from colocate.problem.checker.tolerance import ROUNDING
from colocate.problem.instance import canonical
from colocate.problem.layout import (
    NOWHERE,
    arrange,
    empty_layout,
    fits,
    move,
    pressure_after,
    put,
    swap,
    take,
)
from colocate.problem.tolerance import FIT
from tests.problems import in_units, problems


def pressures(instance, gpu_of):
    layout = empty_layout(instance)
    arrange(instance, layout, np.array(gpu_of))
    return layout.pressure.tolist()


def test_pressure_by_hand():
    problem = Problem(
        [Gpu("a", 80), Gpu("b", 80), Gpu("c", 80), Gpu("d", 30)],
        [Model("x", 20, 4, 8), Model("y", 20, 6, 8), Model("idle", 80, 0, 1), Model("z", 30, 1, 1)],
    )
    values = pressures(problem.instance, [0, 0, 2, 3])
    assert values == [1.25 / 40, 0.0, 0.0, np.inf]


def test_pressure_takes_the_worst_window():
    problem = Problem([Gpu("a", 80)], [Model("x", 10, load=[1, 7]), Model("y", 20, load=[5, 3])])
    assert pressures(problem.instance, [0, 0]) == [10 / 50]


def test_sizes_that_add_up_to_the_memory_fill_it_exactly_despite_rounding():
    problem = Problem(
        [Gpu("a", 80.0)], [Model(f"m{n}", s, 0, 1) for n, s in enumerate([26.7, 26.6])]
    )
    layout = empty_layout(problem.instance)
    arrange(problem.instance, layout, np.array([0, 0]))
    exact = Problem(problem.gpus, [*problem.models, Model("last", 26.7, 0, 1)])
    over = Problem(problem.gpus, [*problem.models, Model("last", 26.7 + 1e-6, 0, 1)])
    assert fits(exact.instance, layout, 0, NOWHERE, 2)
    assert not fits(over.instance, layout, 0, NOWHERE, 2)


def test_the_checker_states_the_same_tolerance():
    assert float(ROUNDING) == FIT


@given(problems(max_windows=3), st.randoms(use_true_random=False))
def test_incremental_equals_full_recomputation(problem, random):
    instance = problem.instance
    n, g = len(problem.models), len(problem.gpus)
    gpu_of = np.array([random.randrange(g) for _ in range(n)])
    layout = empty_layout(instance)
    arrange(instance, layout, gpu_of)
    for _ in range(12):
        model, gpu = random.randrange(n), random.randrange(g)
        expected = pressure_after(instance, layout, gpu, NOWHERE, model)
        if layout.gpu_of[model] != gpu:
            move(instance, layout, model, gpu)
            assert layout.pressure[gpu] == pytest.approx(expected)
        one, other = random.randrange(n), random.randrange(n)
        if layout.gpu_of[one] != layout.gpu_of[other]:
            swap(instance, layout, one, other)
        fresh = empty_layout(instance)
        arrange(instance, fresh, layout.gpu_of)
        for mine, full in zip(layout, fresh, strict=True):
            assert np.array_equal(mine, full)


@given(problems(max_windows=2), st.sampled_from([2.0, 1000.0, 1 / 3, 1024.0, 0.001]))
def test_canonical_units_do_not_depend_on_the_units_given(problem, factor):
    here = canonical(problem.instance)
    there = canonical(in_units(problem, factor, 60.0).instance)
    for mine, other in zip(here[:3], there[:3], strict=True):
        assert mine == pytest.approx(other, rel=1e-11, abs=0)


def test_resources_limit_what_fits():
    problem = Problem(
        [Gpu("a", 80, "H100", {"compute": 1.0})],
        [Model("x", 1, 1, 1, uses={"compute": 0.7}), Model("y", 1, 1, 1, uses={"compute": 0.4})],
    )
    layout = empty_layout(problem.instance)
    put(problem.instance, layout, 0, 0)
    assert not fits(problem.instance, layout, 0, NOWHERE, 1)
    assert fits(problem.instance, layout, 0, 0, 1)
    take(problem.instance, layout, 0)
    assert layout.use.tolist() == [[0.0]]
