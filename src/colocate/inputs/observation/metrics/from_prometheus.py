"""What a Prometheus server has kept of the engines of a fleet."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from time import time

import numpy as np

from colocate.errors import InputError, SourceError, Trouble
from colocate.inputs.observation.estimate import BinTally
from colocate.inputs.observation.mapped_names import unmatched_notes
from colocate.inputs.observation.measured_model import REQUESTS, measured_model
from colocate.inputs.observation.metrics.engine_series import EngineSeries, engines_of
from colocate.inputs.observation.metrics.engine_tallies import tallies_of
from colocate.inputs.observation.metrics.metric_names import (
    COUNTERS,
    MetricNames,
    known_metric_names,
)
from colocate.inputs.observation.metrics.prometheus_notes import (
    group_notes,
    model_notes,
    without_twins,
)
from colocate.inputs.observation.observation import (
    ModelObservation,
    Observation,
    Remark,
    SourceNote,
)
from colocate.inputs.server.prometheus import PrometheusServer

STEPS = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds of a bin; up to the longest, Prometheus shows a sample until the next one comes."""
USUAL_BINS = 1500
"""Bins that a time is divided into, at most, unless the longest bin makes more of them."""
SCRAPES_IN_A_BIN = 2.0
"""Samples that a bin holds at least, so that no bin is empty only because none fell into it."""
LATE_AFTER, LATE_SCRAPES = 60.0, 4.0
"""Seconds, and times the usual distance of samples, after which the newest one is too old."""
IN_FLIGHT = 1.0
"""Seconds after its moment until which a sample may come: a scrape is told once it has ended. A bin
that ends later would seem to have fewer requests than it had."""
CLOCK_OFF = 30.0
"""Seconds by which the clock of a server may differ from ours before that is told."""
LOOK_BACKS, ENOUGH = (60, 300, 600), 3
"""Seconds over which the distance of samples is measured, the first with enough of them: engines
that have just started have no more."""
SHORTEST, LONGEST = 10.0, 31 * 86400.0
"""Seconds that can be looked back."""


@dataclass(frozen=True)
class PrometheusQuestion:
    """What to ask a Prometheus server.

    Parameters
    ----------
    window
        How many seconds to look back.
    step
        Seconds of a bin; None chooses it.
    where
        Labels that engines must have, such as `cluster="a"`.
    names
        Which metrics say what.
    mapping
        The model of the fleet that stands for a model of the metrics, where names differ.
    end
        Until when, in seconds since 1970 by the clock of the server; None for now.

    Raises
    ------
    InputError
        If a time makes no sense.
    """

    window: float = 3600.0
    step: float | None = None
    where: str = ""
    names: MetricNames = field(default_factory=known_metric_names)
    mapping: Mapping[str, str] = field(default_factory=dict)
    end: float | None = None

    def __post_init__(self) -> None:
        if not SHORTEST <= self.window <= LONGEST:
            raise InputError.of("window", self.window, f"from {SHORTEST:g} s to 31 days")
        if self.step is not None and not STEPS[0] <= self.step <= STEPS[-1]:
            raise InputError.of("step", self.step, f"from {STEPS[0]:g} to {STEPS[-1]:g} s")
        if self.end is not None and not (isfinite(self.end) and self.end > 0.0):
            raise InputError.of("end", self.end, "seconds since 1970")

    def selector(self, names: Sequence[str]) -> str:
        """Return the series of some metrics, as PromQL has it."""
        labels = [f'__name__=~"{"|".join(sorted(names))}"', *([self.where] if self.where else [])]
        return f"{{{','.join(labels)}}}"


def observe_prometheus(
    url: str, question: PrometheusQuestion | None = None, token: str | None = None
) -> Observation:
    """Return what a Prometheus server knows of the demand for models, and of their latencies.

    Parameters
    ----------
    url
        Its address.
    question
        What to ask; the last hour of all engines that are known by default.
    token
        Sent as a bearer token.

    Raises
    ------
    SourceError
        If the server is down, its newest samples are old, it has none of an engine, or they say
        what cannot be. Nothing may be concluded then.
    InputError
        If the address is none.
    """
    asked = question or PrometheusQuestion()
    server = PrometheusServer(url, token)
    try:
        return _observed(server, asked)
    except SourceError as error:
        text = str(error)
        told = text if text.startswith(str(server)) else f"{server}: {text}"
        raise SourceError(error.trouble, told, error.status) from None


