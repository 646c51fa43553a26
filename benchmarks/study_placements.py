"""The placements of a fleet that the study compares, and what is known of each beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import exp, inf, isinf
from typing import NamedTuple

import numpy as np

from colocate import place, solve
from colocate.latency.prediction import Prediction, Spread, predict_placement
from colocate.latency.table import spread_of
from colocate.problem.parts import parts_by_gpu
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.targets import without_targets

MOST_LISTED = 70_000
"""Ways to place all models up to which they are listed: 8 models on 4 GPUs."""
PLACEMENTS = 20
"""Of a fleet. If it has no more than that, all of them are simulated."""
CANDIDATES = 300
"""Placements of which the one with the best predicted goodput is simulated."""
SECONDS = 2.0
"""For each search; nearly all end earlier, with a proof."""
TRIES = 400
"""Attempts to place all models at random before there is taken to be no room."""

Names = dict[Placement, list[str]]


class Chosen(NamedTuple):
    """The placements of a fleet that are simulated."""

    names: Names
    """How each was made; some are made in several ways."""
    proven: dict[str, bool]
    """Which plans are proven to be best by their own figure."""
    number: int
    """How many placements fit in all, 0 where nobody counted them."""


class Figures(NamedTuple):
    """What is known of a placement before anyone has served a request."""

    pressure: float
    """The highest of any GPU."""
    busy: float
    """The highest busy share of any GPU, as `compute_limit` estimates it."""
    ratio: float
    """The worst predicted latency over its target."""
    kept: float
    """Requests each second that are predicted to keep their targets."""


def free_of(problem: Problem) -> Problem:
    """Return the problem with all placements allowed, whether they keep targets or not."""
    return replace(without_targets(problem), objective="pressure")


def figures_of(
    problem: Problem, busy: Mapping[str, Mapping[str, float]], placement: Placement
) -> Figures:
    """Return what is known of a placement.

    Parameters
    ----------
    problem
        The fleet.
    busy
        The busy share of each model by kind of GPU, all shards together; none if nobody asks.
    placement
        Where the models are.
    """
    predicted = predict_placement(problem, placement)
    kinds = {gpu.name: gpu.kind for gpu in problem.gpus}
    pressure, share = 0.0, 0.0
    for gpu in problem.gpus:
        models = [part.model for part in parts_by_gpu(problem, placement)[gpu.name]]
        free = gpu.memory_gb - sum(model.size_gb for model in models)
        load = sum(max(model.load) for model in models)
        pressure = max(pressure, load / free if free > 0.0 else inf if load else 0.0)
        if busy:
            shards = {model.name: model.shards for model in problem.models}
            own = (busy[m.name][kinds[gpu.name]] / shards[m.name] for m in models)
            share = max(share, sum(own))
    return Figures(pressure, share, *_worst_and_kept(predicted))


def worst_ratio(problem: Problem, placement: Placement) -> float:
    """Return the worst predicted latency over its target."""
    return max(each.shared.ratio for each in predict_placement(problem, placement))


def _worst_and_kept(predicted: Sequence[Prediction]) -> tuple[float, float]:
    ratio = max(each.shared.ratio for each in predicted)
    return ratio, sum(each.requests.rate * _kept(each) for each in predicted)


def _kept(each: Prediction) -> float:
    """Return the predicted share of requests within both targets, as if they were independent."""
    latency, requests = each.shared, each.requests
    if latency.saturated:
        return 0.0
    first = _within(latency.ttft, requests.ttft_slo)
    return first * (_within(latency.tpot, requests.tpot_slo) if requests.decode_tokens else 1.0)


def _within(latency: Spread, target: float) -> float:
    """Return the chance to keep a target, of a latency whose waiting part is exponential."""
    if isinf(target):
        return 1.0
    waiting = (latency.p95 - latency.mean) / (spread_of(95.0) - 1.0)
    fixed = latency.mean - waiting
    if fixed > target:
        return 0.0
    return 1.0 - exp(-(target - fixed) / waiting) if waiting > 0.0 else 1.0


def chosen_placements(
    problem: Problem,
    busy: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
    most: int = PLACEMENTS,
) -> Chosen:
    """Return the placements to simulate.

    Parameters
    ----------
    problem, busy
        The fleet.
    rng
        Draws the random placements.
    most
        How many placements to simulate, the named ones among them.
    """
    found: Names = {}
    proven = _add_plans(found, problem)
    listed = all_placements(problem)
    drawn = list(rng.permutation(len(listed))) if listed else []
    others = [listed[n] for n in drawn] or random_placements(problem, CANDIDATES, rng)
    shares = [_busiest(problem, busy, each) for each in others]
    _add(found, problem, "least busy", others[int(np.argmin(shares))])
    kept = [figures_of(problem, busy, each).kept for each in others[:CANDIDATES]]
    _add(found, problem, "predicted goodput", others[int(np.argmax(kept))])
    for each in others:
        if len(found) >= most:
            break
        _add(found, problem, "random", each)
    return Chosen(found, proven, len(listed))


def _add_plans(found: Names, problem: Problem) -> dict[str, bool]:
    """Add what greedy and the solver make of it; return which are proven to be best."""
    by_latency = replace(problem, objective="latency")
    if all(model.shards == 1 for model in problem.models):
        for name, strategy in (("greedy", "initial_program"), ("bisection", "bisect_kvpr_packing")):
            plan = place(problem, strategy)
            if plan.placement:
                _add(found, problem, name, plan.placement)
    else:
        _add(found, problem, "greedy", greedy_with_shards(problem))
    first = solve(by_latency, time_limit=SECONDS, workers=1, target=1e18)
    _add(found, problem, "first by latency", first.placement)
    lowest = solve(problem, time_limit=SECONDS, workers=1)
    _add(found, problem, "pressure plan", lowest.placement)
    quickest = solve(by_latency, time_limit=SECONDS, workers=1)
    _add(found, problem, "latency plan", quickest.placement)
    return {"pressure plan": lowest.proven, "latency plan": quickest.proven}


def _add(found: Names, problem: Problem, name: str, placement: Placement) -> None:
    """Add a placement that the checker allows, once: GPUs that are alike may change places."""
    same = canonical(problem, placement)
    assert verify(problem, same).valid, f"{name} breaks a rule"
    found.setdefault(same, []).append(name)


def _busiest(
    problem: Problem, busy: Mapping[str, Mapping[str, float]], placement: Placement
) -> float:
    shares = dict.fromkeys((gpu.name for gpu in problem.gpus), 0.0)
    kinds = {gpu.name: gpu.kind for gpu in problem.gpus}
    for model in problem.models:
        for gpu in placement[model.name]:
            shares[gpu] += busy[model.name][kinds[gpu]] / model.shards
    return max(shares.values())


def canonical(problem: Problem, placement: Placement) -> Placement:
    """Return the one of all placements that differ only in which of equal GPUs is which."""
    alike: dict[tuple[str, str, float], list[str]] = {}
    for gpu in problem.gpus:
        alike.setdefault((gpu.kind, gpu.node, gpu.memory_gb), []).append(gpu.name)
    group = {name: key for key, names in alike.items() for name in names}
    renamed: dict[str, str] = {}
    for model in problem.models:
        for gpu in placement[model.name]:
            if gpu not in renamed:
                renamed[gpu] = alike[group[gpu]].pop(0)
    return Placement({m.name: [renamed[g] for g in placement[m.name]] for m in problem.models})


def all_placements(problem: Problem) -> list[Placement]:
    """Return every placement of models without shards that fits; none if there are too many."""
    models, gpus = len(problem.models), len(problem.gpus)
    if gpus**models > MOST_LISTED or any(model.shards > 1 for model in problem.models):
        return []
    ways = np.array(list(product(range(gpus), repeat=models)), np.int8)
    held = _held(problem)
    kinds = [(gpu.kind, gpu.memory_gb) for gpu in problem.gpus]
    fits = np.ones(len(ways), bool)
    first = np.empty((len(ways), gpus), np.int64)
    for number, gpu in enumerate(problem.gpus):
        on_it = ways == number
        fits &= on_it @ held <= gpu.memory_gb
        first[:, number] = np.where(on_it.any(axis=1), on_it.argmax(axis=1), models)
        for other in range(number):
            if kinds[other] == kinds[number]:
                fits &= first[:, other] <= first[:, number]
    return [Placement.from_indices(problem, way) for way in ways[fits]]


def random_placements(problem: Problem, number: int, rng: np.random.Generator) -> list[Placement]:
    """Return random placements that fit, fewer if there is hardly any room.

    Parameters
    ----------
    problem
        The models, some perhaps in shards, and the GPUs.
    number
        How many, if there are so many.
    rng
        Places one model after the other, in random order, where it fits.
    """
    found: list[Placement] = []
    for _ in range(TRIES * number):
        placement = _at_random(problem, rng)
        if placement is not None:
            found.append(placement)
        if len(found) == number or (not found and _ >= TRIES):
            break
    return found


def _at_random(problem: Problem, rng: np.random.Generator) -> Placement | None:
    room = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    held = _held(problem)
    where: dict[str, Sequence[str]] = {}
    for number in rng.permutation(len(problem.models)):
        model = problem.models[number]
        each = held[number] / model.shards
        nodes: dict[str, list[str]] = {}
        for gpu in problem.gpus:
            if room[gpu.name] >= each:
                nodes.setdefault(gpu.node, []).append(gpu.name)
        open_nodes = [gpus for gpus in nodes.values() if len(gpus) >= model.shards]
        if not open_nodes:
            return None
        node = open_nodes[rng.integers(len(open_nodes))]
        where[model.name] = [str(gpu) for gpu in rng.choice(node, model.shards, replace=False)]
        for gpu in where[model.name]:
            room[gpu] -= each
    return Placement({model.name: where[model.name] for model in problem.models})


def greedy_with_shards(problem: Problem) -> Placement:
    """Place by load, hottest first, each model on the GPUs of a node with the lowest pressure now.

    That is `initial_program`, which knows no shards.
    """
    room = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    load = dict.fromkeys(room, 0.0)
    held = dict(zip([model.name for model in problem.models], _held(problem), strict=True))
    where: dict[str, list[str]] = {}
    for model in sorted(problem.models, key=lambda model: -max(model.load)):
        each = held[model.name] / model.shards
        nodes: dict[str, list[tuple[float, str]]] = {}
        for gpu in problem.gpus:
            if room[gpu.name] >= each:
                now = load[gpu.name] / room[gpu.name]
                nodes.setdefault(gpu.node, []).append((now, gpu.name))
        sets = [sorted(gpus)[: model.shards] for gpus in nodes.values()]
        best = min((s for s in sets if len(s) == model.shards), key=lambda s: s[-1][0])
        where[model.name] = [gpu for _, gpu in best]
        for gpu in where[model.name]:
            room[gpu] -= each
            load[gpu] += max(model.load) / model.shards
    return Placement({model.name: where[model.name] for model in problem.models})


def _held(problem: Problem) -> np.ndarray:
    """Return the GB that each model must have, its least cache among them."""
    return np.array(
        [m.size_gb + (m.least_cache_gb or 0.0) * m.shards for m in problem.models], np.float64
    )
