"""The catalogue of models: one row a model, with its size and where its figures are from."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.errors import InputError
from colocate.inputs.huggingface import ModelSize, model_size
from colocate.inputs.model_catalogue import CatalogueModel, model_catalogue, model_sources
from colocate.outputs.text.fitting_table import Column, fitting_table

UNKNOWN = "-"
COLUMNS = (
    Column("model", words=True),
    Column("family", dispensable=1),
    Column("parameters"),
    Column("format", dispensable=2),
    Column("weights GB"),
    Column("KV bytes/token"),
    Column("context"),
    Column("shape from", dispensable=3),
    Column("count from", dispensable=4),
)


def catalogue_rows() -> list[dict[str, Any]]:
    """Return every model of the catalogue as plain data."""
    sources = model_sources()
    return [
        {
            "name": model.name,
            "family": model.config["model_type"],
            "published_parameters": model.parameters,
            **_figures(_size(model)),
            "shape_from": sources[model.shape_from],
            "count_from": sources[model.count_from],
        }
        for model in model_catalogue().values()
    ]


def catalogue_table(width: int) -> RenderableType:
    """Draw the catalogue for a screen of that width."""
    used = [(model.shape_from, model.count_from) for model in model_catalogue().values()]
    keys = {key for pair in used for key in pair}
    legend = [f"{key}: {text}" for key, text in model_sources().items() if key in keys]
    rows = [_cells(model) for model in model_catalogue().values()]
    return Group(fitting_table(COLUMNS, rows, width), Text("\n".join(legend)))


def _cells(model: CatalogueModel) -> tuple[str, ...]:
    size = _size(model)
    context = _context(size)
    return (
        model.name,
        model.config["model_type"],
        f"{model.parameters / 1e9:,.2f} B",
        UNKNOWN if size is None else size.dtype,
        UNKNOWN if size is None else f"{size.weight_bytes / 1e9:,.2f}",
        UNKNOWN if size is None else f"{_kv_bytes(size):,}",
        UNKNOWN if context is None else f"{context:,}",
        model.shape_from,
        model.count_from,
    )


def _figures(size: ModelSize | None) -> dict[str, Any]:
    return {
        "parameters": size and size.parameters,
        "dtype": size and size.dtype,
        "weight_bytes": size and size.weight_bytes,
        "kv_bytes_per_token": size and _kv_bytes(size),
        "context": _context(size),
    }


def _size(model: CatalogueModel) -> ModelSize | None:
    """Return its size, None if this version knows the model but not how to size it."""
    try:
        return model_size(model.config)
    except InputError:
        return None


def _kv_bytes(size: ModelSize) -> int:
    return size.kv_bytes_per_token + size.windowed_kv_bytes_per_token


def _context(size: ModelSize | None) -> int | None:
    return size.context_limit if size else None
