"""What the machine code of a kernel depends on: the kinds of its arguments."""

from typing import Any

import numpy as np

NUMBERS: dict[type, str] = {
    int: "int64",
    np.int64: "int64",
    float: "float64",
    np.float64: "float64",
    bool: "boolean",
    np.bool_: "boolean",
}
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
BOTH = C_CONTIGUOUS | F_CONTIGUOUS
LAYOUT = BOTH | ALIGNED | WRITEABLE
"""The flags of an array that decide how code walks over it; who owns its memory does not."""
LIKE_C = {flags: flags & ~F_CONTIGUOUS for flags in range(LAYOUT + 1) if flags & BOTH == BOTH}
"""What is contiguous in both ways, as all rows and columns are, counts as contiguous in C's."""


def kind_of(value: Any) -> Any:
    """Return something hashable that is equal for values that the same code serves.

    It is the name of a type of numbers; or the type, dimensions and flags of an array; or a class
    of tuples and the kinds of what is in one; or another class.
    """
    cls = type(value)
    if cls is np.ndarray:
        flags = value.flags.num & LAYOUT
        return value.dtype, value.ndim, LIKE_C.get(flags, flags)
    number = NUMBERS.get(cls)
    if number is not None:
        return number
    if issubclass(cls, tuple):
        return cls, *map(kind_of, value)
    return cls


def written(kind: Any) -> str:
    """Write down a kind so that other processes recognise it."""
    if isinstance(kind, tuple):
        return f"({' '.join(map(written, kind))})"
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    return str(kind)
