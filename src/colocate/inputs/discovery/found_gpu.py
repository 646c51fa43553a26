"""GPUs as a tool prints them, before anyone looks them up."""

from dataclasses import dataclass

LONGEST_PRINTED = 100
"""Letters of a name; real ones have fewer than 60."""


@dataclass(frozen=True)
class FoundGpu:
    """One GPU, or several alike ones.

    Parameters
    ----------
    name
        As it was printed, with the MIG profile of a slice at its end.
    node
        The machine, empty where the tool does not say.
    number
        Its number on the machine; None where the tool does not say.
    total_mib, used_mib
        Its memory, and the part in use; None where the tool does not say.
    whole
        Whether the tool prints all memory, with the part that the driver keeps for itself.
    count
        How many alike ones there are.
    sliced
        Whether it is a MIG slice; slices have no number of their own.
    divided
        Whether MIG is on, so that programs see its slices instead.
    """

    name: str
    node: str = ""
    number: int | None = None
    total_mib: float | None = None
    used_mib: float | None = None
    whole: bool = True
    count: int = 1
    sliced: bool = False
    divided: bool = False


@dataclass(frozen=True)
class RefusedGpu:
    """GPUs that cannot go into a fleet.

    Parameters
    ----------
    node
        The machine that they are in.
    count
        How many there are.
    reason
        Why they are left out.
    """

    node: str
    count: int
    reason: str


def whole_number(text: object, most: int = 10**9) -> int | None:
    """Return the number that a text begins with, such as `81559 MiB`; None if there is none."""
    words = str(text).split(maxsplit=1) if isinstance(text, str | int) else []
    digits = words[0].removesuffix("MiB") if words else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        return None
    return int(digits) if int(digits) <= most else None
