"""The seeds that programs are judged under."""

import struct
from hashlib import sha256
from numbers import Integral

from colocate.arena.inside.chance import FORM
from colocate.errors import InputError

MOST_SEED = 2**31 - 1
"""Half of what numpy's older generator and Python's order of sets take: suites count up from it."""
A_SEED = f"a whole number from 0 to {MOST_SEED}"
"""What a seed is, in words."""


def checked_hidden_seed(value: object) -> None:
    """Raise InputError unless `value` can make fresh hidden cases."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and 0 <= value <= MOST_SEED):  # type: ignore[operator]
        raise InputError.of("hidden_seed", value, A_SEED)


def seed_of(case: int, number: int) -> bytes:
    """Return what a program can take to draw at random in one case.

    Under the number 0, a program that sets its own seed draws from that seed. Under any other
    number, it draws from that seed and the number: no constant is luckier than another.

    Parameters
    ----------
    case
        The seed of the case.
    number
        The number of the seed.
    """
    if number == 0:
        return struct.pack(FORM, case, 0)
    digest = sha256(f"{number} {case}".encode()).digest()
    return digest[: struct.calcsize(FORM)]
