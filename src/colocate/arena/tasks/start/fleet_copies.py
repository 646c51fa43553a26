"""The program that evolution starts from: copies by load, the largest first, where they press least."""

from math import ceil
from typing import Any


# EVOLVE-BLOCK-START
def pressure(gpu: dict[str, Any], copies: list[dict[str, Any]]) -> float:
    """Return the load for each GB that copies leave free; infinite if a cache is too small."""
    free = gpu["memory_gb"] - sum(copy["size_gb"] for copy in copies)
    if free < sum(copy["least_cache_gb"] for copy in copies) or free <= 0:
        return float("inf")
    return float(sum(copy["share"] for copy in copies) / free)


def held(model: dict[str, Any]) -> float:
    """Return the memory that a copy needs."""
    return float(model["size_gb"] + model["least_cache_gb"])


def copies_of(model: dict[str, Any], load_of_gpu: float) -> int:
    """Return how many copies a model gets: none may have more than the mean load of a GPU."""
    return int(min(model["most_copies"], max(1, ceil(model["load"] / load_of_gpu))))


def place_models(gpus: list[dict[str, Any]], models: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the names of its GPUs for the name of every model."""
    on: dict[str, list[dict[str, Any]]] = {gpu["name"]: [] for gpu in gpus}
    found = {}
    load_of_gpu = sum(model["load"] for model in models) / len(gpus)
    for model in sorted(models, key=held, reverse=True):
        count = copies_of(model, load_of_gpu)
        copy = {**model, "share": model["load"] / count}
        order = sorted(gpus, key=lambda gpu: pressure(gpu, [*on[gpu["name"]], copy]))
        found[model["name"]] = [gpu["name"] for gpu in order[:count]]
        for name in found[model["name"]]:
            on[name].append(copy)
    return found


# EVOLVE-BLOCK-END