def _observed(server: PrometheusServer, asked: PrometheusQuestion) -> Observation:
    now = server.now()
    ours = time()
    end = now if asked.end is None else asked.end
    labels = server.labels(asked.selector(sorted(asked.names.names)), end - asked.window, end)
    present = Counter(each.get("__name__", "") for each in labels)
    if not labels:
        raise _empty(asked)
    apart = _distance(server, asked, present, end)
    step = asked.step or _step(asked.window, apart)
    settled = end - IN_FLIGHT if asked.end is None else end
    last = np.floor(settled / step) * step
    points = int(asked.window / step) + 1
    if points < 3:
        raise InputError.of("window", asked.window, f"at least {2 * step:g} s: two bins")
    begin = last - (points - 1) * step
    selector = asked.selector(sorted(present))
    found = server.range(selector, begin, last, step, len(labels))
    every = engines_of(found, asked.names, begin, step, points)
    engines = without_twins(every)
    notes = list(group_notes(len(every) - len(engines), labels, asked.names))
    notes += unmatched_notes(asked.mapping, {engine.key.model for engine in engines})
    models, first = _models(engines, asked, step, notes)
    if abs(now - ours) > CLOCK_OFF:
        notes.append(SourceNote(Remark.CLOCK, amount=now - ours))
    if apart > step:
        notes.append(SourceNote(Remark.COARSE, amount=apart))
    seconds = step * (points - 1 - first)
    ordered = tuple(sorted(models, key=lambda model: (-model.rate.value, model.name)))
    begun = float(begin + first * step)
    return Observation(str(server), "prometheus", begun, step, seconds, end, ordered, tuple(notes))


def _empty(asked: PrometheusQuestion) -> SourceError:
    known = ", ".join(engine.engine for engine in asked.names.engines)
    also = f" with {asked.where}" if asked.where else ""
    first = "check the labels of --where first, then that" if asked.where else "check that"
    return SourceError(
        Trouble.EMPTY,
        f"has no metrics of an engine{also} in the last {asked.window:g} s ({known}); {first} "
        "Prometheus scrapes the engines, or give their names with --names",
    )


def _distance(
    server: PrometheusServer, asked: PrometheusQuestion, present: Mapping[str, int], end: float
) -> float:
    """Return the seconds between two samples, and refuse a source whose newest is too old."""
    counters = {
        name
        for engine in asked.names.engines
        for quantity in COUNTERS
        for way in engine.metrics.get(quantity, ())
        for name in way.names
        if name in present
    }
    name = max(sorted(counters or present), key=lambda each: present[each])
    one = asked.selector([name])
    newest = server.value(f"max(timestamp({one}))", end)
    if newest is None:
        raise SourceError(
            Trouble.LATE,
            f"has no sample of {name} in the last five minutes; check that Prometheus still "
            "scrapes the engines",
        )
    for seconds in LOOK_BACKS:
        number = server.value(f"max(count_over_time({one}[{seconds}s]))", end) or 1.0
        apart = seconds / number
        if number >= ENOUGH:
            break
    if end - newest > max(LATE_AFTER, LATE_SCRAPES * apart):
        raise SourceError(
            Trouble.LATE,
            f"its newest sample is {end - newest:.0f} s old, though they come every {apart:.3g} s; "
            "check that Prometheus still scrapes the engines",
        )
    return apart


def _step(window: float, apart: float) -> float:
    fitting = (
        step for step in STEPS if step >= SCRAPES_IN_A_BIN * apart and window / step <= USUAL_BINS
    )
    return next(fitting, STEPS[-1])


def _models(
    engines: Sequence[EngineSeries],
    asked: PrometheusQuestion,
    step: float,
    notes: list[SourceNote],
) -> tuple[list[ModelObservation], int]:
    """Return what is known of each model, and the first bin of which anything is.

    Parameters
    ----------
    engines
        All of them.
    asked
        What was asked.
    step
        Seconds of a bin.
    notes
        Takes what a reader must know.
    """
    served: dict[str, list[EngineSeries]] = {}
    for engine in engines:
        name = asked.mapping.get(engine.key.model, engine.key.model)
        served.setdefault(name, []).append(engine)
    found = {name: tallies_of(own, step) for name, own in served.items()}
    counted = {name: each for name, each in found.items() if each is not None and each.last}
    if not counted:
        raise SourceError(
            Trouble.EMPTY,
            "has no two samples of a counter of requests that belong to a model; "
            "wait for the next scrapes, or name the label of models with --label",
        )
    known = [np.isfinite(each.tallies[REQUESTS].amount) for each in counted.values()]
    first = int(np.flatnonzero(np.array(known).any(axis=0))[0])
    models = []
    for name, each in counted.items():
        cut = {
            key: BinTally(*(side[first:] for side in tally)) for key, tally in each.tallies.items()
        }
        later = each._replace(tallies=cut, last=each.last - first, unseen=each.unseen[first:])
        model = measured_model(
            name, each.basis, cut, step, replicas=each.replicas, unseen=later.unseen
        )
        if model is not None:
            models.append(model)
            notes += model_notes(model, later, step)
    return models, first
