"""Check numbers and names from outside, once, where data is made."""

import math
import unicodedata
from numbers import Real

from colocate.errors import InputError


def checked_number(owner: str, field: str, value: object, *, positive: bool = False) -> float:
    """Return `value` as a float, or raise InputError with the reason.

    Parameters
    ----------
    owner
        Whose field it is, as the message names it: ``model 'qwen-32b'``.
    field
        The field's name.
    value
        Any real number. Booleans are refused: they are slips in a spec file.
    positive
        Whether zero is refused too.
    """
    expected = f"must be a finite number {'>' if positive else '>='} 0"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{owner}: {field}={value!r}, {expected}")
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{owner}: {field} is too large for a float, {expected}") from None
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        raise InputError(f"{owner}: {field}={number:.15g}, {expected}")
    return number


def checked_seed(value: object) -> int:
    """Return `value` if it can be a seed."""
    if not isinstance(value, int) or value < 0:
        raise InputError(f"seed={value!r}, must be a whole number >= 0")
    return value


def checked_name(kind: str, value: object) -> str:
    """Return `value` if it can name a GPU or a model."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{kind}: name={value!r}, must be a text that is not empty")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value):
        raise InputError(f"{kind}: name={value!r}, must be a text without control characters")
    return value
