"""Sentences and amounts about what was measured."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import floor, isfinite, log10

from colocate.inputs.observation.demand_changes import DemandChanges
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.observation import (
    Basis,
    Observation,
    Remark,
    SourceNote,
)
from colocate.inputs.observation.together import Correlation
from colocate.outputs.simulation.words import shown_span
from colocate.outputs.text.wording import amount, listed, percent, plain_number, quoted
from colocate.problem.tolerance import LEAST_SHOWN

MOST_PAIRS = 5
"""Pairs that a line lists."""
COUNTED = {
    Basis.ARRIVED: "every request when it came",
    Basis.STARTED: "requests that started",
    Basis.QUEUE: "requests that ended, and the growth of the queue",
    Basis.COMPLETED: "requests that ended, which under overload is capacity and not demand",
}
SHORT = {
    Basis.ARRIVED: "arrived",
    Basis.STARTED: "started",
    Basis.QUEUE: "ended + queue",
    Basis.COMPLETED: "ended",
}
FINEST = 100.0
"""Margins below this part of their figure bring no more digits than it would: they have no use, and
a margin near 0 would ask for all there are."""
TWO_DAYS = "two days are needed for yesterday, eight for last week"


def shown_estimate(estimate: Estimate | None, scale: float = 1.0, unit: str = "") -> str:
    """Return a figure with its uncertainty, a dash for none.

    Parameters
    ----------
    estimate
        The figure.
    scale
        What to multiply it by, for its unit.
    unit
        Stands after it.
    """
    if estimate is None:
        return "-"
    value = estimate.value * scale
    if estimate.margin is None or not isfinite(estimate.margin):
        return f"{plain_number(value)}{unit}"
    margin = estimate.margin * scale
    digits = _decimals(max(margin, abs(value) / FINEST))
    return f"{value:z,.{digits}f} ± {margin:,.{digits}f}{unit}"


def _decimals(margin: float) -> int:
    """Return the digits after the point that are worth showing: two of the uncertainty."""
    return min(max(1 - floor(log10(margin)), 0), 6) if margin > LEAST_SHOWN else 3


def headline(observation: Observation) -> str:
    """Return who was asked how much, in one line."""
    total = sum(model.rate.value for model in observation.models)
    models = amount(len(observation.models), "model")
    return f"{models}, {plain_number(total)} requests a second in {shown_span(observation.seconds)}"


def basis_line(observation: Observation) -> str:
    """Return which requests count."""
    kinds = {model.basis: None for model in observation.models}
    told = (f"{COUNTED[basis]} ({_models(observation, basis)})" for basis in kinds)
    return "counted: " + (COUNTED[next(iter(kinds))] if len(kinds) == 1 else "; ".join(told))


def _models(observation: Observation, basis: Basis) -> str:
    return listed([quoted(model.name) for model in observation.models if model.basis is basis], 3)


def when_line(observation: Observation) -> str:
    """Return when it was measured, and in which bins."""
    bins = f"{amount(observation.bins, 'bin')} of {shown_span(observation.bin_seconds)}"
    if observation.begin is None:
        return bins
    begin, end = observation.begin, observation.begin + observation.seconds
    return f"from {shown_moment(begin)} to {shown_moment(end)}, {bins}"


def peak_line(observation: Observation) -> str:
    """Return which bins peaks and bursts are about."""
    return f"peaks and bursts: in bins of {shown_span(observation.coarse_seconds)}"


def shown_moment(seconds: float) -> str:
    """Return a moment in universal time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{seconds:.0f} s after 1970"


def pair_lines(pairs: Sequence[Correlation]) -> Iterator[str]:
    """Yield which models peak together, and which apart."""
    if not pairs:
        yield "peaks: too few requests to tell which models peak together"
        return
    clear = [pair for pair in pairs if pair.clear]
    for word, chosen in (
        ("together", [pair for pair in clear if pair.value > 0.0]),
        ("apart", [pair for pair in clear if pair.value < 0.0]),
    ):
        if chosen:
            names = [
                f"{quoted(pair.first)} with {quoted(pair.second)} ({pair.value:.2f})"
                for pair in chosen
            ]
            yield f"peak {word}: {listed(names, MOST_PAIRS)}"
    if not clear:
        yield f"peaks: of {amount(len(pairs), 'pair')}, none is clearly more alike than chance"


