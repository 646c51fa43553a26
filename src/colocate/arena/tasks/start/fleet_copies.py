"""The program that evolution starts from: largest copy first, where it presses least if all fit."""

from math import ceil
from typing import Any


# EVOLVE-BLOCK-START
def held(model: dict[str, Any]) -> float:
    """Return the memory that a copy needs."""
    return float(model["size_gb"] + model["least_cache_gb"])


def copies_of(model: dict[str, Any], load_of_gpu: float) -> int:
    """Return how many copies a model gets: none may have more than the mean load of a GPU."""
    return int(min(model["most_copies"], max(1, ceil(model["load"] / load_of_gpu))))


def greedy(
    gpus: list[dict[str, Any]], models: list[dict[str, Any]], load_of_gpu: float, pressed: bool
) -> dict[str, list[str]]:
    """Place the largest first: where pressure is lowest, or where least room is left."""
    room = {gpu["name"]: float(gpu["memory_gb"]) for gpu in gpus}
    free, load = dict(room), dict.fromkeys(room, 0.0)
    found: dict[str, list[str]] = {}
    for model in sorted(models, key=held, reverse=True):
        count = copies_of(model, load_of_gpu)
        share = model["load"] / count
        open_gpus = [name for name in room if room[name] >= held(model)]
        if pressed:
            left = {name: max(free[name] - model["size_gb"], 1e-9) for name in open_gpus}
            open_gpus.sort(key=lambda name: (load[name] + share) / left[name])
        else:
            open_gpus.sort(key=lambda name: room[name])
        found[model["name"]] = open_gpus[:count]
        for name in open_gpus[:count]:
            room[name] -= held(model)
            free[name] -= model["size_gb"]
            load[name] += share
    return found


def place_models(gpus: list[dict[str, Any]], models: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the names of its GPUs for the name of every model."""
    mean = sum(model["load"] for model in models) / len(gpus)
    for load in (mean, float("inf")):
        for pressed in (True, False):
            found = greedy(gpus, models, load, pressed)
            if all(found.values()):
                return found
    raise ValueError(f"found no room for all of {len(models)} models on {len(gpus)} GPUs")


# EVOLVE-BLOCK-END
