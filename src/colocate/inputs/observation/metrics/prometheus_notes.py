"""What a reader must know about metrics: gaps, restarts, engines that count twice or are gone."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from colocate.inputs.observation.measured_model import REQUESTS
from colocate.inputs.observation.metrics.counters import GONE_AFTER, alive
from colocate.inputs.observation.metrics.engine_series import EngineSeries, engine_name
from colocate.inputs.observation.metrics.engine_tallies import ModelTally
from colocate.inputs.observation.metrics.metric_names import MetricNames
from colocate.inputs.observation.observation import Basis, ModelObservation, Remark, SourceNote

SOME_GAPS = 0.01
"""The share of bins that are unknown, from which on that is told."""
GROWING = 0.05
"""By how much of its rate a queue must grow for the model to count as overloaded."""


def without_twins(engines: Sequence[EngineSeries]) -> list[EngineSeries]:
    """Return engines without those that are scraped a second time, by another job."""
    kept: list[EngineSeries] = []
    places: dict[tuple[str, str, str], list[EngineSeries]] = {}
    for engine in engines:
        here = places.setdefault((engine.key.engine, engine.key.model, engine.key.instance), [])
        if not any(_same(engine, other) for other in here):
            here.append(engine)
            kept.append(engine)
    return kept


def _same(one: EngineSeries, other: EngineSeries) -> bool:
    """Say whether two engines at one place are one: their counters never differ."""
    way = one.way("completed") or one.way("started")
    if not one.key.instance or way is None or way.total not in other.rows:
        return False
    rows, others = (np.array(each.rows[way.total]) for each in (one, other))
    if rows.shape != others.shape or not np.array_equal(rows, others, equal_nan=True):
        return False
    return bool(np.nanmax(rows) > np.nanmin(rows))


def group_notes(
    dropped: int, labels: Sequence[Mapping[str, str]], names: MetricNames
) -> Iterator[SourceNote]:
    """Yield what is to know of all engines together.

    Parameters
    ----------
    dropped
        Engines that were scraped twice.
    labels
        Of all series.
    names
        Which metrics say what.
    """
    if dropped:
        yield SourceNote(Remark.TWICE, amount=float(dropped))
    kinds = {name: kind for kind in names.engines for name in kind.names}
    nameless = [
        each
        for each in labels
        if (kind := kinds.get(each.get("__name__", "")))
        and not engine_name(each, kind, names).model
    ]
    if nameless:
        known = sorted({label for each in nameless for label in each if label != "__name__"})
        metrics = tuple(sorted({each["__name__"] for each in nameless}))
        yield SourceNote(Remark.UNLABELLED, metrics, float(len(nameless)), ", ".join(known))


def model_notes(model: ModelObservation, counted: ModelTally, step: float) -> Iterator[SourceNote]:
    """Yield what is to know of one model.

    Parameters
    ----------
    model
        What was measured of it.
    counted
        What its engines counted.
    step
        Seconds of a bin.
    """
    name = (model.name,)
    row = counted.tallies[REQUESTS].amount
    lives = alive(row)
    gaps = float((lives & (counted.unseen | ~np.isfinite(row))).sum()) / max(
        float(lives.sum()), 1.0
    )
    if gaps > SOME_GAPS:
        yield SourceNote(Remark.GAPS, name, gaps)
    if counted.restarts:
        yield SourceNote(Remark.RESTARTS, name, float(counted.restarts))
    if len(row) - counted.last >= GONE_AFTER:
        yield SourceNote(Remark.GONE, name, (len(row) - counted.last) * step)
    grown = counted.growth
    if grown > GROWING * model.rate.value and grown * len(row) * step >= 1.0:
        yield SourceNote(Remark.GROWING, name, grown)
    if model.basis is Basis.COMPLETED:
        yield SourceNote(Remark.ENDED_ONLY, name)
