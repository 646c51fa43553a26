"""Replays as plain data for JSON; times in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from colocate.advise.simulation.comparison import SimulatedWay, difference
from colocate.advise.simulation.intervals import Interval
from colocate.advise.simulation.means import DistributionMeans
from colocate.advise.simulation.verdicts import ModelReplay
from colocate.outputs.text.plain_data import plain
from colocate.simulate.result import GpuOutcome, Timeline

DIGITS = 6
"""Of values in timelines: more is beyond any use."""


def simulation_data(
    ways: Sequence[SimulatedWay], seeds: Sequence[int], sharing: str
) -> dict[str, Any]:
    """Return what `colocate simulate --json` prints.

    Parameters
    ----------
    ways
        The placements, the one that it is about first.
    seeds
        Of the replays.
    sharing
        How engines share a GPU in them.
    """
    first, *others = ways
    data = {
        "seconds": first.found.seconds,
        "complete": first.found.complete,
        "seeds": list(seeds),
        "sharing": sharing,
        **_way_data(first),
        "gpus": [_gpu_data(gpu) for gpu in first.found.runs[0].gpus],
        "comparisons": [
            {**_way_data(other), "difference": _difference_data(first, other)} for other in others
        ],
    }
    found: dict[str, Any] = plain(data)
    return found


def _way_data(way: SimulatedWay) -> dict[str, Any]:
    found = way.found
    whole = {"attainment": found.attainment, "goodput": found.goodput, "requests": found.requests}
    return {
        "placement": way.name,
        **_valued(whole),
        "models_that_keep_targets": way.kept,
        "models_with_targets": way.judged,
        "models": [_model_data(way, number) for number in range(len(way.models))],
    }


def _difference_data(first: SimulatedWay, other: SimulatedWay) -> dict[str, Any]:
    found = difference(first.found, other.found)
    return {
        **_valued({"goodput": found.goodput, "attainment": found.attainment}),
        "verdict": found.verdict.name.lower(),
    }


def _model_data(way: SimulatedWay, number: int) -> dict[str, Any]:
    model = way.models[number]
    found = model.found
    measures = {
        field.name: getattr(found, field.name) for field in fields(found) if field.name != "name"
    }
    run = way.found.runs[0].models[number]
    histograms = {
        name: [list(each) for each in getattr(run, name).histogram]
        for name in ("ttft", "tpot", "end_to_end")
    }
    return {
        "model": found.name,
        "gpus": list(model.gpus),
        **_valued(measures),
        "target": _target_data(model),
        "outcome": model.outcome.name.lower(),
        "misses": [cause.name.lower() for cause in model.misses],
        "predicted": {"tpot": model.predicted_tpot, "ttft": model.predicted_ttft},
        "histograms": histograms,
    }


def _target_data(model: ModelReplay) -> dict[str, Any]:
    asked = model.asked
    return {
        "stated": asked.binding,
        "tpot_slo": asked.tpot_slo,
        "ttft_slo": asked.ttft_slo,
        "percentile": asked.percentile,
    }


def _valued(measures: Mapping[str, Interval | DistributionMeans | None]) -> dict[str, Any]:
    """Return means under their names, and half their intervals where there are several seeds."""
    told = {name: _means(value) for name, value in measures.items()}
    if not any(
        isinstance(value, Interval) and value.half is not None for value in measures.values()
    ):
        return told
    return {**told, "plus_minus": {name: _halves(value) for name, value in measures.items()}}


def _means(value: Interval | DistributionMeans | None) -> Any:
    if value is None:
        return None
    if isinstance(value, Interval):
        return value.mean
    return {name: each.mean for name, each in value._asdict().items()}


def _halves(value: Interval | DistributionMeans | None) -> Any:
    if value is None:
        return None
    if isinstance(value, Interval):
        return value.half
    return {name: each.half for name, each in value._asdict().items()}


def _gpu_data(gpu: GpuOutcome) -> dict[str, Any]:
    timelines = {
        "busy_engines": gpu.busy_engines,
        "in_flight": gpu.in_flight,
        "waiting": gpu.waiting,
        "cache_gb": gpu.cache_gb,
    }
    return {
        "gpu": gpu.name,
        "busy": gpu.busy,
        "seconds": gpu.waiting.seconds.tolist(),
        **{name: _rounded(timeline) for name, timeline in timelines.items()},
    }


def _rounded(timeline: Timeline) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in timeline.values.tolist()]
