"""Configs of well-known models, so that a name is enough to size one."""

from colocate.inputs.model_catalogue.catalogue import (
    CatalogueModel,
    close_names,
    find_model,
    model_catalogue,
    model_sources,
)

__all__ = ["CatalogueModel", "close_names", "find_model", "model_catalogue", "model_sources"]
