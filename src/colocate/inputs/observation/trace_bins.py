"""Requests of a trace in bins of time, in constant memory however long the trace is."""

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.estimate import Floats
from colocate.inputs.trace.reading import TraceRows

WIDTHS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 864000.0, 8640000.0)
"""Seconds of a bin: each a multiple of the one before, up to an hour a part of it, and the last
long enough for any time that a trace may have."""
MOST_BINS = 2048
"""Bins that are kept: a day in minutes, a month in half hours. More are joined to wider ones."""
PARTS = 3
"""What is counted: requests, prompt tokens, output tokens."""
GAPS = 3
"""What is counted of the times between requests: how many, their sum, the sum of squares."""


class TraceBins:
    """Counts requests of every model, in bins that grow wider as the trace goes on.

    Parameters
    ----------
    begin
        When the first bin begins, by the clock of the trace.
    """

    def __init__(self, begin: float) -> None:
        self._begin = begin
        self._rung = 0
        self._counts = np.zeros((PARTS, 1, MOST_BINS))
        self._gaps = np.zeros((GAPS, 1))
        self._last = np.full(1, np.nan)
        self.end = begin
        """When the last request came."""

    @property
    def width(self) -> float:
        """Seconds of a bin."""
        return WIDTHS[self._rung]

    @property
    def seconds(self) -> Floats:
        """How long each bin is: the last one ends with the last request."""
        span = self.end - self._begin
        number = max(int(np.ceil(span / self.width)), 1)
        seconds = np.full(number, self.width)
        seconds[-1] = span - (number - 1) * self.width
        return seconds

    def counts(self, model: int) -> Floats:
        """Return requests, prompt and output tokens of a model in each bin."""
        number = len(self.seconds)
        found = self._counts[:, model, :number].copy()
        found[:, -1] += self._counts[:, model, number:].sum(axis=1)
        return found

    def gaps(self, model: int) -> tuple[float, float, float]:
        """Return how many times between requests there are, their sum, and that of squares."""
        number, total, squares = self._gaps[:, model].tolist()
        return number, total, squares

    def add(self, rows: TraceRows) -> None:
        """Count requests, which come after all that were counted before."""
        self._make_room(int(rows.model.max()) + 1)
        self.end = float(rows.arrival[-1])
        while (self.end - self._begin) / self.width >= MOST_BINS:
            self._join()
        bins = ((rows.arrival - self._begin) / self.width).astype(np.int64)
        parts: tuple[float | NDArray[np.int32], ...] = (1.0, rows.prompt, rows.output)
        for part, amounts in enumerate(parts):
            np.add.at(self._counts[part], (rows.model, bins), amounts)
        self._add_gaps(rows.arrival, rows.model)

    def _make_room(self, models: int) -> None:
        more = models - self._counts.shape[1]
        if more > 0:
            more = max(more, self._counts.shape[1])
            self._counts = np.pad(self._counts, ((0, 0), (0, more), (0, 0)))
            self._gaps = np.pad(self._gaps, ((0, 0), (0, more)))
            self._last = np.pad(self._last, (0, more), constant_values=np.nan)

    def _join(self) -> None:
        """Make wider bins of those that there are."""
        together = round(WIDTHS[self._rung + 1] / self.width)
        edges = np.arange(0, MOST_BINS, together)
        wider = np.add.reduceat(self._counts, edges, axis=2)
        self._counts[:, :, : len(edges)] = wider
        self._counts[:, :, len(edges) :] = 0.0
        self._rung += 1

    def _add_gaps(self, arrival: Floats, model: NDArray[np.int32]) -> None:
        order = np.argsort(model, kind="stable")
        models, times = model[order], arrival[order]
        first = np.append(True, models[1:] != models[:-1])
        before = np.where(first, self._last[models], np.append(0.0, times[:-1]))
        gaps = times - before
        known = np.isfinite(gaps)
        parts: tuple[float | Floats, ...] = (1.0, gaps[known], gaps[known] ** 2)
        for row, amounts in enumerate(parts):
            np.add.at(self._gaps[row], models[known], amounts)
        self._last[models] = times  # of several, numpy keeps the last
