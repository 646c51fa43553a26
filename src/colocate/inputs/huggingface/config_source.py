"""From what a fleet file calls a model to its config: a path, or a name that is looked up."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.huggingface.hub import Hub
from colocate.inputs.huggingface.hub_cache import find_cached, hub_cache_of
from colocate.inputs.huggingface.model_files import (
    CONFIG_NAME,
    INDEX_NAME,
    ModelConfig,
    Origin,
    read_config,
)
from colocate.inputs.model_catalogue import close_names, find_model

HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)
"""What the hub takes for the name of a model, with or without an organisation."""


@dataclass(frozen=True)
class ConfigLookup:
    """Where the config of a model is looked for: the first place that has it counts.

    The places are a path, the catalogue, the local cache of the hub, and the hub.

    Parameters
    ----------
    folder
        Where relative paths begin.
    cache
        The local cache of the hub, None to leave it out.
    hub
        What downloads, None to stay off the network.
    """

    folder: Path = Path()
    cache: Path | None = None
    hub: Hub | None = None

    @classmethod
    def from_environment(
        cls, folder: Path, environment: Mapping[str, str], download: bool = False
    ) -> "ConfigLookup":
        """Return the lookup with the cache that Hugging Face tools use.

        Parameters
        ----------
        folder
            Where relative paths begin.
        environment
            The variables that name the cache, such as HF_HOME.
        download
            Whether the hub is asked for what is not found elsewhere.
        """
        cache = hub_cache_of(environment)
        return cls(folder, cache, Hub(cache) if download else None)

    def find(self, text: str) -> ModelConfig:
        """Return the config that a text means.

        Parameters
        ----------
        text
            A path of a `config.json` or of its folder, or the name of a model.

        Raises
        ------
        InputError
            If there is none, if the text means several models, or if a file is no config.
        """
        path = self.folder / text
        if os.path.lexists(path) or not HUB_NAME.fullmatch(text) or text.endswith(".json"):
            return read_config(path)
        found = _in_catalogue(text) or self._in_cache(text) or self._on_hub(text)
        if found is None:
            raise self._unknown(text)
        return found

    def _in_cache(self, name: str) -> ModelConfig | None:
        model = find_cached(self.cache, name) if self.cache is not None else None
        if model is None:
            return None
        return replace(read_config(model.folder), origin=Origin.CACHE, hub_name=model.hub_name)

    def _on_hub(self, name: str) -> ModelConfig | None:
        if self.hub is None:
            return None
        file = self.hub.download(name, CONFIG_NAME)
        if file is None:
            place = f"{name} on the Hugging Face hub"
            raise InputError(Fault(f"has no {CONFIG_NAME}", advice="give size_gb", file=place))
        self.hub.download(name, INDEX_NAME)
        return replace(read_config(file), origin=Origin.HUB, hub_name=name)

    def _unknown(self, text: str) -> InputError:
        near = " or ".join(map(repr, close_names(text)))
        advice = f"did you mean {near}?" if near else "`colocate models` lists those known here"
        found = "is neither a path nor a model known here"
        more = "--download asks the Hugging Face hub"
        return InputError(Fault(found, advice=f"{advice} ({more})", value=text, path=("config",)))


def _in_catalogue(name: str) -> ModelConfig | None:
    model = find_model(name)
    if model is None:
        return None
    return ModelConfig(model.config, Origin.CATALOGUE, f"catalogue: {model.name}", model.name)
