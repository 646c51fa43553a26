"""The local cache of the Hugging Face hub: what was downloaded before is found without a network.

The cache holds `models--ORG--NAME/snapshots/REVISION/config.json`; `refs/main` names the revision.
It is only read. Others write to it, so nothing in it is trusted: folders without end, links that
lead nowhere and pipes count as not there.
"""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from colocate.errors import InputError
from colocate.inputs.huggingface.model_files import CONFIG_NAME
from colocate.inputs.model_catalogue.catalogue import ambiguous
from colocate.inputs.text_file import read_text

PREFIX, SEPARATOR = "models--", "--"
MOST_ENTRIES = 100_000
"""Entries of a folder that are looked at: far more than anyone downloads."""
REVISION = re.compile("[0-9a-zA-Z._-]{1,64}")
"""A commit, or a name that cannot lead out of its folder."""


class LocalModel(NamedTuple):
    """A model in the cache."""

    hub_name: str
    folder: Path
    """That of its `config.json`."""


def hub_cache_of(environment: Mapping[str, str]) -> Path:
    """Return the folder that Hugging Face tools with such an environment keep downloads in."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(variable):
            return Path(environment[variable]).expanduser()
    home = environment.get("HF_HOME")
    if not home:
        home = os.path.join(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(home).expanduser() / "hub"


def find_cached(cache: Path, name: str) -> LocalModel | None:
    """Return the model of that name in a cache, with or without its organisation.

    Raises
    ------
    InputError
        If several organisations have a model of that name.
    """
    found = []
    for entry in _entries(cache):
        hub_name = entry.name.removeprefix(PREFIX).replace(SEPARATOR, "/")
        if not entry.name.startswith(PREFIX) or not _is_named(hub_name, name):
            continue
        folder = _snapshot(Path(entry.path))
        if folder is not None:
            found.append(LocalModel(hub_name, folder))
    if len(found) > 1:
        raise ambiguous(name, (model.hub_name for model in found))
    return found[0] if found else None


def _is_named(hub_name: str, name: str) -> bool:
    wanted = name.lower()
    return wanted in (hub_name.lower(), hub_name.lower().rpartition("/")[2])


def _snapshot(model: Path) -> Path | None:
    """Return the folder of the main revision, or of the only one there is."""
    snapshots = model / "snapshots"
    main = snapshots / (_main_revision(model / "refs" / "main") or os.devnull)
    if os.path.isfile(main / CONFIG_NAME):
        return main
    others = [
        Path(entry.path)
        for entry in _entries(snapshots)
        if os.path.isfile(os.path.join(entry.path, CONFIG_NAME))
    ]
    return others[0] if len(others) == 1 else None


def _main_revision(file: Path) -> str | None:
    try:
        text = read_text(file).strip() if os.path.isfile(file) else ""
    except InputError:
        return None
    return text if REVISION.fullmatch(text) and set(text) != {"."} else None


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from islice(entries, MOST_ENTRIES)
    except OSError:
        return
