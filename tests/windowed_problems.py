"""Small random problems whose demand differs by time window, and their answers by brute force."""

from dataclasses import replace
from functools import cache
from math import inf
from random import Random

from colocate.latency.prediction import predict_placement
from colocate.problem.requests import Requests
from colocate.problem.window import Window
from tests.latency_problems import all_placements, random_problem


def windowed_problem(seed, plain=False):
    """A problem of `tests/latency_problems.py` with two to five windows."""
    draw = Random(seed)
    problem = random_problem(seed, plain)
    windows = draw.randint(2, 5)
    models = tuple(_windowed(draw, model, windows) for model in problem.models)
    names = [f"hour {number}" for number in range(windows)]
    stated = tuple(Window(name, draw.choice([1.0, 2.0, 8.0])) for name in names)
    several = any(model.windows > 1 for model in models)
    return replace(problem, models=models, stated_windows=stated if several else ())


def _windowed(draw, model, windows):
    requests, load = model.requests, model.load
    if draw.random() < 0.8:
        rates = tuple(requests.rate * draw.choice([0.0, 0.2, 0.7, 1.0]) for _ in range(windows))
        requests = replace(requests, rate=max(rates), rates=rates)
    if draw.random() < 0.7:
        load = [model.load[0] * draw.choice([0.0, 0.3, 1.0]) for _ in range(windows)]
    return model.changed(load=load, requests=requests)


def noisy_problem(seed, hours=40):
    """A problem in which every hour of every model has noise of its own, more or less of it."""
    draw = Random(seed)
    problem = windowed_problem(seed, plain=True)
    shape = [draw.uniform(0.1, 1.0) for _ in range(hours)]
    models = tuple(_noisy(draw, model, shape) for model in problem.models)
    return replace(problem, models=models, stated_windows=())


def _noisy(draw, model, shape):
    noise, shift = draw.choice([0.0, 0.1, 0.9]), draw.randrange(len(shape))
    peak, moved = model.requests.rate, [*shape[shift:], *shape[:shift]]
    rates = tuple(peak * level * (1.0 - noise * draw.random()) for level in moved)
    requests = replace(model.requests, rate=max(rates), rates=rates)
    return model.changed(load=max(model.load), requests=requests)


def rates_of_window(problem, window):
    """The problem with the requests of one window; caches stay as the peaks of load share them."""
    models = tuple(
        model.changed(rate=None, load=max(model.load), requests=_in_window(model.requests, window))
        for model in problem.models
    )
    return replace(problem, models=models, stated_windows=())


def _in_window(requests, window):
    if not requests.rates:
        return requests
    nobody = requests.rates[window] == 0.0 and requests.rate > 0.0
    return Requests(
        requests.rates[window],
        requests.output_tokens,
        requests.engines,
        inf if nobody else requests.tpot_slo,
        inf if nobody else requests.ttft_slo,
        requests.percentile,
        requests.binding,
        requests.slots,
        requests.request_gb,
    )


def ratios_by_windows(problem, placement):
    """The ratio of every replica in its worst window, one window after the other."""
    found = [
        predict_placement(rates_of_window(problem, window), placement)
        for window in range(problem.windows)
    ]
    return [
        max(each.shared.ratio for each in of_replica) for of_replica in zip(*found, strict=True)
    ]


def best_windowed_ratio(problem, binding=False):
    """The lowest worst ratio over all placements and windows; infinite if there is none."""
    counts = {
        model.name: not binding or (model.requests.binding and model.requests.has_target)
        for model in problem.models
    }
    hours = [rates_of_window(problem, window) for window in range(problem.windows)]
    hours.sort(key=lambda hour: -sum(model.requests.rate for model in hour.models))

    @cache
    def worst(hour, places):
        """The worst ratio in an hour of models that share no GPU with others."""
        ratios = _ratios_alone(hours[hour], dict(places))
        return max((ratio for name, ratio in ratios if counts[name]), default=0.0)

    best = inf
    for placement in all_placements(problem):
        parts = _apart(placement)
        found = 0.0
        for hour in range(len(hours)):
            found = max(found, *(worst(hour, part) for part in parts))
            if found >= best:
                break
        best = min(best, found)
    return best


def _ratios_alone(problem, placement):
    """The ratios of the replicas of some models, each with its name, without all other models."""
    some = tuple(model for model in problem.models if model.name in placement)
    alone = replace(problem, models=some, apart=(), together=())
    return [(each.model, each.shared.ratio) for each in predict_placement(alone, placement)]


def _apart(placement):
    """The parts of a placement that share no GPU, each as pairs of a model and its GPUs."""
    parts = []
    for name, gpus in placement.items():
        here, joined = set(gpus), [(name, gpus)]
        apart = []
        for others, pairs in parts:
            if here.isdisjoint(others):
                apart.append((others, pairs))
            else:
                here, joined = here | others, pairs + joined
        parts = [*apart, (here, joined)]
    return [tuple(sorted(pairs)) for _, pairs in parts]


def pressure_by_windows(problem, placement):
    """The highest pressure over all windows, from sums of what was stated."""
    highest = 0.0
    for gpu in problem.gpus:
        here = [model for model in problem.models if gpu.name in placement[model.name]]
        free = gpu.memory_gb - sum(model.size_gb / model.shards for model in here)
        for window in range(problem.windows):
            load = sum(
                model.load[window if len(model.load) > 1 else 0] / len(placement[model.name])
                for model in here
            )
            highest = max(highest, 0.0 if load <= 0 else load / free if free > 0 else inf)
    return highest
