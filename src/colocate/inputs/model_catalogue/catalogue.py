"""The catalogue of models: the shapes of well-known ones, by their names on the hub.

`models.json` holds one entry a line. An entry has the fields of the model's `config.json` that
size it, its published parameter count, and where both are from. An entry that is `like` another
has all that the other one has, and its own fields in place of the other's.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault

FILE = Path(__file__).with_name("models.json")
MOST_CLOSE = 3
"""Names that a message offers: more are not read."""


@dataclass(frozen=True)
class CatalogueModel:
    """A well-known model.

    Parameters
    ----------
    name
        On the hub, with its organisation: what engines load.
    config
        The fields of its `config.json` that size it.
    parameters
        The published count.
    shape_from, count_from
        Where the shape and the count are from: keys of `model_sources`.
    """

    name: str
    config: Mapping[str, Any]
    parameters: int
    shape_from: str
    count_from: str

    @property
    def bare_name(self) -> str:
        """Its name without the organisation."""
        return self.name.rpartition("/")[2]


@cache
def model_catalogue() -> Mapping[str, CatalogueModel]:
    """Return every model of the catalogue, by its name on the hub."""
    models: dict[str, CatalogueModel] = {}
    for row in _document()["models"]:
        fields = dict(row)
        other = models.get(fields.pop("like", ""))
        if other is not None:
            fields = {
                **vars(other),
                **fields,
                "config": {**other.config, **fields.get("config", {})},
            }
        models[row["name"]] = CatalogueModel(**fields)
    return models


def model_sources() -> Mapping[str, str]:
    """Return what the short names of sources stand for."""
    sources: Mapping[str, str] = _document()["sources"]
    return sources


def find_model(name: str) -> CatalogueModel | None:
    """Return the model of that name, in any case, with or without its organisation.

    Raises
    ------
    InputError
        If several organisations have a model of that name.
    """
    found = _by_name().get(name.lower(), ())
    if len(found) > 1:
        raise ambiguous(name, (model.name for model in found))
    return found[0] if found else None


def ambiguous(name: str, meant: Iterable[str]) -> InputError:
    """Return the error of a name that several models have."""
    advice = f"give one of: {', '.join(sorted(meant))}"
    found = "is the name of several models"
    return InputError(Fault(found, advice=advice, value=name, path=("config",)))


def close_names(name: str) -> list[str]:
    """Return the names of the catalogue that are most like one that is not in it."""
    bare = name.lower().rpartition("/")[2]
    near = get_close_matches(bare, [key for key in _by_name() if "/" not in key], n=MOST_CLOSE)
    return [model.name for key in near for model in _by_name()[key]][:MOST_CLOSE]


@cache
def _by_name() -> Mapping[str, tuple[CatalogueModel, ...]]:
    """Return the models of every name that finds one, in lower case."""
    found: dict[str, tuple[CatalogueModel, ...]] = {}
    for model in model_catalogue().values():
        for key in (model.name.lower(), model.bare_name.lower()):
            found[key] = (*found.get(key, ()), model)
    return found


@cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return document
