"""The files of a model: its config, and the index of its weights where it lies beside it."""

import json
import os.path
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.sizing import ModelSize, check_formats, model_size
from colocate.inputs.text_file import naming, read_text

CONFIG_NAME = "config.json"
INDEX_NAME = "model.safetensors.index.json"
TOTAL = "metadata.total_size"
"""The field of the index that states the bytes of all weights."""
LARGEST_FILES = 10**15
"""Bytes: a thousand times the largest model there is."""
FAR_APART = 0.05
"""From such a share on, the index and the config are said to differ."""


class Origin(StrEnum):
    """Where a config was found."""

    FILE = "file"
    CATALOGUE = "catalogue"
    CACHE = "cache"
    HUB = "hub"


@dataclass(frozen=True)
class ModelConfig:
    """The config of a model, and where it was found.

    Parameters
    ----------
    values
        What its `config.json` says, or the catalogue.
    origin
        Where that was found.
    place
        What messages call that place.
    hub_name
        What engines load, None where only files are known.
    index
        The index of the safetensors files, None where there is none.
    """

    values: Mapping[str, Any]
    origin: Origin
    place: str
    hub_name: str | None = None
    index: Path | None = None

    @property
    def quantised_on_disk(self) -> bool:
        """Whether the weights are kept quantised."""
        sections = (self.values, self.values.get("text_config"))
        return any(
            isinstance(part, Mapping) and part.get("quantization_config") for part in sections
        )

    def size(self, dtype: str | None = None, kv_dtype: str | None = None) -> ModelSize:
        """Return the size of the model.

        Where there is an index of the safetensors files, the bytes of weights are the total that
        the index states, unless a `dtype` is asked for.

        Parameters
        ----------
        dtype, kv_dtype
            Formats of the weights and of keys and values, instead of what the config says.

        Raises
        ------
        UnknownNameError
            If a format is not known.
        InputError
            If the config or the index says something impossible. The message names the file and
            the field, what was found and what was expected.
        """
        key = (dtype, kv_dtype)
        if key not in self._sizes:
            self._sizes[key] = self._counted(dtype, kv_dtype)
        return self._sizes[key]

    @cached_property
    def _sizes(self) -> dict[tuple[str | None, str | None], ModelSize]:
        """Sizes by formats: fleets name the same model again and again."""
        return {}

    def _counted(self, dtype: str | None, kv_dtype: str | None) -> ModelSize:
        check_formats(dtype, kv_dtype)
        with naming(self.place):
            size = model_size(self.values, dtype, kv_dtype)
        if dtype is not None or self.index is None:
            return size
        with naming(self.index):
            return _as_indexed(size, _total_size(_json_mapping(self.index)))


def read_config(path: str | Path) -> ModelConfig:
    """Return the config in a `config.json`, or in the directory of one.

    Raises
    ------
    InputError
        If the file cannot be read or is no config.
    """
    file = _config_file(Path(path))
    with naming(file):
        values = _json_mapping(file)
    index = file.with_name(INDEX_NAME)
    return ModelConfig(
        values, Origin.FILE, str(file), index=index if os.path.exists(index) else None
    )


def read_model_size(
    path: str | Path, dtype: str | None = None, kv_dtype: str | None = None
) -> ModelSize:
    """Return the size of the model in a `config.json`, or in the directory of one.

    Parameters
    ----------
    path
        The file or its directory.
    dtype, kv_dtype
        Formats of the weights and of keys and values, instead of what the config says.

    Raises
    ------
    InputError
        If a format is not known, or if a file cannot be read or says something impossible.
    """
    check_formats(dtype, kv_dtype)
    return read_config(path).size(dtype, kv_dtype)


def _config_file(path: Path) -> Path:
    if not os.path.isdir(path):
        return path
    file = path / CONFIG_NAME
    if not os.path.exists(file):
        found, expected = f"has no {CONFIG_NAME}", "a model's directory or its config"
        raise InputError(Fault(found, expected, file=str(path)))
    return file


def _as_indexed(size: ModelSize, total: int) -> ModelSize:
    """Return the size with the bytes that the index states, noting where they are far apart."""
    notes = size.notes
    if abs(total / size.weight_bytes - 1) > FAR_APART:
        counted = f"{size.weight_bytes / 1e9:.2f} GB by the config"
        notes = (*notes, f"the index says {total / 1e9:.2f} GB, {counted}: the index wins")
    return replace(size, weight_bytes=total, source="index", notes=notes)


def _total_size(index: Mapping[str, Any]) -> int:
    metadata = Fields(index).part("metadata")
    found = metadata.values.get("total_size") if metadata is not None else None
    expected = f"a whole number of bytes from 1 to {LARGEST_FILES}"
    if found is None:
        raise InputError.missing(TOTAL, expected)
    # Some writers state it as 16060522496.0
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if type(found) is not int or not 1 <= found <= LARGEST_FILES:
        raise InputError.of(TOTAL, found, expected)
    return found


def _json_mapping(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(read_text(path))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON, {error}") from None
    if not isinstance(data, dict):
        raise InputError.of((), data, "a mapping")
    return data
