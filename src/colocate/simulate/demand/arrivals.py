"""When the requests of one model arrive, drawn bit by bit.

A stream is the same however it is cut: numbers come from the generator one after the other, and
times are sums in that order.
"""

from hashlib import sha256
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np

from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.demand.requests import Floats, Whole

SPARE = 16
"""Gaps that are drawn beyond those that are expected: for rare requests most parts need no more."""


class Clock(Protocol):
    """Turns the time of a steady demand into real time."""

    def times(self, steady: Floats) -> Floats:
        """Return the moments at which a steady demand would have had as many requests."""


class Asked(NamedTuple):
    """What a model is asked on average."""

    name: str
    rate: float
    """Requests each second, more than 0."""
    prompt: float
    output: float
    """Tokens."""


class Lengths(NamedTuple):
    """How the lengths of requests differ."""

    prompts: LengthDistribution
    outputs: LengthDistribution


class ModelRequests:
    """The requests to one model, in order of time.

    Parameters
    ----------
    asked
        What it is asked.
    lengths
        How long its requests are.
    variation
        The standard deviation of the time between two requests, over its mean.
    clock
        How the rate changes; None where it does not.
    seed
        Together with the name of the model it decides on every request, so other models make no
        difference.
    """

    def __init__(
        self, asked: Asked, lengths: Lengths, variation: float, clock: Clock | None, seed: int
    ) -> None:
        self._asked, self._lengths, self._clock = asked, lengths, clock
        self._shape = 1.0 / (variation * variation)
        self._gaps, self._prompts, self._outputs = _generators(seed, asked.name)
        self._steady = self._first_gap() / asked.rate
        self._ahead = self._times(np.array([self._steady]))

    def until(self, end: float) -> tuple[Floats, Whole, Whole]:
        """Return times, prompts and outputs of the next requests: those before a moment."""
        parts, last = [self._ahead], float(self._ahead[-1])
        begin = float(self._ahead[0])
        while last < end:
            parts.append(self._more(self._expected(end - begin)))
            last = float(parts[-1][-1])
        known = np.concatenate(parts) if len(parts) > 1 else self._ahead
        number = int(np.searchsorted(known, end))
        self._ahead = known[number:]
        return (
            known[:number],
            self._lengths.prompts.draw(self._prompts, self._asked.prompt, number),
            self._lengths.outputs.draw(self._outputs, self._asked.output, number),
        )

    def _expected(self, seconds: float) -> int:
        number = self._asked.rate * seconds
        return int(number + 2.0 * sqrt(number)) + SPARE

    def _first_gap(self) -> float:
        """Return the wait for the first request, from a moment that has nothing to do with it.

        Long gaps are more likely to be met than short ones, and any part of one may be left.
        """
        return float(self._gaps.standard_gamma(self._shape + 1.0) / self._shape) * (
            self._gaps.random()
        )

    def _more(self, number: int) -> Floats:
        """Return the times of further requests."""
        if self._shape == 1.0:
            gaps = self._gaps.standard_exponential(number)
        else:
            gaps = self._gaps.standard_gamma(self._shape, number) / self._shape
        gaps /= self._asked.rate
        gaps[0] += self._steady
        steady = np.cumsum(gaps, out=gaps)
        self._steady = float(steady[-1])
        return self._times(steady)

    def _times(self, steady: Floats) -> Floats:
        return steady if self._clock is None else self._clock.times(steady)


def _generators(seed: int, name: str) -> list[np.random.Generator]:
    """Return generators for gaps, prompts and outputs that only a seed and a name decide on."""
    digest = np.frombuffer(sha256(name.encode("utf-8", "surrogatepass")).digest(), dtype="<u4")
    entropy = [seed, *(int(word) for word in digest)]
    return [
        np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy, spawn_key=(purpose,))))
        for purpose in range(3)
    ]
