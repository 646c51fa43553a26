"""Random choices that follow advice, and blocks drawn with them."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

from numpy.random import Generator

from colocate.lab.proposers.composer.grammar import CHOICES, EFFORTS
from colocate.lab.proposers.composer.naming import spoken
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.packing import Packing

Option = TypeVar("Option")

FAVOUR = 4.0
"""How much more likely a recommended choice is."""

PROGRAM_NAME = re.compile("[a-z0-9]+(?:_[a-z0-9]+)+")
"""A sentence that names a program does not recommend every block in that name."""

USUAL = 4.0
"""How much more likely the default value of a parameter is than any other."""


@dataclass(frozen=True)
class Draw:
    """A source of random choices.

    Parameters
    ----------
    rng
        The source of randomness.
    advice
        Sentences. Anything that they name, such as `LargeNeighbourhood`, `best fit` or
        `Kick.BURST`, is more likely to be drawn.
    slower
        How many times longer blocks take than on the public benchmark, as `Frame` tells it.
    """

    rng: Generator
    advice: tuple[str, ...] = ()
    slower: float = 1.0

    def pick(self, options: Sequence[Option], weights: Sequence[float]) -> Option:
        """Return one of the options."""
        sums = list(accumulate(weights))
        return options[bisect_right(sums, self.rng.random() * sums[-1], hi=len(sums) - 1)]

    def favour(self, *things: object) -> float:
        """Return how much more likely something is, because parts of it are recommended."""
        names = {f" {name}" for thing in things for name in _names(thing)}
        return FAVOUR if any(name in self._said for name in names) else 1.0

    @cached_property
    def _said(self) -> str:
        return " ".join(f" {spoken(PROGRAM_NAME.sub('', sentence))}." for sentence in self.advice)


def drawn(kind: type[Option], draw: Draw) -> Option:
    """Return a block of a kind with random parameters, most at their default, and low effort."""
    defaults = getattr(kind, "_field_defaults", {})
    chosen: dict[str, Any] = {}
    if kind is Bisection:
        chosen["packings"] = (drawn(Packing, draw),)
    for field, options in CHOICES[kind].items():
        if field in EFFORTS:
            chosen[field] = options[0]
            continue
        usual = [USUAL if option == defaults.get(field) else 1.0 for option in options]
        weights = [each * draw.favour(option) for each, option in zip(usual, options, strict=True)]
        chosen[field] = draw.pick(options, weights)
    return kind(**chosen)


def _names(thing: object) -> Iterator[str]:
    """Yield the names in sentences for a kind of block, a block, and its parts."""
    if isinstance(thing, type):
        yield spoken(thing.__name__)
    elif isinstance(thing, IntEnum):
        kind, name = spoken(type(thing).__name__), spoken(thing.name)
        yield from (f"{name} {kind}", f"{kind} {name}")
    elif isinstance(thing, tuple):
        yield from _names(type(thing))
        for part in thing:
            yield from _names(part)
