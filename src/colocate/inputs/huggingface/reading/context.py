"""The longest context that a model takes, as vLLM derives it from a config."""

from collections.abc import Iterator
from typing import Any

from colocate.inputs.huggingface.fields import LARGEST, Fields

LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
"""Where configs state the longest context; the least of them holds."""
ROPE_SECTIONS = ("rope_scaling", "rope_parameters")
EXTENDED = ("su", "longrope", "llama3")
"""Ways to stretch positions where the config states the stretched length already."""
ALREADY_SCALED = "gemma3"
"""Families whose configs state the stretched length whatever the way."""


def context_limit(fields: Fields, model_type: str, spare_positions: int) -> int | None:
    """Return the most tokens of a sequence, None where the config does not say.

    Parameters
    ----------
    fields
        Of the language model.
    model_type
        Its name.
    spare_positions
        Below 0: rows of the embedding of positions that no token uses.
    """
    found = [length for name in LENGTHS if (length := fields.optional_count(name)) is not None]
    if not found:
        return None
    limit: float = max(1, min(found) + min(0, spare_positions))
    if model_type.startswith(ALREADY_SCALED):
        return int(limit)
    factor = 1.0
    for rope in _ropes(fields):
        kind = rope.get("rope_type") or rope.get("type")
        if kind in EXTENDED:
            continue
        factor = _number(rope.get("factor")) or factor
        if kind == "yarn":
            limit = _number(rope.get("original_max_position_embeddings")) or limit
    return int(min(limit * factor, LARGEST))


def _ropes(fields: Fields) -> Iterator[dict[str, Any]]:
    """Return the ways positions are stretched: one, or one for each kind of layer."""
    for name in ROPE_SECTIONS:
        section = fields.part(name)
        if section is None:
            continue
        values = dict(section.values)
        inner = [part for part in values.values() if isinstance(part, dict)]
        yield from inner or [values]


def _number(value: object) -> float | None:
    """Return a number that can be used, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= LARGEST else None
