"""Amounts and names in sentences."""

from collections.abc import Sequence
from math import isinf, isnan

from colocate.outputs.text.sanitise import LONGEST_NAME, one_line

MOST_DIGITS = 6
"""Digits after the point of a percentage: more than that is below any tolerance."""
MOST_NAMES = 8
"""Names in a list, unless the caller wants another number."""
MOST_SHARDS = 2
"""GPUs of one replica that a cell names."""


def listed(texts: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return texts as a sentence lists them: a, b and c; or the first few and how many more."""
    shown = list(texts[:most])
    if len(texts) > most:
        shown.append(f"{len(texts) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def replica_gpus(gpus: Sequence[str]) -> str:
    """Return the GPUs of one replica; of many, the first and how many more."""
    if len(gpus) <= MOST_SHARDS:
        return " + ".join(gpus)
    return f"{gpus[0]} + {len(gpus) - 1} more"


def quoted(name: str, mark: str = "'") -> str:
    """Return a name of unknown origin, on one line and no longer than can be read."""
    return f"{mark}{one_line(name, LONGEST_NAME)}{mark}"


def amount(count: int, thing: str, things: str | None = None) -> str:
    """Return how many things there are, such as `1 GPU` or `1,200 GPUs`.

    Parameters
    ----------
    count
        Their number.
    thing
        The word for one.
    things
        The word for several, if it does not just end in s.
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def were(count: int) -> str:
    """Return the verb for so many things in the past."""
    return "was" if count == 1 else "were"


def gigabytes(value: float) -> str:
    """Return an amount of memory, to three digits or whole."""
    return f"{value:,.0f} GB" if abs(value) >= 100 else f"{value:.3g} GB"


def pressure_text(value: float) -> str:
    """Return a pressure to four digits."""
    return "∞" if isinf(value) else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share as people say it."""
    return "∞" if isinf(share) else f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def signed_percent(share: float, digits: int = 0) -> str:
    """Return a difference as a share with its sign; 0 has none.

    Parameters
    ----------
    share
        The difference.
    digits
        After the point.
    """
    text = f"{share:+.{digits}%}"
    return text if any(digit in text for digit in "123456789") else text[1:]


def percents(*shares: float) -> tuple[str, ...]:
    """Return shares that are compared, with as many digits as it takes to tell them apart."""
    for digits in range(MOST_DIGITS):
        texts = tuple(f"{100 * share:.{digits}f}%" for share in shares)
        if len(set(texts)) == len(set(shares)):
            break
    return texts


def fixed(value: float | None, digits: int) -> str:
    """Return a number with so many digits after the point, a dash for none."""
    if value is None or isnan(value):
        return "-"
    return "∞" if isinf(value) else f"{value:.{digits}f}"


def plain_number(value: float, digits: int = 3) -> str:
    """Return a number to so many digits, or whole if it has more of them; never with an exponent.

    Parameters
    ----------
    value
        The number.
    digits
        That count, from the first that is not 0 on; after the point at most `MOST_DIGITS`.
    """
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    if abs(value) >= 1.0:
        return f"{value:,.0f}"
    return f"{value:z.{MOST_DIGITS}f}".rstrip("0").rstrip(".")


def milliseconds(seconds: float) -> str:
    """Return a time as a table shows it."""
    return f"{1000 * seconds:.3g} ms"
