"""Small random problems under the law, and their best ratios by brute force."""

from functools import lru_cache
from itertools import combinations, permutations, product
from math import inf
from random import Random

from colocate import Gpu, Model, Problem
from colocate.latency.prediction import predict_placement
from colocate.problem.model import ANY_KIND
from colocate.problem.requests import EngineSpeed, Requests

KINDS = ("H", "L")


def random_engine(draw):
    """An engine, from quick to slow, with prefills and batches that matter or do not."""
    step = draw.choice([1e-3, 3e-3, 7e-3, 15e-3]) * draw.uniform(0.8, 1.2)
    work = draw.choice([0.0, 2e-3, 20e-3, 0.05])
    prefill = work + draw.choice([0.0, 5e-3])
    more = draw.choice([0.0, 1e-5, 2e-4])
    return EngineSpeed(step, more, prefill, work, draw.choice([1, 16, 28, 32, 80]))


def random_requests(draw, wild=True):
    """What a model is asked; `wild` ones include nothing at all and far too much."""
    rates = (0.0, 0.01, 0.5, 2.0, 6.0, 300.0) if wild else (0.05, 0.5, 2.0)
    tokens = (0, 1, 1.5, 2, 60, 250) if wild else (0, 60, 150)
    slots, cache = ((1.0, 8.0, 256.0), (0.0, 0.0, 0.05, 1.0)) if wild else ((256.0,), (0.0,))
    return Requests(
        draw.choice(rates) * draw.uniform(0.7, 1.3),
        draw.choice(tokens),
        tuple((kind, random_engine(draw)) for kind in KINDS),
        draw.choice([0.02, 0.05, 0.2, inf]),
        draw.choice([0.1, 1.0, 10.0, inf]),
        draw.choice([None, 95.0, 99.0]),
        draw.random() < 0.6,
        draw.choice(slots),
        draw.choice(cache),
    )


def random_problem(seed, plain=False):
    """A problem with up to three GPUs; a `plain` one has no rules, and replicas are decided."""
    draw = Random(seed)
    gpus = [
        Gpu(
            f"g{n}",
            draw.choice([24.0, 80.0]),
            draw.choice(KINDS),
            {"busy": 1.0} if not plain and draw.random() < 0.3 else (),
            "node",
        )
        for n in range(draw.randint(1, 3))
    ]
    most = 7 if plain else 5
    models = [_model(draw, n, gpus, plain) for n in range(draw.randint(1, most))]
    names = [m.name for m in models if m.most_replicas * m.shards == 1]
    rules = {}
    if not plain and len(names) > 2 and draw.random() < 0.4:
        rules[draw.choice(["apart", "together"])] = [draw.sample(names, 2)]
    if not plain and draw.random() < 0.2:
        rules["most_models"] = draw.randint(2, 4)
    sharing = draw.choice(["slices", "mps"])
    return Problem(gpus, models, sharing=sharing, objective="latency", **rules)


def _model(draw, number, gpus, plain):
    replicas = draw.choice([1, 1, 1, 2]) if len(gpus) > 1 else 1
    most = draw.randint(replicas, len(gpus)) if not plain and draw.random() < 0.3 else replicas
    shards = 2 if len(gpus) > 1 and most == 1 and not plain and draw.random() < 0.2 else 1
    pins = {}
    if not plain and draw.random() < 0.2:
        pins = {draw.choice(["only", "never"]): [draw.choice(gpus).name]}
    return Model(
        f"m{number}",
        draw.choice([1.0, 2.0] if plain else [1.0, 5.0, 16.0]),
        load=draw.choice([0.0, 1.0, 4.0]),
        uses={"busy": draw.choice([0.0, 0.3, 0.6])},
        replicas=replicas,
        most_replicas=most,
        shards=shards,
        least_cache_gb=draw.choice([0.0, 1.0]) if plain else draw.choice([0.0, 1.0, 4.0]),
        requests=random_requests(draw, not plain),
        **pins,
    )


def all_placements(problem):
    """Every placement that keeps all rules but those on latency."""
    names = [gpu.name for gpu in problem.gpus]
    ways = []
    for model in problem.models:
        open_to = [gpu.name for gpu in problem.gpus if model.may_be_on(gpu)]
        ways.append(
            [
                places
                for count in range(model.replicas, model.most_replicas + 1)
                for places in (
                    permutations(open_to, model.shards * count)
                    if model.shards > 1
                    else combinations(open_to, count)
                )
            ]
        )
    for choice in product(*ways):
        placement = {m.name: places for m, places in zip(problem.models, choice, strict=True)}
        if _keeps_rules(problem, placement, names):
            yield placement


def _keeps_rules(problem, placement, names):
    on = {name: [m for m in problem.models if name in placement[m.name]] for name in names}
    for gpu in problem.gpus:
        here = on[gpu.name]
        held = sum((m.size_gb + m.least_cache_gb) / m.shards for m in here)
        if held > gpu.memory_gb * (1 + 1e-12):
            return False
        busy = gpu.limit_on("busy")
        if busy is not None and sum(_busy(m) for m in here) > busy * (1 + 1e-12):
            return False
        if problem.most_models is not None and len(here) > problem.most_models:
            return False
        if any(sum(m.name in group for m in here) > 1 for group in problem.apart):
            return False
    return all(len({placement[name] for name in group}) == 1 for group in problem.together)


def _busy(model):
    return dict(dict(model.uses)["busy"])[ANY_KIND]


def best_ratio(problem, binding=False):
    """The lowest worst ratio over all placements; infinite if there is none."""
    sharded = any(model.shards > 1 for model in problem.models)
    of_group = lru_cache(None)(lambda gpu, group: _ratio_of_group(problem, gpu, group, binding))
    best = inf
    for placement in all_placements(problem):
        if sharded:
            ratio = _worst(problem, predict_placement(problem, placement), binding)
        else:
            ratio = max(
                of_group(
                    gpu.name,
                    tuple((n, len(p)) for n, p in placement.items() if gpu.name in p),
                )
                for gpu in problem.gpus
            )
        best = min(best, ratio)
    return best


def _ratio_of_group(problem, gpu, group, binding):
    """The ratio of models on one GPU, each with some number of replicas in all."""
    if not group:
        return 0.0
    named = {model.name: model for model in problem.models}
    parts = [named[name].part(count) for name, count in group]
    models = [part.changed(replicas=1, most_replicas=None, only=(), never=()) for part in parts]
    here = [g for g in problem.gpus if g.name == gpu]
    alone = Problem(here, models, sharing=problem.sharing, objective="latency")
    placed = {model.name: (gpu,) for model in models}
    return _worst(alone, predict_placement(alone, placed), binding)


def _worst(problem, predictions, binding):
    asked = {model.name: model.requests for model in problem.models}
    return max(
        (
            each.shared.ratio
            for each in predictions
            if not binding or (asked[each.model].binding and asked[each.model].has_target)
        ),
        default=0.0,
    )


def slowing_fleet(models=8, gpus=3, sharing="slices", **others):
    """Equal GPUs, and models that slow each other down."""
    made = []
    for n in range(models):
        engine = EngineSpeed(2e-3 + 1e-3 * (n % 4), 2e-5, 15e-3, 12e-3, 28)
        asked = Requests(0.4 + 0.3 * n, 100, (("H", engine),), 0.03 + 0.01 * (n % 3), 2.0)
        made.append(Model(f"m{n}", 4, load=1, least_cache_gb=1, requests=asked))
    row = [Gpu(f"g{n}", 80, "H") for n in range(gpus)]
    return Problem(row, made, sharing=sharing, objective="latency", **others)
