"""The program that evolution starts from: largest model first, to the GPU it presses least."""

from typing import Any


# EVOLVE-BLOCK-START
def pressure(gpu: dict[str, Any], models: list[dict[str, Any]]) -> float:
    """Return the highest load over all windows for each GB that models leave free."""
    load = max(sum(loads) for loads in zip(*[model["load"] for model in models], strict=True))
    free = gpu["memory_gb"] - sum(model["size_gb"] for model in models)
    return float(load / free) if free > 0 else float("inf")


def place_models(gpus: list[dict[str, Any]], models: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name of a GPU for the name of every model."""
    on: dict[str, list[dict[str, Any]]] = {gpu["name"]: [] for gpu in gpus}
    found = {}
    for model in sorted(models, key=lambda model: model["size_gb"], reverse=True):
        best = min(gpus, key=lambda gpu: pressure(gpu, [*on[gpu["name"]], model]))
        on[best["name"]].append(model)
        found[model["name"]] = best["name"]
    return found


# EVOLVE-BLOCK-END
