"""The GPUs that an engine has or could have: one, or as many of one node as it has shards."""

from collections.abc import Iterable, Mapping

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


def in_rows(gpus: Iterable[Gpu], room: Mapping[str, float], shards: int) -> list[Seat]:
    """Return GPUs for engines with shards: of one node, and about as full.

    In each node, those that follow each other when the emptiest comes first. All choices would be
    too many to rate.

    Parameters
    ----------
    gpus, room
        The GPUs to choose from, and what is free on each.
    shards
        How many a seat has.
    """
    nodes: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        nodes.setdefault(gpu.node, []).append(gpu)
    found: list[Seat] = []
    for here in nodes.values():
        names = [gpu.name for gpu in sorted(here, key=lambda gpu: -room[gpu.name])]
        starts = range(len(names) - shards + 1)
        found += (tuple(names[first : first + shards]) for first in starts)
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


def room_by_gpu(problem: Problem, places: Places) -> dict[str, float]:
    """Return what models leave free on every GPU, in GB."""
    room = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    for model in problem.models:
        for gpu in places.get(model.name, ()):
            room[gpu] -= model.size_gb / model.shards
    return room
