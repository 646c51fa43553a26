"""Random fleets of every sort, and what happens to them: other demand, GPUs that come and go."""

from dataclasses import dataclass, replace

import numpy as np

from colocate import Gpu, Model, Problem
from colocate.errors import InputError

SMALL_MODELS, SMALL_GPUS = 5, 3
"""Up to so many, every state can be tried."""
MEMORIES = (40.0, 80.0, 80.0, 141.0)


@dataclass(frozen=True)
class DrawnStory:
    """A fleet, and what is to happen to it.

    Parameters
    ----------
    seed, small
        Of the draw, and whether every state can be tried.
    problem, later
        The fleet as it is planned first, and with other demand and perhaps one more GPU.
    memory
        Whether engines keep their caches (`fixed`) or share them (`elastic`).
    lost, draining
        GPUs that are gone before the change, and that are to be left by it.
    dying
        A GPU that goes in the middle of the change; empty for none.
    failing
        The share of steps that fail.
    kills
        How often the controller is killed in the middle of steps.
    always_serving
        Whether interruptions are refused at first.
    anew
        Whether the change goes to a fresh plan, however far; else to a replan.
    """

    seed: int
    small: bool
    problem: Problem
    later: Problem
    memory: str
    lost: tuple[str, ...]
    draining: tuple[str, ...]
    dying: str
    failing: float
    kills: int
    always_serving: bool
    anew: bool


def drawn_story(seed):
    """Return a random fleet with its fate; half of them are small."""
    rng = np.random.default_rng(seed)
    small = bool(rng.random() < 0.5)
    problem = None
    while problem is None:
        problem = _drawn_problem(rng, small)
    later, lost, draining, dying = _changed(rng, problem, small)
    return DrawnStory(
        seed,
        small,
        problem,
        later,
        str(rng.choice(["fixed", "elastic"])),
        lost,
        draining,
        dying,
        float(rng.choice([0.0, 0.05, 0.15, 0.3])),
        int(rng.integers(0, 3)),
        bool(rng.random() < 0.3),
        bool(rng.random() < 0.6),
    )


def _drawn_problem(rng, small):
    """Return a random fleet, or None if its rules contradict each other."""
    gpus = _drawn_gpus(rng, int(rng.integers(2, SMALL_GPUS + 1) if small else rng.integers(3, 9)))
    number = int(rng.integers(3, SMALL_MODELS + 1) if small else rng.integers(5, 17))
    fill = float(rng.choice([0.3, 0.45, 0.6, 0.75, 0.9]))
    weights = rng.uniform(0.3, 2.0, number)
    total = sum(gpu.memory_gb for gpu in gpus) * fill
    most = max(gpu.memory_gb for gpu in gpus) * (0.6 if rng.random() < 0.9 else 2.0)
    models = [
        _drawn_model(rng, f"m{n}", min(float(total * share), most), gpus)
        for n, share in enumerate(weights / weights.sum())
    ]
    names = [model.name for model in models]
    apart = [tuple(rng.choice(names, 2, replace=False)) for _ in range(int(rng.integers(0, 3)))]
    plain = [m.name for m in models if m.shards == m.most_replicas == 1 and not m.only]
    together = []
    if len(plain) >= 2 and rng.random() < 0.15:
        together = [tuple(str(name) for name in rng.choice(plain, 2, replace=False))]
    crowd = int(rng.integers(3, 6)) if rng.random() < 0.1 else None
    try:
        return Problem(gpus, models, [tuple(map(str, g)) for g in apart], together, crowd)
    except InputError:
        return None


def _drawn_gpus(rng, number):
    per_node = int(rng.integers(2, 5))
    alike = rng.random() < 0.3
    memory = rng.choice(MEMORIES, number)
    return [
        Gpu(f"g{n}", float(memory[0 if alike else n]), node=f"n{n // per_node}")
        for n in range(number)
    ]


def _drawn_model(rng, name, size, gpus):
    """Return a random model whose parts together have about a size."""
    pairs = len(gpus) > 1 and gpus[0].node == gpus[1].node
    wide = 2 if pairs and rng.random() < 0.2 else 1
    replicas = 2 if len(gpus) > 2 * wide - 1 and rng.random() < 0.2 else 1
    names = [gpu.name for gpu in gpus]
    only = ()
    if rng.random() < 0.1:
        only = tuple(map(str, rng.choice(names, min(len(names), wide * replicas + 1), False)))
    return Model(
        name,
        round(max(size / replicas, 0.5), 1),
        load=_drawn_load(rng),
        replicas=replicas,
        most_replicas=replicas + int(rng.random() < 0.1),
        shards=wide,
        only=only,
        sleep_cost=float(rng.integers(1, 9)) if rng.random() < 0.15 else None,
        least_cache_gb=float(rng.integers(1, 4)) if rng.random() < 0.3 else None,
    )


def _drawn_load(rng):
    return round(float(np.exp(rng.uniform(0.0, 5.0))), 2)


def _changed(rng, problem, small):
    """Return the fleet with other demand, and what becomes of its GPUs."""
    models = [model.changed(load=_drawn_load(rng)) for model in problem.models]
    gpus = list(problem.gpus)
    event = str(rng.choice(["none", "none", "lost", "drain", "join", "dying", "dying"]))
    chosen = str(rng.choice([gpu.name for gpu in gpus]))
    if event == "join" and not (small and len(gpus) == SMALL_GPUS):
        gpus.append(Gpu("new", float(rng.choice(MEMORIES)), node=gpus[-1].node))
    return (
        replace(problem, gpus=tuple(gpus), models=tuple(models)),
        (chosen,) if event == "lost" else (),
        (chosen,) if event == "drain" else (),
        chosen if event == "dying" else "",
    )
