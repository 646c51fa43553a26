"""What `colocate watch` tells Prometheus: the plan, what was measured, and what it does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from colocate.follow.engine_records import places_of, serving
from colocate.follow.state import WatchState
from colocate.inputs.observation.observation import Observation
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.parts import Places, parts_by_gpu
from colocate.problem.pressure import pressures
from colocate.problem.problem import Problem

GB = 1e9
"""Bytes."""
PREFIX = "colocate"
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
"""In the value of a label, as the format of Prometheus has it."""
Sample = tuple[dict[str, str], float]


@dataclass(frozen=True)
class MetricFamily:
    """One metric with all its samples."""

    name: str
    kind: str
    about: str
    samples: tuple[Sample, ...]

    def lines(self) -> Iterator[str]:
        """Yield its lines in the text format of Prometheus; nothing if it has no sample."""
        known = [(labels, value) for labels, value in self.samples if isfinite(value)]
        if not known:
            return
        yield f"# HELP {PREFIX}_{self.name} {self.about}"
        yield f"# TYPE {PREFIX}_{self.name} {self.kind}"
        for labels, value in known:
            shown = ",".join(f'{name}="{text.translate(ESCAPES)}"' for name, text in labels.items())
            yield f"{PREFIX}_{self.name}{f'{{{shown}}}' if shown else ''} {value!r}"


def metrics_text(
    problem: Problem,
    state: WatchState,
    observation: Observation | None,
    moments: Mapping[str, float],
) -> str:
    """Return all metrics in the text format of Prometheus.

    Parameters
    ----------
    problem
        The fleet with the demand that it was planned for.
    state
        The engines, and what was done.
    observation
        What was measured last; None if the source did not answer.
    moments
        When things happened last, in seconds since 1970, by their names.
    """
    families = [*_of_plan(problem, state), *_of_targets(problem), *_of_source(observation)]
    families += _of_loop(state, moments)
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _of_plan(problem: Problem, state: WatchState) -> Iterator[MetricFamily]:
    engines = serving(state.engines)
    here = [({"model_name": each.model, "gpu": gpu}, each) for each in engines for gpu in each.gpus]
    yield _gauge("plan_engine", "An engine of a model is on a GPU.", [(at, 1.0) for at, _ in here])
    cache = [(at, each.cache_gb * GB) for at, each in here]
    yield _gauge("plan_cache_bytes", "KV cache of an engine on a GPU.", cache)
    held = [(at, max(each.held_gb - each.cache_gb, 0.0) * GB) for at, each in here]
    yield _gauge("plan_weights_bytes", "Weights and overhead of an engine on a GPU.", held)
    places = places_of(engines)
    yield _gauge(
        "plan_pressure", "Load for each GB of cache of a GPU.", _pressures(problem, places)
    )
    rates = [({"model_name": each.name}, each.peak_rate or 0.0) for each in problem.models]
    yield _gauge("plan_rate", "Requests a second that the plan is for.", rates)
    if problem.has_requests:
        yield from _of_latency(predict_placement(problem, places))


def _pressures(problem: Problem, places: Places) -> list[Sample]:
    """Return the pressure of every GPU, whatever targets the placement breaks."""
    members = parts_by_gpu(problem, places)
    none = np.zeros(problem.windows)
    load = np.array(
        [
            sum((np.array(part.model.load) for part in members[gpu.name]), none)
            for gpu in problem.gpus
        ]
    )
    used = [sum(part.model.size_gb for part in members[gpu.name]) for gpu in problem.gpus]
    capacity = [gpu.memory_gb for gpu in problem.gpus]
    found = pressures(load, np.array(used, float), np.array(capacity, float))
    return [
        ({"gpu": gpu.name}, float(value)) for gpu, value in zip(problem.gpus, found, strict=True)
    ]


def _of_latency(predictions: tuple[Prediction, ...]) -> Iterator[MetricFamily]:
    """Yield the predicted latencies of every model, those of its slowest replica."""
    for name, about in (
        ("tpot", "Predicted mean time per output token."),
        ("ttft", "Predicted mean time to first token."),
    ):
        worst: dict[str, float] = {}
        for each in predictions:
            value = getattr(each.shared, name).mean
            worst[each.model] = max(value, worst.get(each.model, 0.0))
        samples = [({"model_name": model}, value) for model, value in worst.items()]
        yield _gauge(f"plan_{name}_seconds", about, samples)


def _of_targets(problem: Problem) -> Iterator[MetricFamily]:
    for name in ("tpot", "ttft"):
        samples = [
            ({"model_name": model.name}, getattr(model.requests, f"{name}_slo"))
            for model in problem.models
            if model.requests is not None
        ]
        yield _gauge(f"target_{name}_seconds", f"Target for {name.upper()}.", samples)


def _of_source(observation: Observation | None) -> Iterator[MetricFamily]:
    up: list[Sample] = [({}, 1.0 if observation else 0.0)]
    yield _gauge("watch_source_up", "Whether the source of demand answered well.", up)
    models = observation.models if observation else ()
    rates = [({"model_name": each.name}, each.rate.value) for each in models]
    yield _gauge("watch_measured_rate", "Requests a second that were measured.", rates)


def _of_loop(state: WatchState, moments: Mapping[str, float]) -> Iterator[MetricFamily]:
    for name, label, about in (
        ("rounds", "decision", "Rounds, by what was decided."),
        ("steps", "outcome", "Steps, by how they ended."),
    ):
        found = [
            ({label: key.removeprefix(f"{name}_")}, value)
            for key, value in sorted(state.counts.items())
            if key.startswith(f"{name}_")
        ]
        yield MetricFamily(f"watch_{name}_total", "counter", about, tuple(found))
    pending: list[Sample] = [({}, float(len(state.pending)))]
    yield _gauge("watch_steps_pending", "Steps of a change that are not done.", pending)
    for name, when in sorted(moments.items()):
        about = f"When the last {name} was, in seconds since 1970."
        yield _gauge(f"watch_last_{name}_timestamp_seconds", about, [({}, when)])


def _gauge(name: str, about: str, samples: list[Sample]) -> MetricFamily:
    return MetricFamily(name, "gauge", about, tuple(samples))
