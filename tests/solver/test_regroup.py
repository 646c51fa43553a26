import numpy as np
import pytest

from colocate import Gpu, Model, Problem, load_suite, verify
from colocate.problem.instance import canonical
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.placement import Placement
from colocate.solver.construct.filling import filled
from colocate.solver.construct.tournament import replay, tournament
from colocate.solver.construct.volume import volume_bound
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.improve.smoothing import Smoothing


def evenly_filled(problem):
    instance = canonical(problem.instance)
    layout = empty_layout(instance)
    assert filled(instance, layout, 0) == 0
    return instance, layout


def test_the_winner_is_the_highest_after_any_change():
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 8, 13):
        values = rng.random(count)
        winners = tournament(values)
        for _ in range(30):
            assert values[winners[1]] == values.max()
            changed = rng.integers(count)
            values[changed] = rng.random()
            replay(winners, values, changed)


def test_the_first_wins_a_draw():
    assert tournament(np.array([1.0, 2.0, 2.0]))[1] == 1


def test_even_filling_by_hand():
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], [Model(f"m{w}", 10, load=w) for w in (5, 4, 3)])
    _, layout = evenly_filled(problem)
    assert layout.gpu_of.tolist() == [0, 1, 1]


def test_even_filling_says_when_a_model_found_no_room():
    problem = Problem([Gpu("a", 10)], [Model("m", 6, load=1), Model("n", 6, load=1)])
    instance = canonical(problem.instance)
    assert filled(instance, empty_layout(instance), 0) == 1


@pytest.mark.parametrize("number", [4, 5, 7])
def test_regrouping_lowers_the_peak_and_keeps_every_model(number):
    problem = load_suite("scale").cases[number].problem
    instance, layout = evenly_filled(problem)
    before = layout.pressure.max()
    bound = volume_bound(instance)
    assert regroup(instance, layout, np.random.default_rng(0), bound, fresh_pace(), 20_000)
    assert layout.pressure.max() < before
    verdict = verify(problem, Placement.from_indices(problem, layout.gpu_of))
    assert verdict.valid


def test_short_runs_are_one_long_run():
    problem = load_suite("scale").cases[5].problem
    instance, one = evenly_filled(problem)
    _, many = evenly_filled(problem)
    bound = volume_bound(instance)
    rng = np.random.default_rng(7)
    regroup(instance, one, rng, bound, fresh_pace(), 3000)
    again, pace = np.random.default_rng(7), fresh_pace()
    for _ in range(3000):
        if again.bit_generator.state == rng.bit_generator.state:
            break
        regroup(instance, many, again, bound, pace, 1)
    assert again.bit_generator.state == rng.bit_generator.state
    assert one.gpu_of.tolist() == many.gpu_of.tolist()


def test_an_infinite_peak_is_left():
    models = [Model("full", 80, load=1), Model("a", 40, load=0), Model("b", 20, load=0)]
    gpus = [Gpu("big", 100), Gpu("g", 80), Gpu("h", 80)]
    problem = Problem(gpus, models)
    instance = canonical(problem.instance)
    layout = empty_layout(instance)

    arrange(instance, layout, np.array([1, 0, 2]))
    assert layout.pressure.max() == np.inf
    regroup(instance, layout, np.random.default_rng(0), volume_bound(instance), fresh_pace(), 2000)
    assert layout.pressure.max() < np.inf


def test_smoothing_lowers_the_squares_and_never_the_peak_rises():
    problem = load_suite("longtail").cases[2].problem
    instance, layout = evenly_filled(problem)
    peak, squares = layout.pressure.max(), (layout.pressure**2).sum()
    Smoothing().improve(instance, layout, np.random.default_rng(0))
    assert layout.pressure.max() <= peak
    assert (layout.pressure**2).sum() < squares
    assert verify(problem, Placement.from_indices(problem, layout.gpu_of)).valid
