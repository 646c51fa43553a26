"""Ranges of versions, such as `>=0.10,<0.12`."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from operator import eq, ge, gt, le, lt
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault

COMPARISONS = {">=": ge, "<=": le, ">": gt, "<": lt, "==": eq}
LIMIT = re.compile(r"(>=|<=|==|>|<)\s*(\d{1,6}(?:\.\d{1,6}){0,4})")
VERSION = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){0,4})(?:[^\d.].*)?")
A_VERSION = "a version like 0.10.2"


@dataclass(frozen=True)
class VersionLimits:
    """Versions between limits; all of them without any.

    Parameters
    ----------
    limits
        How a version must compare with which other one.
    """

    limits: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @classmethod
    def parsed(cls, text: Any) -> "VersionLimits":
        """Return the range that a text states, such as `>=0.10,<0.12`; all if it is empty."""
        if text == "":
            return cls()
        parts = [LIMIT.fullmatch(part.strip()) for part in str(text).split(",")]
        if not isinstance(text, str) or None in parts:
            raise InputError.of("versions", text, "limits like >=0.10,<0.12")
        return cls(tuple((part[1], _numbers(part[2])) for part in parts if part))

    def holds(self, version: str) -> bool:
        """Say whether a version is in the range; letters after its numbers do not count."""
        match = VERSION.fullmatch(version.strip())
        if match is None:
            raise InputError(Fault(value=version, expected=A_VERSION, path=("version",)))
        own = _numbers(match[1])
        return all(
            COMPARISONS[sign](*zip(*zip_longest(own, limit, fillvalue=0), strict=True))
            for sign, limit in self.limits
        )

    def __str__(self) -> str:
        return ",".join(f"{sign}{'.'.join(map(str, limit))}" for sign, limit in self.limits)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
