"""What a reader should know about the sizes of models, and what is not known of them."""

from collections.abc import Iterable

from colocate.inputs.demand import tokens_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.spec import ModelSpec
from colocate.problem.model import COMPUTE


def size_notes(models: Iterable[ModelSpec]) -> dict[str, list[str]]:
    """Return what was assumed or left out when models were sized: the models of each note."""
    found: dict[str, dict[str, None]] = {}
    for model in models:
        for note in model.notes:
            found.setdefault(note, {})[model.name] = None
    return {note: list(names) for note, names in found.items()}


def models_without_tokens(fleet: Fleet) -> list[str]:
    """Return the models that a limit on compute does not count, where it counts others."""
    if fleet.spec.compute_limit is None:
        return []
    stated = fleet.spec.models
    without = [m.name for m in stated if tokens_of(m) is None and COMPUTE not in m.uses]
    return without if len(without) < len(stated) else []
