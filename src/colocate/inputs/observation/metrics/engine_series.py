"""The series of one engine: which metrics it has, and their values on a grid of moments."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from colocate.errors import SourceError, Trouble
from colocate.inputs.observation.estimate import Floats
from colocate.inputs.observation.metrics.counters import (
    Flags,
    alive,
    bridged,
    from_birth,
    growth,
    restarts,
    total,
    unseen,
)
from colocate.inputs.observation.metrics.metric_names import (
    COUNTERS,
    MEANS,
    EngineMetrics,
    MetricName,
    MetricNames,
)
from colocate.inputs.server.prometheus import MetricSeries

HIGHEST_SHARE = 1.05
"""Of a cache that is in use: a little above 1 is rounding, more is no share."""
MOST_PER_SECOND = 1e9
"""By which no counter of requests, tokens or seconds grows."""


@dataclass(frozen=True)
class EngineName:
    """One engine, as its labels tell it.

    Parameters
    ----------
    engine
        Its kind, such as vllm.
    model
        That it serves, as the source calls it.
    target
        The labels that tell it from others.
    """

    engine: str
    model: str
    target: tuple[tuple[str, str], ...]

    @property
    def instance(self) -> str:
        """Where it is, by the usual label."""
        return dict(self.target).get("instance", "")


@dataclass(frozen=True)
class EngineSeries:
    """What is known of one engine over time.

    Parameters
    ----------
    key
        Which engine.
    metrics
        What its kind calls its metrics.
    step
        Seconds between moments.
    rows
        By the name of a metric, the values of all series that have it.
    """

    key: EngineName
    metrics: EngineMetrics
    step: float
    rows: dict[str, list[Floats]] = field(default_factory=dict)

    def way(self, quantity: str) -> MetricName | None:
        """Return the first way in which the engine tells a quantity, None if it does not."""
        ways = self.metrics.metrics.get(quantity, ())
        return next((way for way in ways if all(name in self.rows for name in way.names)), None)

    @property
    def present(self) -> Flags:
        """The moments at which anything is known of it."""
        rows = np.array([row for each in self.rows.values() for row in each])
        found: Flags = np.isfinite(rows).any(axis=0)
        return found

    def counted(self, quantity: str) -> Floats | None:
        """Return by how much a counter of requests grew between moments."""
        way = self.way(quantity)
        if way is None:
            return None
        present = self.present
        rows = (from_birth(row, present) for row in self.rows[way.total])
        return total([growth(self._bridged(row)) for row in rows])

    def mean(self, quantity: str) -> tuple[Floats, Floats] | None:
        """Return by how much the sum and the count of a mean grew between moments."""
        way = self.way(quantity)
        if way is None:
            return None
        sums, counts = (
            total([growth(self._bridged(row)) for row in self.rows[name]]) for name in way.names
        )
        return sums, counts

    def unseen(self, quantity: str) -> Flags:
        """Return the bins in which a counter was not seen, though the engine was there."""
        way = self.way(quantity)
        rows = self.rows[way.total] if way else []
        each = np.array([unseen(row, self.step) for row in rows])
        missing = np.asarray(each.any(axis=0))
        return np.asarray(missing[1:] | missing[:-1], dtype=np.bool_)

    def gauge(self, quantity: str) -> Floats | None:
        """Return the values of a gauge at each moment."""
        way = self.way(quantity)
        if way is None:
            return None
        values = total(self.rows[way.total])
        if quantity == "cache":
            number = len(self.rows[way.total])
            values = np.where((values >= 0.0) & (values <= HIGHEST_SHARE * number), values, np.nan)
            return values / number
        return np.where(values >= 0.0, values, np.nan)

    def _bridged(self, row: Floats) -> Floats:
        return bridged(row, unseen(row, self.step))

    @property
    def in_system(self) -> Floats | None:
        """Requests in work and in the queue at each moment, None if it does not tell both."""
        whole = self.gauge("in_system")
        if whole is None:
            running, waiting = self.gauge("running"), self.gauge("waiting")
            if running is None or waiting is None:
                return None
            whole = running + waiting
        missing = alive(whole) & ~np.isfinite(whole)
        if not missing.any():
            return whole
        moments, known = np.arange(len(whole)), np.flatnonzero(np.isfinite(whole))
        return np.where(missing, np.interp(moments, known, whole[known]), whole)

    @property
    def idle(self) -> bool:
        """Whether it has not been asked yet: some kinds make their counters with the first request.

        An engine with requests in work and no counter is not idle: its counters are unknown.
        """
        if self.way("started") or self.way("completed"):
            return False
        inside = self.in_system
        return inside is not None and not np.nan_to_num(inside).any()

    def restarted(self, quantity: str) -> Flags:
        """Return between which moments a counter began again."""
        way = self.way(quantity)
        assert way is not None, "the engine has the counter"
        each = np.array([restarts(row) for row in self.rows[way.total]])
        return np.asarray(each.any(axis=0), dtype=np.bool_)


def engine_name(
    labels: Mapping[str, str], metrics: EngineMetrics, names: MetricNames
) -> EngineName:
    """Return the engine of a series; its model is empty if no label names it.

    Parameters
    ----------
    labels
        Of the series.
    metrics
        Of engines of its kind.
    names
        Which metrics say what.
    """
    model = next((labels[label] for label in metrics.labels if labels.get(label)), "")
    target = tuple((label, labels[label]) for label in names.targets if label in labels)
    return EngineName(metrics.engine, model, target)


def engines_of(
    found: Iterable[MetricSeries], names: MetricNames, begin: float, step: float, points: int
) -> list[EngineSeries]:
    """Return all engines with their values on a grid of moments.

    Parameters
    ----------
    found
        What Prometheus has kept; a series may come in pieces.
    names
        Which metrics say what.
    begin, step, points
        The first moment, the seconds between two, and how many there are.
    """
    kinds = {name: kind for kind in names.engines for name in kind.names}
    rows: dict[tuple[tuple[str, str], ...], Floats] = {}
    for series in found:
        row = rows.setdefault(tuple(sorted(series.labels.items())), np.full(points, np.nan))
        for moment, value in series.values:
            place = round((moment - begin) / step)
            if 0 <= place < points and np.isfinite(value):
                row[place] = value
    engines: dict[EngineName, EngineSeries] = {}
    for each, row in rows.items():
        labels = dict(each)
        kind = kinds.get(labels.get("__name__", ""))
        if kind is None or not np.isfinite(row).any():
            continue
        key = engine_name(labels, kind, names)
        if key.model:
            _check(labels["__name__"], kind, row, step)
            engine = engines.setdefault(key, EngineSeries(key, kind, step))
            engine.rows.setdefault(labels["__name__"], []).append(row)
    return list(engines.values())


def _check(name: str, kind: EngineMetrics, row: Floats, step: float) -> None:
    """Refuse counters that cannot be: below zero, or growing faster than any."""
    counting = {
        each
        for quantity in (*COUNTERS, *MEANS)
        for way in kind.metrics.get(quantity, ())
        for each in way.names
    }
    if name not in counting:
        return
    lowest, fastest = float(np.nanmin(row)), growth(row) / step
    if lowest < 0.0:
        raise SourceError(
            Trouble.NONSENSE, f"{name} is {lowest:g}, which no counter can be; check the exporter"
        )
    if (fastest[np.isfinite(fastest)] > MOST_PER_SECOND).any():
        raise SourceError(
            Trouble.NONSENSE,
            f"{name} grows by more than {MOST_PER_SECOND:g} a second; check the exporter",
        )
