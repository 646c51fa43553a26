"""Which row of the catalogue a printed name stands for."""

import re

from colocate.inputs.accelerator import Accelerator
from colocate.inputs.compute import known_accelerator
from colocate.inputs.gpu_rows import ROWS

CLOSE = 0.005
"""Memory that differs by less from the catalogue is the same."""
CUT = "..."
"""How the table of `nvidia-smi` ends a name that is too long for it."""
INSTINCT = re.compile(r"\bMI[ _-]?([1-9][0-9]{2}[AX]?)\b", re.IGNORECASE)


def row_of(name: str, total_mib: float | None) -> Accelerator | None:
    """Return the row of a GPU, also of one whose name was cut or has additions of its maker."""
    if name.endswith(CUT):
        return _uncut(name, total_mib)
    if row := known_accelerator(name):
        return row
    found = INSTINCT.search(name.replace("_", " "))
    return known_accelerator(f"MI{found[1].upper()}") if found else None


def is_usual(row: Accelerator, total_mib: float | None) -> bool:
    """Say whether the memory printed is that of the catalogue.

    Old drivers print what a process sees, newer ones all of it.
    """
    if total_mib is None:
        return True
    least = row.reported_gib * 1024 * (1 - CLOSE)
    most = max(row.printed_mib or 0, row.reported_gib * 1024) * (1 + CLOSE)
    return least <= total_mib <= most


def _uncut(name: str, total_mib: float | None) -> Accelerator | None:
    """Return the only row with a name that begins so and with that memory."""
    start = name.removesuffix(CUT).replace(" ", "-").lower().removeprefix("nvidia-")
    start = start.removeprefix("geforce-")
    rows = {
        row.kind: row
        for row in ROWS
        for known in (row.kind, *row.aliases)
        if len(start) > 2 and known.lower().startswith(start) and is_usual(row, total_mib)
    }
    return next(iter(rows.values())) if len(rows) == 1 else None
