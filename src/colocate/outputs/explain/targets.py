"""Latency targets that cannot be kept, in sentences."""

from collections.abc import Iterator
from math import isinf

from colocate.advise.remedies.missed_targets import FailedTarget, TargetSummary
from colocate.advise.what_if import TargetDelta
from colocate.outputs.latency.words import shown_ratio, shown_time
from colocate.outputs.text.wording import listed, quoted

MOST_MISSED = 5
"""Missed targets that are told, the worst."""
MOST_NEIGHBOURS = 4
"""Neighbours that are named."""
NAMES = {"tpot_slo": "TPOT", "ttft_slo": "TTFT"}
"""Latencies by the field of their target."""


def conflict_line(models: tuple[str, ...], targets: TargetSummary) -> str:
    """Describe models that cannot keep their targets together, or one that cannot even alone."""
    names = listed([quoted(name) for name in models])
    if len(models) == 1:
        return f"{names} cannot keep its latency target even without the other models"
    return f"{names} cannot keep their latency targets together: {_closest(targets)}"


def closest_line(targets: TargetSummary) -> str:
    """Describe the placement that comes closest, where nothing is proven."""
    return f"the models fit, but no placement was found that keeps all targets: {_closest(targets)}"


def _closest(targets: TargetSummary) -> str:
    if isinf(targets.ratio):
        return "in the best placement found, a queue grows without end"
    return (
        f"in the best placement found, a latency is {shown_ratio(targets.ratio)} times its target"
    )


def missed_lines(targets: TargetSummary) -> Iterator[str]:
    """Yield the targets that are missed there, and why."""
    yield from (f"  {_missed(target)}" for target in targets.missed[:MOST_MISSED])
    more = len(targets.missed) - MOST_MISSED
    if more > 0:
        yield f"  ... and {more} more"


def _missed(target: FailedTarget) -> str:
    model, latency = quoted(target.model), NAMES[target.field]
    if isinf(target.alone):
        return f"{model}: its queue grows without end even alone on a GPU"
    if not target.neighbours:
        return f"{model}: {missed_alone(target, ' alone on a GPU')}"
    beside = listed([quoted(name) for name in target.neighbours], MOST_NEIGHBOURS)
    shared = f"{latency} {shown_time(target.shared)} beside {beside}"
    if isinf(target.shared):
        shared = f"its queue grows without end beside {beside}"
    return f"{model}: {shared}, {shown_time(target.alone)} alone, {_allowed(target)}"


def missed_alone(target: FailedTarget, where: str = "") -> str:
    """Describe a target that is missed without any neighbour; the caller may say where."""
    return f"{NAMES[target.field]} {shown_time(target.alone)}{where}, {_allowed(target)}"


def _allowed(target: FailedTarget) -> str:
    return f"{shown_time(target.target)} allowed ({target.field})"


def raised_text(model: str, targets: tuple[TargetDelta, ...]) -> str:
    """Describe targets that are raised."""
    changes = [
        f"{target.field}: {target.after:g} of {model} instead of {target.before:g}"
        for target in targets
    ]
    return f"{listed(changes)} (the least found that works)"
