"""Check numbers and names from outside, once, where data is made."""

import math
import unicodedata
from numbers import Integral, Real

from colocate.errors import InputError
from colocate.fault import Fault, Owner, Path

NUMBER, POSITIVE = "a finite number >= 0", "a finite number > 0"


def checked_number(
    value: object, field: Path, owner: Owner | None = None, *, positive: bool = False
) -> float:
    """Return `value` as a float, or raise InputError with the reason.

    Parameters
    ----------
    value
        Any real number. Booleans are refused: they are slips in a spec file.
    field
        The steps to it: ``("load", 1)``.
    owner
        The GPU or model that the field belongs to.
    positive
        Whether zero is refused too.
    """
    expected = POSITIVE if positive else NUMBER
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError.of(field, value, expected, owner)
    try:
        number = float(value)
    except OverflowError:
        found = "is too large for a float"
        raise InputError(Fault(found, expected, path=field, owner=owner)) from None
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        raise InputError.of(field, value if isinstance(value, int) else number, expected, owner)
    return number


def checked_count(value: object, field: str, least: int) -> None:
    """Raise InputError unless `value` is a whole number.

    Parameters
    ----------
    value
        Any whole number. Booleans are refused: they are slips.
    field
        Its name.
    least
        The lowest that is allowed.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError.of(field, value, f"a whole number >= {least}")


def checked_seed(value: object) -> int:
    """Return `value` if it can be a seed."""
    if not isinstance(value, int) or value < 0:
        raise InputError.of("seed", value, "a whole number >= 0")
    return value


def checked_name(value: object, field: Path = ("name",), owner: Owner | None = None) -> str:
    """Return `value` if it can name a GPU, a model or a place.

    Parameters
    ----------
    value
        The name.
    field
        The steps to it.
    owner
        The GPU or model that the field belongs to.
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError.of(field, value, "a text that is not empty", owner)
    if not value.isprintable() and any(
        unicodedata.category(letter) in ("Cc", "Cs") for letter in value
    ):
        raise InputError.of(field, value, "a text without control characters", owner)
    return value
