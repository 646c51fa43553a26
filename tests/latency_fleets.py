"""Random fleets whose models state what they are asked: for tests of placement by latency."""

from dataclasses import replace

import numpy as np

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.requests import EngineSpeed, Requests

KINDS = {"h100": (80.0, 3.35e12, 0.6e15), "h200": (141.0, 4.8e12, 0.6e15)}
"""GB, bytes and operations each second of a kind of GPU."""


def requests_of(params, rate, prompt, output, tpot_slo, ttft_slo, **others):
    """What a model of so many parameters is asked, as fast as its weights can be read."""
    engines = tuple(
        (
            kind,
            EngineSpeed(
                2.0 * params / bandwidth + 2e-3,
                2e-5,
                2.0 * params * prompt / operations + 4e-3,
                2.0 * params * prompt / operations + 1e-3,
                32.0,
            ),
        )
        for kind, (_, bandwidth, operations) in KINDS.items()
    )
    return Requests(rate, output, engines, tpot_slo, ttft_slo, **others)


def latency_fleet(models=24, gpus=8, seed=0, kinds=("h100",), load=1.0, **fields):
    """Models of 1B to 8B with Zipf rates, each with targets that nothing has to keep."""
    rng = np.random.default_rng(seed)
    rank = rng.permutation(models) + 1
    rate = load * 3.0 * gpus * (1.0 / rank) / (1.0 / rank).sum()
    made = []
    for number in range(models):
        params = float(rng.choice([1e9, 1.5e9, 3e9, 4e9, 7e9, 8e9]))
        tpot, ttft = float(rng.choice([0.02, 0.03, 0.05, 0.1])), float(rng.choice([0.3, 0.5, 1.0]))
        requests = requests_of(
            params, rate[number], 500.0, 200.0, tpot, ttft, binding=False, request_gb=0.05
        )
        size = 2e-9 * params + 1.5
        made.append(Model(f"m{number}", size, load=rate[number] / tpot, requests=requests))
    names = [kinds[number % len(kinds)] for number in range(gpus)]
    places = tuple(Gpu(f"g{n}", KINDS[kind][0], kind=kind) for n, kind in enumerate(names))
    return Problem(places, tuple(made), **{"objective": "latency", **fields})


def small_fleet(seed, **fields):
    """A few models on up to three GPUs, with rules of every sort, targets and percentiles."""
    rng = np.random.default_rng(seed)
    count, gpus = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    kinds = [str(rng.choice(["h100", "h200"])) for _ in range(gpus)]
    places = tuple(Gpu(f"g{n}", 40.0, kind=kind, node="n") for n, kind in enumerate(kinds))
    models = []
    for number in range(count):
        params = float(rng.choice([1e9, 3e9, 7e9]))
        output = float(rng.choice([0.0, 50.0, 300.0], p=[0.1, 0.45, 0.45]))
        rate = float(rng.choice([0.0, 0.2, 1.0, 4.0, 300.0], p=[0.05, 0.3, 0.4, 0.22, 0.03]))
        requests = requests_of(
            params,
            rate,
            float(rng.choice([100.0, 2000.0])),
            output,
            float(rng.choice([0.01, 0.03, 0.1, np.inf])),
            float(rng.choice([0.1, 0.5, np.inf])),
            percentile=rng.choice([None, None, 95.0, 99.0]),
            binding=False,
            request_gb=float(rng.choice([0.0, 0.1, 0.5])),
            slots=float(rng.choice([4.0, 256.0])),
        )
        rules = {}
        if gpus > 1 and rng.random() < 0.15:
            rules["shards"] = 2
        elif gpus > 1 and rng.random() < 0.15:
            rules["replicas"] = 2
        elif rng.random() < 0.1:
            rules["never"] = ("g0",) if gpus > 1 else ()
        models.append(
            Model(
                f"m{number}",
                2e-9 * params + float(rng.uniform(0.5, 4.0)),
                load=float(rng.choice([0.0, 1.0, 5.0])),
                requests=requests,
                **rules,
            )
        )
    whole = [model.name for model in models if model.parts == 1]
    groups = {}
    if len(whole) > 2 and rng.random() < 0.3:
        groups["apart"] = (tuple(whole[:2]),)
    if len(whole) > 3 and rng.random() < 0.3:
        groups["together"] = (tuple(whole[-2:]),)
    if rng.random() < 0.2:
        groups["most_models"] = int(rng.integers(2, 5))
    sharing = str(rng.choice(["slices", "mps"]))
    stated = {"objective": "latency", "sharing": sharing, **groups, **fields}
    return Problem(places, tuple(models), **stated)


def with_binding(problem, chance=0.5, seed=0):
    """The same fleet, where some of the targets must be kept."""
    rng = np.random.default_rng(seed)
    models = tuple(
        model.changed(requests=replace(model.requests, binding=bool(rng.random() < chance)))
        for model in problem.models
    )
    return replace(problem, models=models)
