"""From a whole config to the shape of its model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.huggingface.families import FAMILIES, NESTED_DEFAULTS
from colocate.inputs.huggingface.family import Family
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.reading.context import context_limit
from colocate.inputs.huggingface.reading.stack import read_stack
from colocate.inputs.huggingface.shape import Shape
from colocate.inputs.huggingface.towers.around import AROUND, picture_tokens

TEXT_SECTIONS = ("text_config", "llm_config", "language_config")
TIED = "tie_word_embeddings"
OTHERWISE = (
    "give size_gb instead of config, with kv_bytes_per_token, max_model_len and active_parameters"
)


@dataclass(frozen=True)
class Reading:
    """A shape, the fields it was read from, and what a reader should know about it."""

    model_type: str
    shape: Shape
    fields: Fields
    context_limit: int | None
    notes: tuple[str, ...]


def read_model(whole: Fields) -> Reading:
    """Return the shape of the model that a config describes, without its towers."""
    text = _text_section(whole)
    model_type = text.text("model_type") or whole.text("model_type")
    if model_type is None:
        raise InputError.missing(f"{text.section}model_type", "a text such as 'llama'")
    family = _family(text, model_type)
    fields = text.of_family(_defaults(family, model_type, whole, text), family.spellings)
    shape = (family.read or read_stack)(fields, family)
    limit = context_limit(fields, model_type, family.spare_positions)
    return Reading(model_type, shape, fields, limit, tuple(_notes(whole, text, model_type)))


def _family(text: Fields, model_type: str) -> Family:
    family = FAMILIES.get(model_type)
    if family is None:
        near = get_close_matches(model_type, FAMILIES, n=1)
        advice = f"the nearest known is {near[0]!r}; {OTHERWISE}" if near else OTHERWISE
        path = (f"{text.section}model_type",)
        raise InputError(Fault("is not known", advice=advice, value=model_type, path=path))
    return family


def _text_section(whole: Fields) -> Fields:
    """Return the part about language: models that also see or hear keep it in a section."""
    for name in TEXT_SECTIONS:
        part = whole.part(name)
        if part is not None:
            return _with_own_head(part, whole)
    return whole


def _with_own_head(text: Fields, whole: Fields) -> Fields:
    """Return the section with a head of its own where the config around it says so."""
    if whole.values.get(TIED) is not False or text.values.get(TIED) is not True:
        return text
    return replace(text, values={**text.values, TIED: False})


def _notes(whole: Fields, text: Fields, model_type: str) -> list[str]:
    """Return a note where only the language model of a larger whole is known."""
    outer = whole.text("model_type")
    if text is whole or outer is None or outer in AROUND or outer in FAMILIES:
        return []
    return [f"only the language model is counted: what {outer[:40]!r} adds to it is not known"]


def _defaults(family: Family, model_type: str, whole: Fields, text: Fields) -> Mapping[str, Any]:
    """Return what holds for the fields that are left out."""
    defaults = {TIED: family.tied, **family.defaults}
    if text is whole:
        return defaults
    defaults.update(NESTED_DEFAULTS.get(model_type, {}))
    defaults.update({"architectures": None, "picture_tokens": picture_tokens(whole)})
    if whole.values.get(TIED) is not None:
        defaults[TIED] = whole.switch(TIED)
    return defaults
