from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, load_suite
from colocate.problem.instance import canonical
from colocate.problem.layout import empty_layout
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import Exhaustive, search_fit
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.orders import Order, sorted_models
from colocate.solver.construct.packing import Fit, Packing, pack
from colocate.solver.construct.volume import volume_bound
from tests.campaign import campaign
from tests.problems import optimum, problems

ORDERED = Problem(
    [Gpu("a", 80)],
    [
        Model("0", 10, load=4),
        Model("1", 30, load=1),
        Model("2", 20, load=4),
        Model("3", 30, load=2),
    ],
)


@pytest.mark.parametrize(
    ("order", "target", "expected"),
    [
        (Order.LOAD, 0.0, [0, 2, 3, 1]),
        (Order.LOAD_THEN_SIZE, 0.0, [2, 0, 3, 1]),
        (Order.SIZE, 0.0, [1, 3, 2, 0]),
        (Order.SIZE_THEN_LOAD, 0.0, [3, 1, 2, 0]),
        (Order.VIRTUAL, 0.1, [2, 0, 3, 1]),
        (Order.VIRTUAL, 10.0, [3, 1, 2, 0]),
        (Order.DENSITY, 0.0, [0, 2, 3, 1]),
    ],
)
def test_orders_by_hand(order, target, expected):
    assert sorted_models(ORDERED.instance, order, target).tolist() == expected


def gpus_after(block, problem):
    layout = empty_layout(problem.instance)
    assert block.construct(problem.instance, layout)
    return layout.gpu_of.tolist()


def test_greedy_by_current_and_by_resulting_pressure():
    problem = Problem(
        [Gpu("a", 100), Gpu("b", 50)],
        [Model("x", 10, load=4), Model("y", 10, load=3), Model("z", 10, load=1)],
    )
    # x makes a 4/90; y goes to the empty b (3/40); then a is lower now and afterwards.
    assert gpus_after(Greedy(Order.LOAD, Look.CURRENT), problem) == [0, 1, 0]
    # x would make b 4/40, so a; y would make a 7/80, b 3/40: b; z: a 5/80, b 4/30: a.
    assert gpus_after(Greedy(Order.LOAD, Look.RESULTING), problem) == [0, 1, 0]
    # An empty GPU has pressure 0 now, however small it is.
    small = Problem([Gpu("a", 100), Gpu("b", 12)], problem.models)
    assert gpus_after(Greedy(Order.LOAD, Look.CURRENT), small) == [0, 1, 0]
    assert gpus_after(Greedy(Order.LOAD, Look.RESULTING), small) == [0, 0, 0]


def test_first_fit_takes_the_first_and_best_fit_the_fullest():
    problem = Problem(
        [Gpu("a", 100), Gpu("b", 60), Gpu("c", 40)],
        [Model("x", 35, load=1), Model("y", 30, load=1)],
    )
    layout = empty_layout(problem.instance)
    models = np.array([0, 1])
    assert pack(problem.instance, layout, models, Fit.FIRST, np.inf)
    assert layout.gpu_of.tolist() == [0, 0]
    assert pack(problem.instance, layout, models, Fit.BEST, np.inf)
    assert layout.gpu_of.tolist() == [2, 1]
    assert not pack(problem.instance, layout, models, Fit.FIRST, 0.001)


def test_bisection_finds_the_even_split():
    problem = Problem(
        [Gpu("a", 80), Gpu("b", 80)],
        [Model(f"m{n}", 10, load=w) for n, w in enumerate([3, 3, 2, 2])],
    )
    layout = empty_layout(problem.instance)
    for fit in Fit:
        block = Bisection((Packing(fit, Order.VIRTUAL),))
        assert block.construct(problem.instance, layout)
        assert layout.pressure.tolist() == [5 / 60, 5 / 60]


def test_bisection_falls_back_on_memory_alone():
    full = Problem([Gpu("a", 80), Gpu("b", 40)], [Model("x", 80, load=1), Model("y", 40, load=1)])
    assert gpus_after(Bisection((Packing(Fit.FIRST, Order.VIRTUAL),)), full) == [0, 1]
    too_much = Problem([Gpu("a", 80)], [Model("x", 60, load=1), Model("y", 40, load=1)])
    layout = empty_layout(too_much.instance)
    assert not Bisection((Packing(Fit.FIRST, Order.VIRTUAL),)).construct(too_much.instance, layout)


