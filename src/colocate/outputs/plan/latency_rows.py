"""What users of every model of a plan feel, in words and figures: the same on screen and page."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from colocate.advise.latency import worst_of
from colocate.latency.prediction import Prediction
from colocate.outputs.latency.words import shown_time, slower_text, target_text
from colocate.outputs.plan.latency_words import of_target
from colocate.outputs.plan.service_rows import MOST_GPUS
from colocate.outputs.text.wording import listed, replica_gpus


class ModelLatencyRow(NamedTuple):
    """One model, by the replica that is worst off, which the model's cell says if they differ."""

    model: str
    gpus: str
    tpot: str
    ttft: str
    slower: str
    target: str
    holds: str


HEADINGS = ModelLatencyRow("model", "GPUs", "TPOT", "TTFT", "than alone", "target", "holds")


def latency_rows(predictions: Iterable[Prediction], most: int) -> tuple[list[ModelLatencyRow], int]:
    """Return a row for each model, and how many models have none.

    Parameters
    ----------
    predictions
        What users of the replicas of a plan feel, in the order of the fleet.
    most
        So many rows at most; if there are more models, those closest to their targets.
    """
    of_model = by_model(predictions)
    if len(of_model) > most:
        of_model.sort(key=lambda replicas: -worst_of(replicas).shared.ratio)
    return [_row(replicas) for replicas in of_model[:most]], max(len(of_model) - most, 0)


def by_model(predictions: Iterable[Prediction]) -> list[list[Prediction]]:
    """Return the replicas of every model."""
    return [list(group) for _, group in groupby(predictions, key=lambda each: each.model)]


def _row(replicas: Sequence[Prediction]) -> ModelLatencyRow:
    worst = worst_of(replicas)
    at = _percentile(worst)
    tpot = worst.shared.tpot.at(worst.requests.percentile)
    ttft = worst.shared.ttft.at(worst.requests.percentile)
    alike = len({(each.shared.tpot, each.shared.ttft) for each in replicas}) == 1
    return ModelLatencyRow(
        worst.model if alike else f"{worst.model} (worst of {len(replicas)})",
        listed([replica_gpus(each.gpus) for each in replicas], MOST_GPUS),
        f"{at}{shown_time(tpot)}" if worst.requests.decode_tokens else "-",
        f"{at}{shown_time(ttft)}",
        slower_text(worst),
        _target(worst),
        holds_text(worst),
    )


def _target(found: Prediction) -> str:
    """Return the targets of a replica; in brackets if they are assumed."""
    told = target_text(found.requests)
    if not told:
        return "none"
    return told if found.requests.binding else f"({told})"


def holds_text(found: Prediction) -> str:
    """Return whether the targets of a replica hold, and how close the worst of them is."""
    if found.shared.saturated:
        return "no: queue grows"
    if not found.requests.has_target:
        return "-"
    return f"{'yes' if found.keeps_targets else 'no'}, {of_target(found.shared.ratio)}"


def _percentile(found: Prediction) -> str:
    """Return what the latencies of a replica are shown at, nothing for the mean."""
    return f"p{found.requests.percentile:g} " if found.requests.percentile is not None else ""
