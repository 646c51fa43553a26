import numpy as np
import pytest
from hypothesis import given, settings

from colocate import Gpu, Model, Problem
from colocate.problem.layout import arrange, empty_layout
from colocate.solver.improve.accept import Accept, accepts
from colocate.solver.improve.annealing import Annealing
from colocate.solver.improve.bottleneck import (
    highest_gpu,
    lowest_other_gpu,
    random_bottleneck,
    second_highest_gpu,
)
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated
from colocate.solver.improve.kicks import Kick, kick
from colocate.solver.improve.neighbourhood import LargeNeighbourhood
from colocate.solver.improve.pairs import PairRebalance, VariableNeighbourhood
from colocate.solver.improve.relief import IdleRelief, PeakRelief, WorstPairSwaps
from colocate.solver.improve.ruin import Recreate, Ruin, rearrange, restore, ruined_gpus
from tests.problems import problems

BLOCKS = [
    Descent(),
    Descent(best=True, smooth=True),
    PeakRelief(),
    WorstPairSwaps(),
    IdleRelief(),
    PairRebalance(),
    VariableNeighbourhood(),
    *[Iterated(kick=kind, steps=60) for kind in Kick],
    Iterated(Descent(best=True), Kick.RUIN, Ruin(guided=True), Accept(worse=0.2), steps=60),
    LargeNeighbourhood(Ruin(2, 1, Recreate.AT_RANDOM, share=0.99), Accept(worse=0.2), steps=60),
    LargeNeighbourhood(Ruin(recreate=Recreate.BY_VIRTUAL_SIZE), steps=60),
    Annealing(steps=200),
    Annealing(penalty=0.3, bias=0.5, ruins=0.3, steps=200),
]


def fleet(loads_by_gpu, size=10, memory=80):
    """One GPU a list of loads; returns the problem and its layout."""
    gpus = [Gpu(f"g{n}", memory) for n in range(len(loads_by_gpu))]
    pairs = [(gpu, load) for gpu, loads in enumerate(loads_by_gpu) for load in loads]
    problem = Problem(gpus, [Model(f"m{n}", size, load=w) for n, (_, w) in enumerate(pairs)])
    return problem, laid_out(problem, [gpu for gpu, _ in pairs])


def laid_out(problem, gpu_of):
    layout = empty_layout(problem.instance)
    arrange(problem.instance, layout, np.array(gpu_of))
    return layout


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
@settings(max_examples=20)
@given(problem=problems(max_windows=2))
def test_no_block_ever_ends_higher_or_loses_a_model(block, problem):
    layout = empty_layout(problem.instance)
    start = np.arange(len(problem.models)) % len(problem.gpus)
    arrange(problem.instance, layout, start)
    if (layout.used > problem.instance.capacity).any():
        return
    before = layout.pressure.max()
    block.improve(problem.instance, layout, rng())
    assert layout.pressure.max() <= before * (1 + 1e-9) or before == np.inf
    assert (layout.gpu_of >= 0).all()
    assert (layout.used <= problem.instance.capacity * (1 + 1e-9)).all()
    fresh = laid_out(problem, layout.gpu_of)
    assert all(np.array_equal(a, b) for a, b in zip(layout, fresh, strict=True))


def test_relocation_takes_the_first_or_the_best():
    problem, layout = fleet([[4, 2, 1], [1], []])
    Descent(steps=1).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [1, 0, 0, 1]
    problem, layout = fleet([[4, 2, 1], [1], []])
    Descent(best=True, steps=1).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [2, 0, 0, 1]


def test_swap_where_no_relocation_fits():
    sizes = [30, 10, 30, 10]
    problem = Problem(
        [Gpu("a", 45), Gpu("b", 45)],
        [
            Model(f"m{n}", s, load=w)
            for n, (s, w) in enumerate(zip(sizes, [5, 5, 1, 1], strict=True))
        ],
    )
    layout = laid_out(problem, [0, 0, 1, 1])
    Descent(swap=False).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [0, 0, 1, 1]
    Descent(relocate=False).improve(problem.instance, layout, rng())
    assert layout.pressure.tolist() == [6 / 5, 6 / 5]


def test_the_guard_skips_swaps_with_gpus_near_the_peak():
    problem, layout = fleet([[5, 4], [4.9, 3.9]])
    Descent(relocate=False, guard=0.9).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [0, 0, 1, 1]
    Descent(relocate=False, guard=1.0).improve(problem.instance, layout, rng())
    assert layout.pressure.max() == pytest.approx(8.9 / 60)


def test_smoothing_accepts_an_equal_peak_with_a_lower_sum_of_squares():
    # b moves the peak of 7/60 from g0 to g1, and leaves less pressure behind than it met there.
    models = [Model("a", 40, load=0.5), Model("b", 10, load=3), Model("c", 10, load=4)]
    problem = Problem([Gpu("g0", 80), Gpu("g1", 80)], models)
    layout = laid_out(problem, [0, 0, 1])
    Descent(best=True).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [0, 0, 1]
    Descent(best=True, smooth=True).improve(problem.instance, layout, rng())
    assert sorted(layout.pressure.tolist()) == pytest.approx([0.5 / 40, 7 / 60])


def test_peak_relief_donates_to_the_lowest():
    problem, layout = fleet([[4, 2, 1], [1], []])
    PeakRelief(passes=1).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [2, 0, 0, 1]


def test_worst_pair_swaps_touch_only_the_two_highest():
    problem, layout = fleet([[6, 3], [5, 1], [0.5]])
    WorstPairSwaps().improve(problem.instance, layout, rng())
    assert layout.gpu_of[4] == 2
    assert layout.pressure.max() == pytest.approx(8 / 60)


