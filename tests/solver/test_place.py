from math import inf

import numpy as np
import pytest

from colocate import STRATEGIES, Gpu, InputError, Model, Problem, Status, place

each_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@each_strategy
def test_one_gpu_one_model(strategy):
    plan = place(Problem([Gpu("g", 80)], [Model("m", 20, 3, 6)]), strategy)
    assert plan.status is Status.FEASIBLE
    assert plan.placement == {"m": ("g",)}
    assert plan.pressures == {"g": 0.5 / 60}


@each_strategy
def test_more_gpus_than_models_leaves_some_empty(strategy):
    problem = Problem([Gpu(f"g{n}", 80) for n in range(4)], [Model("m", 20, 3, 6)])
    plan = place(problem, strategy)
    assert sorted(plan.pressures.values()) == [0, 0, 0, 0.5 / 60]


@each_strategy
def test_all_idle(strategy):
    problem = Problem([Gpu("a", 40), Gpu("b", 40)], [Model(f"m{n}", 19, 0, 1) for n in range(4)])
    plan = place(problem, strategy)
    assert plan.status is Status.FEASIBLE
    assert plan.pressure == 0


@each_strategy
def test_models_that_exactly_fill_a_gpu(strategy):
    idle = [Model("fills", 80, 0, 1), Model("half", 40, 2, 1), Model("other", 20, 1, 1)]
    plan = place(Problem([Gpu("a", 80), Gpu("b", 80)], idle), strategy)
    assert plan.status is Status.FEASIBLE
    assert plan.pressure == 3 / 20
    loaded = [Model("fills", 80, 1, 1), Model("rest", 40, 9, 1), Model("more", 40, 9, 1)]
    plan = place(Problem([Gpu("a", 80), Gpu("b", 80)], loaded), strategy)
    assert plan.status is Status.FEASIBLE
    assert plan.pressure == inf
    assert plan.placement["rest"] == plan.placement["more"] != plan.placement["fills"]


@each_strategy
def test_what_cannot_fit_is_infeasible_with_the_reason(strategy):
    gpus = [Gpu("a", 10), Gpu("b", 12)]
    too_large = Problem(gpus, [Model("x", 3, 1, 1), Model("y", 13, 1, 1)])
    plan = place(too_large, strategy)
    assert plan.status is Status.INFEASIBLE
    assert plan.reason == ("models[1] 'y': size_gb=13, must be at most 12 (the largest GPU, 'b')")
    too_many = place(Problem(gpus, [Model(f"m{n}", 8, 1, 1) for n in range(3)]), strategy)
    assert too_many.reason == (
        "models: size_gb adds up to 24, must be at most 22 (the memory of all GPUs)"
    )
    hidden = place(Problem(gpus, [Model(f"m{n}", 7, 1, 1) for n in range(3)]), strategy)
    assert hidden.status is Status.INFEASIBLE
    assert "no way to put the 3 models on the 2 GPUs" in hidden.reason
    limited = [Gpu("a", 80, limits={"compute": 0.5})]
    busy = Problem(limited, [Model("x", 1, 1, 1, uses={"compute": 0.6})])
    assert "it keeps 'a' busy 60% of the time, 50% allowed" in place(busy, strategy).reason


@each_strategy
def test_a_start_is_searched_for_where_the_own_one_does_not_fit(strategy):
    sizes = [5, 4, 4, 3, 2, 2]
    gpus = [Gpu("a", 10), Gpu("b", 10)]
    problem = Problem(gpus, [Model(f"m{n}", s, 0, 1) for n, s in enumerate(sizes)])
    plan = place(problem, strategy)
    assert plan.status is Status.FEASIBLE
    assert "searched for a start" in plan.reason


def test_unknown_when_neither_found_nor_excluded():
    # Sizes 30 + 0.37 n, three to a GPU with 0.05% to spare: too many ways to try.
    sizes = [30 + 0.37 * n for n in range(60)]
    gpus = [Gpu(f"g{n}", sum(sizes) / 20 * 1.0005) for n in range(20)]
    plan = place(Problem(gpus, [Model(f"m{n}", s, 1, 1) for n, s in enumerate(sizes)]))
    assert plan.status is Status.UNKNOWN
    assert plan.reason == (
        "initial_program found no room for every model; it is not proven that there is none"
    )
    assert not plan.placement


@pytest.mark.parametrize("seed", range(5))
def test_gpus_filled_to_the_last_byte_are_found(seed):
    rng = np.random.default_rng(seed)
    pieces = []
    for _ in range(5):
        cuts = np.sort(rng.choice(np.arange(1, 160), 3, replace=False))
        pieces += [int(piece) / 2 for piece in np.diff(cuts, prepend=0, append=160)]
    models = [Model(f"m{n}", size, 0, 1) for n, size in enumerate(rng.permutation(pieces))]
    plan = place(Problem([Gpu(f"g{n}", 80) for n in range(5)], models))
    assert plan.status is Status.FEASIBLE


def test_the_seed_decides():
    problem = Problem(
        [Gpu(f"g{n}", 80) for n in range(6)],
        [Model(f"m{n}", 5 + n % 7, 1 + n % 5, 5) for n in range(30)],
    )
    one = place(problem, "binary_bfd_sa", 1)
    assert one.placement == place(problem, "binary_bfd_sa", 1).placement
    assert any(one.placement != place(problem, "binary_bfd_sa", s).placement for s in range(2, 6))


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(InputError, match="must be a whole number >= 0"):
        place(Problem([Gpu("g", 80)], [Model("m", 20, 3, 6)]), seed=seed)


def test_plan_prints_itself_and_goes_to_plain_data():
    problem = Problem([Gpu("a", 40), Gpu("b", 40)], [Model("x", 40, 1, 1), Model("y", 20, 1, 2)])
    plan = place(problem)
    assert str(plan).splitlines()[-1] == "FEASIBLE: peak pressure inf"
    data = plan.as_dict()
    assert data["status"] == "FEASIBLE"
    assert data["pressure"] == "Infinity"
    assert data["pressures"] == {"a": "Infinity", "b": 0.025}
    assert data["placement"] == {"x": ["a"], "y": ["b"]}
    none = place(Problem([Gpu("a", 1)], [Model("x", 2, 1, 1)]))
    assert none.as_dict()["pressure"] is None
    assert str(none).startswith("INFEASIBLE: models[0] 'x': size_gb=2")
    assert none.bottleneck is None
