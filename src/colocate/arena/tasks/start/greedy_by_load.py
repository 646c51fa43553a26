"""The program that evolution starts from: heaviest load first, to the GPU under least pressure."""

from typing import Any

GPU_MEMORY_GB = 80


# EVOLVE-BLOCK-START
def load(model: Any) -> float:
    """Return how hard a model pushes on memory for KV cache."""
    return float(model.req_rate / model.slo)


def pressure(models: list[Any]) -> float:
    """Return the load of the models on a GPU for each GB that they leave free."""
    total = sum(load(model) for model in models)
    free = GPU_MEMORY_GB - sum(model.model_size for model in models)
    if not total:
        return 0.0
    return float(total / free) if free > 0 else float("inf")


def has_room(models: list[Any], model: Any) -> bool:
    """Say whether one more model fits in the memory of a GPU."""
    return bool(sum(each.model_size for each in models) + model.model_size <= GPU_MEMORY_GB)


def compute_model_placement(gpu_num: int, models: list[Any]) -> dict[int, list[Any]]:
    """Return the models of every GPU; every model gets a place."""
    placement: dict[int, list[Any]] = {gpu: [] for gpu in range(gpu_num)}
    for model in sorted(models, key=load, reverse=True):
        roomy = [gpu for gpu in placement if has_room(placement[gpu], model)]
        if not roomy:
            raise ValueError(
                f"model {model.model_name!r}: model_size={model.model_size}, "
                f"more than is free on each of {gpu_num} GPUs"
            )
        placement[min(roomy, key=lambda gpu: pressure(placement[gpu]))].append(model)
    return placement


# EVOLVE-BLOCK-END