def predictability_lines(observation: Observation) -> Iterator[str]:
    """Yield how well the past tells what comes."""
    known = [
        model for model in observation.models if model.predictability.follows_hours is not None
    ]
    if not known:
        span = shown_span(observation.seconds)
        yield f"hours of earlier days: unknown, the history is {span} long ({TWO_DAYS})"
    else:
        follows = [quoted(each.name) for each in known if each.predictability.follows_hours]
        told = listed(follows) if follows else "no model"
        yield (
            f"hours of earlier days tell more than the last minutes and the day's mean: {told}, of "
            f"{amount(len(known), 'model')}"
        )
    errors = [each.predictability.error for each in observation.models]
    told_errors = sorted(error for error in errors if error is not None)
    if told_errors and observation.models:
        kind = observation.models[0].predictability
        yield (
            f"for the median model, the rate of the last {shown_span(kind.recent)} misses that of "
            f"the next {shown_span(kind.horizon)} by {percent(told_errors[len(told_errors) // 2])}"
        )


def note_line(note: SourceNote) -> str:
    """Return a remark as a sentence."""
    names = listed([quoted(name) for name in note.models], 5) if note.models else ""
    figure = note.amount or 0.0
    span = shown_span(abs(figure)) if note.amount else ""
    off = "ahead of" if figure > 0.0 else "behind"
    texts = {
        Remark.GAPS: f"{names}: for {percent(figure)} of the time nothing is known",
        Remark.RESTARTS: f"{names}: counters began again "
        f"{amount(round(figure), 'time')}, as after a restart; counts go on from 0",
        Remark.CLOCK: f"the clock of the server is {span} {off} ours; its own is taken",
        Remark.TWICE: f"{amount(round(figure), 'engine')} scraped twice, by two jobs: counted once",
        Remark.UNLABELLED: f"{amount(round(figure), 'series', 'series')} without the name of a "
        f"model left out, such as {names}; give --label, one of: {note.text}",
        Remark.GONE: f"{names}: nothing was heard in the last {span}",
        Remark.GROWING: f"{names}: overloaded, since its requests in work and queue grew by "
        f"{plain_number(figure)} a second",
        Remark.COARSE: f"samples are {span} apart, further than bins: give a longer --step",
        Remark.ENDED_ONLY: f"{names}: no queue is known, so rates count requests that ended; "
        "under overload the demand is higher",
        Remark.UNMATCHED: f"no model {names} in the source, so --map changes nothing there; "
        f"{note.text}",
        Remark.UNNAMED: f"the trace names no models: all requests count as {names}; "
        "--map all=MODEL names it",
    }
    return texts[note.remark]


def update_lines(update: DemandChanges) -> Iterator[str]:
    """Yield which models of a fleet and of a source do not meet."""
    if update.not_measured:
        names = listed([quoted(name) for name in update.not_measured])
        yield f"not measured, so what the fleet states stays: {names}"
    if update.not_in_fleet:
        names = listed([quoted(name) for name in update.not_in_fleet])
        yield f"measured, but not in the fleet: {names}; --map NAME=MODEL says which model it is"
    if update.stated_loads:
        names = listed([quoted(name) for name in update.stated_loads])
        yield f"left as they are, since they state their load itself: {names}"


def trust_line(observation: Observation) -> str:
    """Return why windows may not be worth trusting, nothing if they are."""
    found = [model.predictability.follows_hours for model in observation.models]
    if any(found):
        return ""
    if all(each is None for each in found):
        span = shown_span(observation.seconds)
        return f"whether windows come again is unknown: the history is {span} long ({TWO_DAYS})"
    return (
        "windows are not worth trusting: for no model do hours of earlier days tell clearly more "
        "than the last minutes and the mean of the day"
    )
