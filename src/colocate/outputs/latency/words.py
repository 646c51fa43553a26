"""Latencies, targets and what is missing to predict them, in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isinf

from colocate.inputs.known_requests import RequestGap
from colocate.latency.prediction import Prediction
from colocate.outputs.text.wording import amount, listed, quoted, replica_gpus
from colocate.problem.requests import Requests

MOST_KINDS = 3
"""Kinds of GPU in a note, which should stay short."""
SHARED_BY = {"slices": "time slices", "mps": "MPS"}
"""The ways to share a GPU, as tables name them."""

AS_FAST, MANY_TIMES = 1.05, 10.0
"""Below the first, nobody feels that a model is slower than alone; from the second on, a figure
needs no digit after the point."""


def shown_time(seconds: float) -> str:
    """Return a time as people read it: milliseconds below a second."""
    if isinf(seconds):
        return "∞"
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def shown_ratio(ratio: float) -> str:
    """Return a ratio."""
    return "∞" if isinf(ratio) else f"{ratio:.2f}" if ratio < 99.995 else f"{ratio:,.0f}"


def slower_times(found: Prediction) -> str:
    """Return how many times slower a replica is than alone, as a figure such as 4.3x."""
    if isinf(found.slower):
        return "∞"
    digits = 1 if found.slower < MANY_TIMES else 0
    return f"{found.slower:.{digits}f}x"


def slower_text(found: Prediction) -> str:
    """Return the same in words, such as 4.3x slower, or as fast."""
    if isinf(found.slower):
        return "∞"
    return f"{slower_times(found)} slower" if found.slower >= AS_FAST else "as fast"


def target_text(requests: Requests) -> str:
    """Return the targets of a model, stated or usual."""
    targets = (("TPOT", requests.tpot_slo), ("TTFT", requests.ttft_slo))
    texts = [f"{name} {shown_time(slo)}" for name, slo in targets if not isinf(slo)]
    of = "" if requests.percentile is None else f" (p{requests.percentile:.0f})"
    return f"{', '.join(texts)}{of}"


def verdict_text(prediction: Prediction) -> str:
    """Return whether the targets of a replica hold, in a word."""
    if prediction.shared.saturated:
        return "saturated"
    if not prediction.requests.binding:
        return "no target"
    return "holds" if prediction.keeps_targets else "misses"


MOST_WINDOWS = 4
"""Time windows that one line names."""


def summary_lines(predictions: Sequence[Prediction], sharing: str) -> list[str]:
    """Return what predictions come to, of one replica or more under one way to share a GPU."""
    worst = max(predictions, key=lambda each: each.shared.ratio)
    saturated = _models(each for each in predictions if each.shared.saturated)
    lines = [f"engines on a GPU share it by {SHARED_BY[sharing]}", _targets_line(predictions)]
    if saturated:
        verb = "is" if len(saturated) == 1 else "are"
        lines.append(f"{listed(saturated)} {verb} saturated: the queue grows without end")
    elif worst.shared.ratio > 0.0:
        lines.append(_worst_line(worst))
    return [*lines, *windows_lines(predictions)]


def windows_lines(predictions: Sequence[Prediction]) -> list[str]:
    """Return in which time windows models are furthest from their targets, if there are several."""
    counts = Counter(each.window_name for each in predictions if each.window_name)
    if not counts:
        return []
    found = [f"{name} for {number}" for name, number in counts.most_common()]
    return [f"latencies are those of each replica's worst window: {listed(found, MOST_WINDOWS)}"]


def _worst_line(worst: Prediction) -> str:
    ratio, where = shown_ratio(worst.shared.ratio), replica_gpus(worst.gpus)
    stated = worst.requests.binding
    assumed = "" if stated else f" (assumed target: {target_text(worst.requests)})"
    return f"worst ratio of latency to target: {ratio}, {worst.model} on {where}{assumed}"


def _targets_line(predictions: Sequence[Prediction]) -> str:
    targets = [each for each in predictions if each.requests.binding]
    models, missed = _models(targets), _models(e for e in targets if not e.keeps_targets)
    if not models:
        return "no model states a target (tpot_slo, ttft_slo)"
    if not missed:
        return f"the targets of {amount(len(models), 'model')} hold"
    verb = "misses" if len(missed) == 1 else "miss"
    return f"{len(missed)} of {amount(len(models), 'model')} {verb} a target: {listed(missed)}"


def _models(predictions: Iterable[Prediction]) -> list[str]:
    return list(dict.fromkeys(each.model for each in predictions))


def gap_note(gaps: Sequence[RequestGap], models: int, limited: bool) -> str:
    """Return why latency is not predicted, in one line.

    Parameters
    ----------
    gaps
        What is missing; at least one.
    models
        How many models there are.
    limited
        Whether some model has a target that cannot be held because of it.
    """
    fields: dict[tuple[str, ...], list[str]] = {}
    for gap in gaps:
        if gap.field != "steps":
            fields.setdefault(gap.models, []).append(gap.field)
    reasons = [_lacking(lacking, names, models) for names, lacking in fields.items()]
    kinds = [kind for gap in gaps for kind in gap.kinds]
    if kinds:
        stated = listed([quoted(kind) if kind else "none" for kind in kinds], MOST_KINDS)
        reasons.append(f"no steps are stated for GPU kind {stated}")
    rest = ", so tpot_slo is no limit" if limited else ""
    return f"latency is not predicted: {listed(reasons)}{rest}"


def _lacking(fields: Sequence[str], names: Sequence[str], models: int) -> str:
    """Say how many of the models lack some fields.

    Parameters
    ----------
    fields
        What is not stated.
    names
        The models that do not state it.
    models
        How many there are in all.
    """
    if len(names) == models:
        return f"no model states {listed(fields)}"
    who = f"model {quoted(names[0])} states" if len(names) == 1 else f"{len(names)} models state"
    return f"{who} no {listed(fields)}"
