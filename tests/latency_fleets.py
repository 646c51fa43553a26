"""Random fleets whose models state what they are asked: for tests of placement by latency."""

from dataclasses import replace
from itertools import combinations, product
from math import fsum, inf

import numpy as np

from colocate.latency.prediction import predict_placement
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify import verify
from colocate.solver.targets import without_targets

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


def small_fleet(seed, sleep=False, open_replicas=False, most=6, **fields):
    """A few models on up to three GPUs, with rules of every sort, targets and percentiles."""
    rng = np.random.default_rng(seed)
    count, gpus = int(rng.integers(2, most + 1)), int(rng.integers(1, 4))
    kinds = [str(rng.choice(["h100", "h200"])) for _ in range(gpus)]
    places = tuple(Gpu(f"g{n}", 60.0, kind=kind, node="n") for n, kind in enumerate(kinds))
    models = []
    for number in range(count):
        params = float(rng.choice([1e9, 3e9, 7e9]))
        output = float(rng.choice([0.0, 50.0, 300.0], p=[0.1, 0.45, 0.45]))
        rate = float(rng.choice([0.0, 0.2, 1.0, 4.0, 300.0], p=[0.05, 0.4, 0.4, 0.14, 0.01]))
        requests = requests_of(
            params,
            rate,
            float(rng.choice([100.0, 2000.0])),
            output,
            float(rng.choice([0.01, 0.03, 0.1, np.inf], p=[0.1, 0.3, 0.4, 0.2])),
            float(rng.choice([0.1, 0.5, 2.0, np.inf], p=[0.1, 0.3, 0.3, 0.3])),
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
        if sleep and rng.random() < 0.4:
            rules["sleep_cost"] = float(rng.integers(1, 6))
        if open_replicas and rules.get("shards", 1) == 1 and gpus > 1 and rng.random() < 0.4:
            rules["most_replicas"] = int(rng.integers(rules.get("replicas", 1), gpus + 1))
        models.append(
            Model(
                f"m{number}",
                2e-9 * params + float(rng.uniform(0.5, 4.0)),
                load=float(rng.choice([0.0, 1.0, 5.0])),
                requests=requests,
                **rules,
            )
        )
    whole = [model.name for model in models if model.shards * model.most_replicas == 1]
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


def all_placements(problem):
    """Every placement that breaks no rule but targets and the limit on the pressure."""
    gpus = [gpu.name for gpu in problem.gpus]
    choices = []
    for model in problem.models:
        numbers = range(model.replicas, model.most_replicas + 1)
        ways = [()] if model.sleep_cost is not None else []
        for number in numbers:
            one = list(combinations(gpus, model.shards))
            for replicas in combinations(one, number):
                places = [gpu for replica in replicas for gpu in replica]
                if len(set(places)) == len(places):
                    ways.append(tuple(places))
        choices.append(ways)
    names = [model.name for model in problem.models]
    for places in product(*choices):
        placement = dict(zip(names, places, strict=True))
        yield placement, verify(without_targets(problem), placement)


def best_of_all(problem):
    """The least that any placement loses, and the lowest value with that loss; None if none is."""
    best = None
    for placement, verdict in all_placements(problem):
        if not verdict.valid:
            continue
        predicted = predict_placement(problem, placement)
        kept = all(
            each.shared.ratio <= 1.0
            for each in predicted
            if each.requests.binding and each.requests.has_target
        )
        if not kept:
            continue
        ratio = max((each.shared.ratio for each in predicted), default=0.0)
        asleep = [m.sleep_cost for m in problem.models if not placement[m.name]]
        value = ratio if problem.objective == "latency" else verdict.pressure
        best = min(best or (inf, inf), (fsum(asleep), value))
    return best
