"""What a reader should know about the sizes of models."""

from collections.abc import Iterable

from colocate.inputs.spec import ModelSpec


def size_notes(models: Iterable[ModelSpec]) -> dict[str, list[str]]:
    """Return what was assumed or left out when models were sized: the models of each note."""
    found: dict[str, dict[str, None]] = {}
    for model in models:
        for note in model.notes:
            found.setdefault(note, {})[model.name] = None
    return {note: list(names) for note, names in found.items()}
