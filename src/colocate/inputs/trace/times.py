"""Times of a trace: seconds or dates, never going back."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.fault import Fault

LATEST = 1e10
"""Seconds: three hundred years, and Unix times; more are milliseconds or a mistake."""
SECONDS = f"seconds from 0 to {LATEST:g}"
DATE = "a date and time, such as 2023-11-16 18:17:03.979"
EARLIER = "is earlier than the time before it"


class TraceClock:
    """Turns the times of a trace into seconds since it began, one after the other.

    Parameters
    ----------
    dates
        Whether times are dates, and not seconds.
    from_first
        Whether time begins with the first request, and not at 0.
    """

    def __init__(self, dates: bool, from_first: bool) -> None:
        self._dates, self._from_first = dates, from_first
        self._date: datetime | None = None
        self._begin: float | None = None if from_first else 0.0
        self._last = 0.0

    @property
    def first_date(self) -> datetime | None:
        """The date that the trace begins with, None where times are seconds or none was read."""
        return self._date

    def all_at_once(self, texts: Sequence[str]) -> NDArray[np.float64] | None:
        """Return many times in seconds, None if something is wrong with one of them."""
        if not texts:
            return np.empty(0)
        try:
            read = self._since(texts) if self._dates else map(float, texts)
            times = np.fromiter(read, np.float64, len(texts))
        except (TypeError, ValueError):
            return None
        begin = float(times[0]) if self._begin is None else self._begin
        if not (times[0] >= 0.0 and times[-1] <= LATEST and (np.diff(times) >= 0.0).all()):
            return None
        times -= begin
        if times[0] < self._last:
            return None
        self._begin, self._last = begin, float(times[-1])
        return times

    def one(self, text: str, column: str) -> float:
        """Return a time in seconds, or say what is wrong with it.

        Parameters
        ----------
        text
            As the trace has it.
        column
            What the trace calls it.
        """
        expected = DATE if self._dates else SECONDS
        try:
            time = next(self._since([text])) if self._dates else float(text)
        except TypeError:
            found = "does not have a time zone where others have one, or has one where they do not"
            raise InputError(Fault(found, value=text, path=(column,))) from None
        except ValueError:
            raise InputError.of(column, text, expected) from None
        if (not self._dates and not time >= 0.0) or not time <= LATEST:
            raise InputError.of(column, text, expected)
        begin = time if self._begin is None else self._begin
        if time - begin < self._last:
            advice = "sort the trace by it"
            raise InputError(Fault(EARLIER, advice=advice, value=text, path=(column,)))
        self._begin, self._last = begin, time - begin
        return self._last

    def _since(self, texts: Sequence[str]) -> Iterator[float]:
        """Yield the seconds between the first date of the trace and others."""
        for text in texts:
            date = datetime.fromisoformat(text.strip())
            if self._date is None:
                self._date = date
            yield (date - self._date).total_seconds()
