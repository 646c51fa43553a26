"""Fleets that change, drawn at random, and figures that are worked out in another way."""

from dataclasses import replace
from math import inf

import numpy as np

from colocate.simulate.engine_life import EngineLife
from tests.simulate.drawn_fleets import drawn_case

HORIZON = 10.0
"""Seconds in which requests come."""


def memory_peak(problem, lives, gpu, own_cache):
    """Return the most that engines hold on a GPU at any moment, by trying all moments."""
    sizes = {model.name: model.size_gb / model.shards for model in problem.models}
    mine = [life for life in lives if gpu.name in life.gpus]

    def held(moment):
        there = [life for life in mine if max(life.begin, 0.0) <= moment < life.gone]
        return sum(sizes[life.model] + (life.cache_gb if own_cache else 0.0) for life in there)

    return max((held(max(life.begin, 0.0)) for life in mine), default=0.0)


def drawn_lives(seed):
    """Return a random fleet, engines that come and go, requests and options."""
    problem, _, stream, options = drawn_case(seed)
    options = replace(options, wake_seconds=None)
    rng = np.random.default_rng([seed, 1])
    own = options.cache == "blocks"
    names = [gpu.name for gpu in problem.gpus]
    lives = []
    for model in problem.models:
        for _ in range(int(rng.integers(1, 5))):
            gpus = tuple(names[n] for n in rng.permutation(len(names))[: model.shards])
            begin = float(rng.choice([0.0, rng.uniform(0.0, HORIZON)]))
            ready = begin + float(rng.choice([0.0, rng.uniform(0.0, 2.0)]))
            closed = float(rng.choice([inf, ready + rng.exponential(3.0)]))
            gone = closed + float(rng.choice([0.0, rng.exponential(1.0)]))
            cache = float(rng.choice([1.0, 6.0]))
            life = EngineLife(model.name, gpus, cache, ready, closed, gone, begin)
            fits = all(
                memory_peak(problem, [*lives, life], gpu, own) <= gpu.memory_gb
                for gpu in problem.gpus
            )
            if fits:
                lives.append(life)
    return problem, lives, stream, options


def served_for_good(lives):
    """Return the names of the models that have an engine to the end."""
    return {life.model for life in lives if life.closed == inf}
