"""The catalogue of GPUs: memory, bandwidth and speed of real ones, and of their MIG slices."""

from functools import lru_cache

from colocate.errors import UnknownNameError
from colocate.inputs.accelerator import Accelerator
from colocate.inputs.gpu_rows import ROWS
from colocate.inputs.mig_slices import PROFILE, slice_of

MAKERS = ("nvidia", "tesla", "geforce", "amd", "instinct")

ACCELERATORS = {row.kind: row for row in ROWS}
ALIASES = {alias: row.kind for row in ROWS for alias in row.aliases}


@lru_cache
def find_accelerator(name: str) -> Accelerator:
    """Return the kind of GPU of that name: in any case, with or without its maker and hyphens.

    A name that ends in a MIG profile, such as A100-40GB-1g.5gb, is a slice of the card.

    Raises
    ------
    UnknownNameError
        If there is none; the message says which there are, or which was probably meant.
    """
    found = _BY_NAME.get(_bare(name)) or _slice(name)
    if found is None:
        raise UnknownNameError.among("gpu kind", name, ACCELERATORS, ALIASES)
    return found


def _slice(name: str) -> Accelerator | None:
    *words, profile = name.replace("-", " ").replace("_", " ").split() or [""]
    if PROFILE.fullmatch(profile) is None:
        return None
    whole = " ".join(word for word in words if word.lower() != "mig")
    card = _BY_NAME.get(_bare(whole))
    return slice_of(card, profile) if card else None


def _bare(name: str) -> str:
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in MAKERS)


_BY_NAME = {_bare(name): row for row in ROWS for name in (row.kind, *row.aliases)}
