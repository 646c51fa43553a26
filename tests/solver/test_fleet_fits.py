"""Whole fleets filled to a target, and shard groups that move as a whole."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, solve
from colocate.problem.layout import arrange, arrange_some, empty_layout
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import NO_TAPE, Outcome, complete
from colocate.solver.construct.tight_fit import fill_tightly
from colocate.solver.construct.vector_fit import fill_vectors, highest_left, make_pool, remove
from colocate.solver.construct.volume import volume_bound
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import scatter_shards, shard_groups_in
from colocate.solver.portfolio.tightening import Tightening
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.volume import prove_by_volume


def day_and_night(rng, gpus, models, compute=None):
    limits = {"compute": compute} if compute else {}
    noon, night = rng.gamma(2.0, 1.0, (2, models))
    return Problem(
        [Gpu(f"g{n}", 80, limits=limits) for n in range(gpus)],
        [
            Model(
                f"m{n}",
                float(rng.uniform(1, 15)),
                load=(noon[n], night[n], noon[n] / 2 + night[n] / 2),
                uses={"compute": float(rng.uniform(0, 0.2))} if compute else {},
            )
            for n in range(models)
        ],
    )


def filled_vectors(instance, target, rounds=30):
    layout = empty_layout(instance)
    row = np.arange(instance.capacity.size)
    left = fill_vectors(instance, layout, row, target, rounds, np.random.default_rng(0))
    return layout, left


@pytest.mark.parametrize("compute", [None, 0.7])
@pytest.mark.parametrize("factor", [1.0, 1.1, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_vector_fit_keeps_to_target_and_limits(seed, factor, compute):
    problem = day_and_night(np.random.default_rng(seed), 12, 60, compute)
    instance = reduction_of(problem).canonical
    target = volume_bound(instance) * factor
    layout, left = filled_vectors(instance, target)
    assert left == np.sum(layout.gpu_of < 0)
    assert layout.pressure.max() <= target * (1 + 1e-9)
    placed = np.flatnonzero(layout.gpu_of >= 0)
    for gpu in range(12):
        here = placed[layout.gpu_of[placed] == gpu]
        assert layout.used[gpu] == pytest.approx(instance.size[here].sum())
        assert np.all(instance.use[0, here].sum(axis=0) <= instance.limit[gpu] * (1 + 1e-9))


def test_vector_fit_leaves_less_with_more_rounds():
    problem = day_and_night(np.random.default_rng(7), 64, 320)
    instance = reduction_of(problem).canonical
    target = volume_bound(instance) * 1.02
    assert filled_vectors(instance, target, 100)[1] < filled_vectors(instance, target, 1)[1]


def test_vector_fit_leaves_what_is_placed_where_it_is():
    problem = day_and_night(np.random.default_rng(3), 6, 24)
    instance = reduction_of(problem).canonical
    layout = empty_layout(instance)
    given = np.full(24, -1)
    given[[2, 5]] = [4, 0]
    arrange_some(instance, layout, given)
    target = volume_bound(instance) * 2
    fill_vectors(instance, layout, np.arange(6), target, 5, np.random.default_rng(0))
    assert layout.gpu_of[[2, 5]].tolist() == [4, 0]


def test_the_pool_knows_the_highest_item_that_is_left():
    rng = np.random.default_rng(0)
    need = rng.random(40)
    pool = make_pool.py_func(np.arange(40), need)
    left = set(range(40))
    for count in range(39, -1, -1):
        for rank in range(-1, 40):
            expected = max((r for r in range(rank + 1) if pool.ranked[r] in left), default=-1)
            assert highest_left(pool, rank) == expected
        item = int(rng.choice(sorted(left)))
        left.remove(item)
        remove(pool, item, count)
        assert set(pool.items[:count].tolist()) == left


def test_tight_fit_keeps_to_its_target():
    rng = np.random.default_rng(1)
    models = [Model(f"m{n}", float(rng.uniform(1, 15)), load=rng.gamma(2.0)) for n in range(60)]
    instance = reduction_of(Problem([Gpu(f"g{n}", 80) for n in range(12)], models)).canonical
    layout = empty_layout(instance)
    target = volume_bound(instance) * 1.05
    left = fill_tightly(instance, layout, np.arange(12), target)
    assert left == np.sum(layout.gpu_of < 0)
    assert layout.pressure.max() <= target * (1 + 1e-9)


def test_a_shard_group_that_is_moved_at_random_stays_in_one_node():
    gpus = [Gpu(f"g{n}", 80, node=f"n{n // 4}") for n in range(12)]
    models = [Model(f"m{n}", 40, load=1 + n, shards=2 + 2 * (n % 2)) for n in range(4)]
    reduction = reduction_of(Problem(gpus, models))
    instance, shard_groups = reduction.canonical, shard_groups_in(reduction.canonical)
    layout = empty_layout(instance)
    arrange(instance, layout, np.array([0, 1, 0, 1, 2, 3, 4, 5, 4, 5, 6, 7]))
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(50):
        scatter_shards(instance, layout, shard_groups, rng)
        homes = [layout.gpu_of[list(shard_group)] for shard_group in reduction.shard_groups]
        for shard_group in homes:
            assert len({int(gpu) // 4 for gpu in shard_group}) == 1
            assert len(set(shard_group.tolist())) == len(shard_group)
        seen.add(tuple(int(shard_group[0]) // 4 for shard_group in homes))
    assert len(seen) > 5


def test_many_rounds_end_with_the_time():
    problem = day_and_night(np.random.default_rng(0), 2, 1000)
    plan = solve(problem, time_limit=0.3, workers=1)
    assert plan.seconds < 3.0


def test_tightening_gives_up_where_what_is_pinned_never_fits():
    gpus = [Gpu("a0", 12.1), Gpu("a1", 12.1), *(Gpu(f"b{n}", 80) for n in range(6))]
    pinned = [
        Model(f"p{n}", size, load=1, only=["a0", "a1"]) for n, size in enumerate((6, 6, 4, 4, 4))
    ]
    others = [Model(f"m{n}", 1 + n % 4, load=1 + n % 3) for n in range(110)]
    reduction = reduction_of(Problem(gpus, [*pinned, *others]))
    progress = ItemProgress(reduction, SolveBudget(Deadline()))
    progress.offer(np.array([0, 0, 1, 1, 1, *(2 + n % 6 for n in range(110))]), "start")
    progress.prove(prove_by_volume(reduction.instance))
    activity = Tightening(reduction, progress.deadline, 0)
    for _ in range(3000):
        if activity.exhausted:
            break
        activity.step(progress)
    assert activity.exhausted


def test_nothing_fits_anywhere():
    instance = reduction_of(day_and_night(np.random.default_rng(0), 3, 4)).canonical
    nothing, everywhere = np.zeros(0, np.int64), np.arange(3)
    found = complete(instance, nothing, everywhere, 1.0, 100, np.ones(1, np.int64), NO_TAPE)
    assert found[0] == Outcome.FOUND
    assert found[1].size == found[2].size == 0
