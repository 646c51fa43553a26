"""Placements near the one that runs, which mend what is missed most.

A search by replays: models that lose most requests get one more replica, another GPU, the place of
a replica that others can spare, or fewer neighbours. The best such change is made, and the search
goes on from there, until nothing helps much. Engines that must stay where they are do so. Models
with shards, and those that must share a GPU, stay where they are.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.pressure import within
from colocate.problem.problem import Problem
from colocate.replan.policy.history import Place
from colocate.replan.policy.outlook import Outlook

WORST = 2
"""Models that are looked after in each round, those that lose most."""
ROUNDS = 3
"""Changes, one after the other, that one proposal is made of at most."""
WORTH = 0.004
"""Share of all requests that each further change must bring in time."""

Rating = Callable[[Places], Outlook]


class Proposal(NamedTuple):
    """A placement that looks better, before it is known what the way there costs."""

    places: Places
    outlook: Outlook


def nearby_proposal(
    problem: Problem, places: Places, held: frozenset[Place], rated: Rating
) -> Proposal | None:
    """Return the best placement that was found near one, or None.

    Parameters
    ----------
    problem
        The models and GPUs.
    places
        Where the models are.
    held
        Engines that must stay, or stay away.
    rated
        Says what becomes of requests with a placement.
    """
    best = Proposal(places, rated(places))
    for _ in range(ROUNDS):
        tried = [Proposal(each, rated(each)) for each in _changes(problem, best, held)]
        next_best = max(tried, key=lambda each: each.outlook.in_time, default=None)
        if next_best is None:
            break
        gain = next_best.outlook.in_time - best.outlook.in_time
        if gain < WORTH * best.outlook.arrived:
            break
        best = next_best
    return None if best.places is places else best


def _changes(problem: Problem, now: Proposal, held: frozenset[Place]) -> Iterator[Places]:
    """Yield placements one change away from one.

    Parameters
    ----------
    problem, now, held
        As for `nearby_proposal`.
    """
    joined = {name for group in problem.together for name in group}
    models = {m.name: m for m in problem.models if m.shards == 1 and m.name not in joined}
    lost = sorted(models, key=lambda name: -now.outlook.lost[name])
    for name in lost[:WORST]:
        if now.outlook.lost[name] <= 0.0:
            continue
        for changed in _changes_of(problem, models, now.places, name, held):
            if _fits(problem, changed):
                yield changed


def _changes_of(
    problem: Problem, models: dict[str, Model], places: Places, name: str, held: frozenset[Place]
) -> Iterator[Places]:
    """Yield placements in which a model may do better.

    Parameters
    ----------
    problem, models, places, held
        The fleet, its models that can be moved, where they are, and what must stay.
    name
        The model.
    """

    def may(model: str, gpu: str) -> bool:
        free = (model, frozenset((gpu,))) not in held and gpu not in places.get(model, ())
        return free and models[model].may_be_on(named[gpu])

    def may_leave(model: str, gpu: str) -> bool:
        return (model, frozenset((gpu,))) not in held

    named = {gpu.name: gpu for gpu in problem.gpus}
    mine = tuple(places.get(name, ()))
    for gpu in named:
        here = [n for n in models if gpu in places.get(n, ()) and n != name]
        if gpu in mine:
            for other in here:
                for there in named:
                    if may_leave(other, gpu) and may(other, there):
                        yield _moved(places, other, gpu, there)
                if may_leave(other, gpu) and len(places[other]) > models[other].replicas:
                    yield _moved(places, other, gpu, None)
        elif may(name, gpu):
            spare = [n for n in here if may_leave(n, gpu) and len(places[n]) > models[n].replicas]
            if len(mine) < models[name].most_replicas:
                yield _moved(places, name, None, gpu)
                for other in spare:
                    yield _moved(_moved(places, other, gpu, None), name, None, gpu)
            for from_gpu in (each for each in mine if may_leave(name, each)):
                yield _moved(places, name, from_gpu, gpu)
                for other in here:
                    if may_leave(other, gpu) and may(other, from_gpu):
                        swapped = _moved(places, other, gpu, from_gpu)
                        yield _moved(swapped, name, from_gpu, gpu)


def _moved(places: Places, model: str, old: str | None, new: str | None) -> Places:
    """Return places with one engine elsewhere, gone (`new` is None) or come (`old` is None).

    Parameters
    ----------
    places, model, old, new
        The placement, the model, and the GPUs.
    """
    gpus = [gpu for gpu in places.get(model, ()) if gpu != old]
    return {**places, model: (*gpus, new) if new is not None else tuple(gpus)}


def _fits(problem: Problem, places: Places) -> bool:
    """Return whether sizes and least caches fit, and no GPU has too many models or rivals."""
    held = dict.fromkeys((gpu.name for gpu in problem.gpus), 0.0)
    on_gpu: dict[str, set[str]] = {gpu.name: set() for gpu in problem.gpus}
    for model in problem.models:
        for gpu in places.get(model.name, ()):
            held[gpu] += (model.size_gb + (model.least_cache_gb or 0.0)) / model.shards
            on_gpu[gpu].add(model.name)
    if any(not within(held[gpu.name], gpu.memory_gb) for gpu in problem.gpus):
        return False
    most = problem.most_models
    if most is not None and any(len(names) > most for names in on_gpu.values()):
        return False
    return all(
        len(names.intersection(group)) <= 1 for names in on_gpu.values() for group in problem.apart
    )