# Six models that only fit two GPUs as 5+3+2 and 4+4+2, which first and best fit both miss.
KNAPSACK = Problem(
    [Gpu("a", 10), Gpu("b", 10)],
    [Model(f"m{n}", size, load=0.1) for n, size in enumerate([5, 4, 4, 3, 2, 2])],
)


def test_exhaustive_search_finds_what_packing_misses():
    layout = empty_layout(KNAPSACK.instance)
    packing = Bisection((Packing(Fit.FIRST, Order.SIZE), Packing(Fit.BEST, Order.SIZE)))
    assert not packing.construct(KNAPSACK.instance, layout)
    assert Exhaustive().construct(KNAPSACK.instance, layout)
    assert sorted(layout.used.tolist()) == [10, 10]


def test_exhaustive_search_gives_up_at_its_limit():
    layout = empty_layout(KNAPSACK.instance)
    assert search_fit(KNAPSACK.instance, layout, np.inf, 2).outcome is Outcome.UNDECIDED


def test_another_thread_can_end_an_exhaustive_search():
    case = load_suite("scale").cases[6].problem
    target = 1.00001 * volume_bound(case.instance)
    go = np.ones(1, np.int64)
    layout = empty_layout(case.instance, go)
    search_fit(case.instance, layout, target, 1)
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(search_fit, case.instance, layout, target, 10**12)
        assert wait([search], timeout=0.2).not_done
        go[0] = 0
        found = search.result(timeout=30)
    assert found.outcome is Outcome.UNDECIDED
    assert found.visited > 1


@campaign(400)
@given(
    problems(max_gpus=3, max_models=6, max_windows=2, limited=True)
    | problems(max_gpus=3, max_models=6, max_windows=2),
    st.sampled_from([0.5, 0.9, 0.999999, 1.000001, 1.1, 1.5]),
)
def test_exhaustive_search_is_right_about_every_target(problem, factor):
    best = optimum(problem)
    finite = best is not None and 0 < best < float("inf")
    target = float(best) * factor if finite else float("inf")
    instance = problem.instance
    outcome = search_fit(instance, empty_layout(instance), target, 10**6).outcome
    if best is None:
        assert outcome == Outcome.NONE
    elif target >= float(best) * (1 + 1e-9):
        assert outcome == Outcome.FOUND
    elif target <= float(best) * (1 - 1e-9):
        assert outcome == Outcome.NONE


@given(problems(max_gpus=3, max_models=5, max_windows=3))
def test_volume_bound_never_exceeds_the_optimum(problem):
    best = optimum(problem)
    if best is not None:
        assert volume_bound(problem.instance) <= float(best) * (1 + 1e-9)


def test_volume_bound_by_hand():
    assert volume_bound(ORDERED.instance) == np.inf
    roomy = Problem([Gpu("a", 80), Gpu("b", 40)], ORDERED.models)
    assert volume_bound(roomy.instance) == 11 / 30
    assert volume_bound(canonical(roomy.instance)) == pytest.approx(80 / 30)
    assert volume_bound(Problem([Gpu("a", 8)], [Model("x", 1, 0, 1)]).instance) == 0


def test_what_is_found_only_by_generosity_is_not_found():
    idle = Problem([Gpu("g", 80)], [Model("m", 80 * (1 + 1.5e-11), load=0.0)]).instance
    assert search_fit(idle, empty_layout(idle), 1.0, 100).outcome is Outcome.UNDECIDED


def test_where_there_is_load_the_last_byte_counts():
    nearly_full = Problem([Gpu("g", 80)], [Model("m", 80 * (1 - 4e-11), load=1.0)]).instance
    pressure = 1 / (80 - 80 * (1 - 4e-11))
    layout = empty_layout(nearly_full)
    assert search_fit(nearly_full, layout, 0.9 * pressure, 100).outcome is Outcome.NONE
    assert search_fit(nearly_full, layout, 1.1 * pressure, 100).outcome is Outcome.FOUND
