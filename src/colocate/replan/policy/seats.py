"""The GPUs that an engine has or could have: one, or as many of one node as it has shards."""

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem

Seat = tuple[str, ...]
"""The names of the GPUs of one engine, one for each shard."""


def taken_seats(places: Places, model: Model) -> list[Seat]:
    """Return the GPUs of each engine of a model."""
    gpus = tuple(places.get(model.name, ()))
    return [gpus[first : first + model.shards] for first in range(0, len(gpus), model.shards)]


def free_seats(problem: Problem, places: Places, model: Model) -> list[Seat]:
    """Return GPUs without an engine of a model on which it could have one more.

    A model with shards takes GPUs of one node that are about as full: in each node, those that
    follow each other when the emptiest comes first. All choices would be too many to rate.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    model
        The model.
    """
    taken = set(places.get(model.name, ()))
    left = [gpu for gpu in problem.gpus if gpu.name not in taken and model.may_be_on(gpu)]
    if model.shards == 1:
        return [(gpu.name,) for gpu in left]
    room = _room(problem, places)
    nodes: dict[str, list[Gpu]] = {}
    for gpu in left:
        nodes.setdefault(gpu.node, []).append(gpu)
    found: list[Seat] = []
    for gpus in nodes.values():
        names = [gpu.name for gpu in sorted(gpus, key=lambda gpu: -room[gpu.name])]
        starts = range(len(names) - model.shards + 1)
        found += (tuple(names[first : first + model.shards]) for first in starts)
    return found


def exchanged_seats(seat: Seat, shards: int) -> list[Seat]:
    """Return the places that another engine could take where one leaves.

    Parameters
    ----------
    seat
        The GPUs of the engine that leaves.
    shards
        How many the other needs.
    """
    return [seat] if shards == len(seat) else [(gpu,) for gpu in seat] if shards == 1 else []


def moved(places: Places, model: str, old: Seat | None, new: Seat | None) -> Places:
    """Return places with one engine elsewhere, gone (`new` is None) or come (`old` is None).

    Parameters
    ----------
    places, model, old, new
        The placement, the model, and the GPUs of the engine; no two engines of a model share one.
    """
    gpus = tuple(gpu for gpu in places.get(model, ()) if gpu not in (old or ()))
    return {**places, model: (*gpus, *(new or ()))}


def _room(problem: Problem, places: Places) -> dict[str, float]:
    """Return what models leave free on every GPU, in GB."""
    room = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    for model in problem.models:
        for gpu in places.get(model.name, ()):
            room[gpu] -= model.size_gb / model.shards
    return room
