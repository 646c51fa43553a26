"""Requests in order of time: which model each asks, when, and how long it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.fault import Fault

MOST_TOKENS = 10_000_000
"""Of a prompt or an output: the longest context that any public model states (Llama 4 Scout)."""
MOST_MODELS = 2**31 - 1
"""The largest number that an index of 32 bits holds."""
SORTED = "in order of time"

Floats = NDArray[np.float64]
Whole = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RequestStream:
    """Requests in order of arrival, all of them or one piece of a longer stream.

    Pieces of one stream follow each other: time goes on from one to the next. Arrays are checked
    where a stream is made, and cannot be written to through it.

    Parameters
    ----------
    arrival
        Seconds since the stream began, never falling.
    model
        Which model of the problem each request asks, as its index.
    prompt, output
        Tokens to read and to make; an output of 0 is that of a model that does not decode.
    seconds
        The time up to which the stream is known, since it began: later requests are in later
        pieces. By default that of the last arrival.
    """

    arrival: Floats
    model: Whole
    prompt: Whole
    output: Whole
    seconds: float = nan

    def __post_init__(self) -> None:
        arrival = _times(self.arrival)
        self._keep("arrival", arrival)
        self._keep("model", _whole("model", self.model, 0, MOST_MODELS))
        self._keep("prompt", _whole("prompt", self.prompt, 1, MOST_TOKENS))
        self._keep("output", _whole("output", self.output, 0, MOST_TOKENS))
        for field in ("model", "prompt", "output"):
            if len(getattr(self, field)) != len(arrival):
                expected = f"as long as arrival: {len(arrival)} requests"
                raise InputError.of(field, len(getattr(self, field)), expected)
        last = float(arrival[-1]) if len(arrival) else 0.0
        seconds = last if isnan(self.seconds) else float(self.seconds)
        if not isfinite(seconds) or seconds < last:
            raise InputError.of("seconds", seconds, f"a finite number >= {last}, the last arrival")
        object.__setattr__(self, "seconds", seconds)

    def __len__(self) -> int:
        return len(self.arrival)

    def cut(self, most: int) -> Iterator["RequestStream"]:
        """Yield it in pieces of at most so many requests; one that has none is one piece."""
        for begin in range(0, max(len(self), 1), most):
            rows = slice(begin, begin + most)
            arrival = self.arrival[rows]
            seconds = self.seconds if begin + most >= len(self) else float(arrival[-1])
            yield RequestStream(
                arrival, self.model[rows], self.prompt[rows], self.output[rows], seconds
            )

    def _keep(self, field: str, values: NDArray[Any]) -> None:
        kept = values.view()
        kept.flags.writeable = False
        object.__setattr__(self, field, kept)


def _times(values: NDArray[Any]) -> Floats:
    """Return times of arrival if they can be some."""
    times = _row("arrival", values).astype(np.float64, copy=False)
    if len(times) == 0:
        return times
    later = np.diff(times) >= 0.0
    if not later.all():
        place = int(np.argmin(later)) + 1
        raise InputError.of(("arrival", place), float(times[place]), SORTED)
    if not (times[0] >= 0.0 and isfinite(times[-1])):
        place = 0 if not times[0] >= 0.0 else len(times) - 1
        raise InputError.of(("arrival", place), float(times[place]), "a finite number >= 0")
    return times


def _whole(field: str, values: NDArray[Any], least: int, most: int) -> Whole:
    """Return whole numbers within limits.

    Parameters
    ----------
    field
        What they are.
    values
        As they were given.
    least, most
        The limits.
    """
    row = _row(field, values)
    fits = (row >= least) & (row <= most)
    if row.dtype.kind == "f":
        fits &= row == np.floor(row)
    if not fits.all():
        place = int(np.argmin(fits))
        expected = f"a whole number from {least} to {most}"
        raise InputError.of((field, place), row[place].item(), expected)
    return row.astype(np.int32, copy=False)


def _row(field: str, values: NDArray[Any]) -> NDArray[Any]:
    row = np.asarray(values)
    if row.ndim != 1 or (len(row) and row.dtype.kind not in "iuf"):
        raise InputError(Fault("has the wrong form", "one row of numbers", path=(field,)))
    return row