def test_idle_models_leave_the_highest_gpu_largest_first():
    models = [
        Model("hot", 30, load=4),
        Model("small idle", 10, load=0),
        Model("large idle", 30, load=0),
        Model("cool", 10, load=1),
    ]
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], models)
    layout = laid_out(problem, [0, 0, 0, 1])
    IdleRelief(rounds=1).improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [0, 0, 1, 1]
    IdleRelief().improve(problem.instance, layout, rng())
    assert layout.gpu_of.tolist() == [0, 1, 1, 1]


def test_pair_rebalance_splits_two_gpus_anew():
    problem, layout = fleet([[3, 3, 2], [2]])
    PairRebalance().improve(problem.instance, layout, rng())
    assert layout.pressure.tolist() == [5 / 60, 5 / 60]


def test_annealing_and_neighbourhoods_reach_the_even_split():
    for block in (
        Annealing(),
        LargeNeighbourhood(Ruin(recreate=Recreate.AT_RANDOM)),
        Iterated(),
        VariableNeighbourhood(),
        Iterated(kick=Kick.BURST),
    ):
        problem, layout = fleet([[5, 4, 3, 3, 3], [], []])
        block.improve(problem.instance, layout, rng())
        assert layout.pressure.max() == pytest.approx(7 / 60), block


def test_leaving_an_infinite_peak():
    problem = Problem(
        [Gpu("a", 40), Gpu("b", 40)], [Model("x", 20, load=1), Model("y", 20, load=1)]
    )
    for block in (Descent(), Iterated(), LargeNeighbourhood(Ruin(others=1)), Annealing()):
        layout = laid_out(problem, [0, 0])
        assert layout.pressure.max() == np.inf
        block.improve(problem.instance, layout, rng())
        assert layout.pressure.max() == 1 / 20, block


def test_bottlenecks():
    _, layout = fleet([[1], [3], [3], [2]])
    assert highest_gpu(layout) == 1
    assert second_highest_gpu(layout, 1) == 2
    assert lowest_other_gpu(layout, 0) == 3
    assert {random_bottleneck(layout, 1.0, np.random.default_rng(s)) for s in range(20)} == {1, 2}
    chosen = {random_bottleneck(layout, 0.5, np.random.default_rng(s)) for s in range(40)}
    assert chosen == {1, 2, 3}


def test_ruin_can_be_undone():
    problem, layout = fleet([[4, 2, 1], [1, 1], [3]])
    before = layout.gpu_of.copy()
    worked, models, homes = rearrange(
        problem.instance, layout, np.array([0, 1]), Recreate.BY_SIZE, rng()
    )
    assert worked
    assert not np.array_equal(before, layout.gpu_of)
    restore(problem.instance, layout, models, homes)
    assert np.array_equal(before, layout.gpu_of)


def test_ruin_that_does_not_fit_changes_nothing():
    models = [Model(f"m{n}", size, load=0) for n, size in enumerate([5, 4, 4, 3, 2, 2])]
    problem = Problem([Gpu("a", 10), Gpu("b", 10)], models)
    layout = laid_out(problem, [0, 1, 1, 0, 0, 1])
    worked, *_ = rearrange(problem.instance, layout, np.array([0, 1]), Recreate.BY_SIZE, rng())
    assert not worked
    assert layout.gpu_of.tolist() == [0, 1, 1, 0, 0, 1]


def test_ruined_gpus_are_distinct_and_start_with_the_bottleneck():
    _, layout = fleet([[1], [3], [2], [0.5], []])
    for seed in range(30):
        gpus = ruined_gpus(layout, Ruin(), 2, np.random.default_rng(seed)).tolist()
        assert gpus[0] == 1
        assert len(set(gpus)) == 3
    guided = ruined_gpus(layout, Ruin(guided=True), 1, rng())
    assert guided.tolist() == [1, 4]
    assert len(ruined_gpus(layout, Ruin(), 99, rng())) == 5


@pytest.mark.parametrize(
    ("rule", "change", "smoother", "patient", "kept"),
    [
        (Accept(equal=0.0), -0.1, False, True, 1.0),
        (Accept(equal=1.0), 0.0, False, True, 1.0),
        (Accept(equal=0.0), 0.0, True, True, 0.0),
        (Accept(smoother=True, equal=0.1), 0.0, True, True, 1.0),
        (Accept(smoother=True, equal=0.1), 0.0, False, True, 0.1),
        (Accept(worse=0.2), 0.1, True, True, 0.0),
        (Accept(worse=0.2), 0.1, True, False, 0.2),
    ],
)
def test_acceptance(rule, change, smoother, patient, kept):
    random = rng()
    trials = 4000
    count = sum(accepts(rule, change, smoother, patient, 1e-7, random) for _ in range(trials))
    assert count / trials == pytest.approx(kept, abs=0.02)


def test_kicks_change_something_and_keep_every_model():
    for kind in (Kick.RANDOM_MOVE, Kick.FORCED_MOVE, Kick.BURST, Kick.GROWING):
        problem, layout = fleet([[4, 2, 1], [1, 1], [3]])
        before = layout.gpu_of.copy()
        kick(problem.instance, layout, int(kind), 3, rng())
        changed = (before != layout.gpu_of).sum()
        assert changed >= 1
        if kind is Kick.FORCED_MOVE:
            assert changed == 1
            assert (layout.gpu_of[:3] != 0).sum() == 1
