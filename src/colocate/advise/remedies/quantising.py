"""Estimate the size of a model in fewer bits: counted from its config, or scaled by bits."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from colocate.errors import ColocateError
from colocate.inputs.huggingface import ConfigLookup, ModelConfig
from colocate.inputs.huggingface.divided_widths import weight_group
from colocate.inputs.huggingface.formats import FORMATS, bits_of
from colocate.inputs.shard_rules import shards_fault
from colocate.inputs.spec import ModelSpec
from colocate.inputs.text_file import read_text
from colocate.inputs.yaml_text import parse_yaml

FEWER_BITS = ("fp8", "int4")
"""The usual formats of quantised weights, most bits first."""


class Quantised(NamedTuple):
    """A model with its weights in fewer bits."""

    spec: ModelSpec
    assumed: bool
    """Whether the size is scaled by the bits, not counted from a config."""


def configs_in(path: Path, configs: ConfigLookup) -> dict[str, ModelConfig]:
    """Return the configs that a fleet file names and that are found, by model name."""
    data = parse_yaml(read_text(path))
    models = data.get("models", ()) if isinstance(data, Mapping) else ()
    found = {}
    for model in models:
        if isinstance(model, Mapping) and model.get("config"):
            with suppress(ColocateError):
                found[model["name"]] = configs.find(model["config"])
    return found


def quantised(model: ModelSpec, config: ModelConfig | None = None) -> Iterator[Quantised]:
    """Yield a resolved model in every usual format with fewer bits that its shards allow.

    Without a config, the whole size counts as weights and shrinks with their bits; nothing else
    about the model changes.
    """
    bits = bits_of(model.dtype)
    for name in FEWER_BITS:
        fewer = FORMATS[name].bits
        if fewer < bits:
            counted = _counted_gb(config, name)
            size = (model.size_gb or 0.0) * fewer / bits if counted is None else counted
            group = weight_group(FORMATS[name])
            update = {"dtype": name, "size_gb": size, "weight_group": group}
            spec = model.model_copy(update=update)
            if shards_fault(spec, spec.shards) is None:
                yield Quantised(spec, counted is None)


def _counted_gb(config: ModelConfig | None, dtype: str) -> float | None:
    try:
        return config.size(dtype).weight_bytes / 1e9 if config else None
    except ColocateError:
        return None
