"""Random fleets with every index of every kernel checked: `make test-bounds`.

Compiled code reads and writes wherever an index points. Here numba checks each one.
"""

import numba
import numpy as np
import pytest

from colocate import Gpu, Model, Problem, Status, solve, verify

FLEETS = 60


def test_indices_are_checked():
    assert numba.config.BOUNDSCHECK == 1, "run this by `make test-bounds`"


def fleet(rng):
    """Draw a fleet that has a little of everything, often empty GPUs and windows without load."""
    gpus, windows = int(rng.choice([1, 2, 5, 12, 60])), int(rng.choice([1, 2, 6]))
    count = int(rng.choice([3, 20, 101, 180]))
    nodes = min(int(rng.integers(1, 4)), gpus)
    limited = rng.random() < 0.3
    busy = rng.random(windows) < 0.7
    largest = min(70.0, 2.0 * 80.0 * gpus / count)
    models = []
    for number in range(count):
        load = rng.gamma(1.0, 1.0, windows) * busy * (rng.random() < 0.9)
        alone = rng.random() < 0.8
        shards = 1 if alone or gpus < 4 * nodes else 2
        models.append(
            Model(
                f"m{number}",
                float(rng.uniform(0, largest)) * (rng.random() < 0.95),
                load=tuple(load.tolist()),
                shards=shards,
                replicas=2 if shards == 1 and gpus > 2 and rng.random() < 0.1 else 1,
                only=[f"n{number % nodes}"] if rng.random() < 0.1 else [],
                uses={"r": float(rng.uniform(0, 0.1))} if limited else {},
                sleep_cost=1.0 if rng.random() < 0.1 else None,
            )
        )
    groups = [
        tuple(f"m{n}" for n in rng.choice(count, 2, replace=False)) for _ in range(count // 30)
    ]
    return Problem(
        [
            Gpu(
                f"g{n}",
                float(rng.choice([24, 80])),
                node=f"n{n % nodes}",
                limits={"r": 1.0} if limited else {},
            )
            for n in range(gpus)
        ],
        models,
        apart=groups,
    )


@pytest.mark.parametrize("seed", range(FLEETS))
def test_no_kernel_leaves_its_arrays(seed):
    problem = fleet(np.random.default_rng(seed))
    plan = solve(problem, time_limit=0.5, seed=seed)
    assert not plan.alarms
    if plan.placement:
        assert verify(problem, plan.placement).valid
    else:
        assert plan.status in (Status.INFEASIBLE, Status.UNKNOWN)


def test_empty_gpus_are_regrouped():
    gpus = [Gpu(f"g{n}", 80) for n in range(400)]
    rng = np.random.default_rng(0)
    models = [
        Model(f"m{n}", 0.1, load=tuple(rng.random(2).tolist()), only=["g0", "g1"][: 1 + n % 2])
        for n in range(130)
    ]
    assert solve(Problem(gpus, models), time_limit=1).placement
