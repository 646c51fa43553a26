"""Predicted latencies as plain data for JSON; times in seconds."""

from collections.abc import Iterable, Sequence
from typing import Any

from colocate.latency.prediction import Latency, Prediction, ratios_of
from colocate.outputs.text.plain_data import plain
from colocate.problem.problem import Problem


def prediction_data(
    predictions: Sequence[Prediction], problem: Problem, sharing: str
) -> dict[str, Any]:
    """Return what `colocate predict --json` prints; infinite is the text Infinity.

    Parameters
    ----------
    predictions
        One for each replica.
    problem
        What they are predicted for.
    sharing
        How engines share a GPU in them.
    """
    ratios = ratios_of(tuple(predictions), dict.fromkeys(gpu.name for gpu in problem.gpus))
    data = {
        "sharing": sharing,
        "ratio": max(ratios.values()),
        "ratios": ratios,
        "keeps_targets": all(_keeps(each) for each in predictions),
        "replicas": replica_data(predictions),
    }
    found: dict[str, Any] = plain(data)
    return found


def replica_data(predictions: Iterable[Prediction]) -> list[dict[str, Any]]:
    """Return what users of every replica would feel, as plain data."""
    return [plain(_replica_data(each)) for each in predictions]


def _keeps(prediction: Prediction) -> bool:
    """Say whether the stated targets hold; usual ones, of models that state none, do not count."""
    return prediction.keeps_targets or not prediction.requests.binding


def _replica_data(prediction: Prediction) -> dict[str, Any]:
    requests = prediction.requests
    targets = {
        "stated": requests.binding,
        "tpot_slo": requests.tpot_slo,
        "ttft_slo": requests.ttft_slo,
        "percentile": requests.percentile,
    }
    return {
        "model": prediction.model,
        "replica": prediction.replica,
        "gpus": prediction.gpus,
        **({"window": prediction.window_name} if prediction.window_name else {}),
        "rate": requests.rate,
        "slots": prediction.slots,
        **_latency_data(prediction.shared),
        "target": targets,
        "keeps_targets": _keeps(prediction),
        "slower": prediction.slower,
        "alone": _latency_data(prediction.alone),
    }


def _latency_data(latency: Latency) -> dict[str, Any]:
    return {**latency._asdict(), "saturated": latency.saturated}
