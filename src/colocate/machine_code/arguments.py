"""What the machine code of a kernel depends on: the kinds of its arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

NUMBERS: dict[type, str] = {
    int: "int64",
    np.int64: "int64",
    float: "float64",
    np.float64: "float64",
    bool: "bool",
    np.bool_: "bool",
}
CONTIGUOUS, ALIGNED, WRITEABLE = 0x3, 0x100, 0x400
LAYOUT = CONTIGUOUS | ALIGNED | WRITEABLE
"""The flags of an array that decide how code walks over it; who owns its memory does not."""


def kind_of(value: Any) -> Any:
    """Return something hashable that is equal for values that the same code serves."""
    cls = type(value)
    if cls is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT
    number = NUMBERS.get(cls)
    if number is not None:
        return number
    if issubclass(cls, tuple):
        return cls, *map(kind_of, value)
    return cls


def written(kind: Any) -> str:
    """Write down a kind so that other processes recognise it."""
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        return f"({' '.join(map(written, kind))})"
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    return str(kind)
