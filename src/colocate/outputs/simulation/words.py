"""What replays found, in sentences."""

from collections.abc import Iterator, Sequence

from colocate.advise.simulation.comparison import Difference, SimulatedWay, WayDifference
from colocate.advise.simulation.intervals import Interval
from colocate.advise.simulation.means import ModelMeans
from colocate.advise.simulation.verdicts import ModelReplay, TargetMiss, TargetOutcome
from colocate.outputs.latency.words import shown_time
from colocate.outputs.text.wording import amount, listed, percent

MOST_MODELS = 5
"""Models that sentences tell about one by one."""
MANY = 0.01
"""Of all requests: if more are without a whole answer at the end, the share in time of those judged
and the goodput visibly differ."""
OVERLOAD = 0.1
"""Of all requests: if more are, that comes before everything else."""
UNJUDGED = "shares leave out requests that were neither answered nor late at the end"
NONE_JUDGED = "no request was answered or late by the end, so nothing can be judged"
HUNDREDTH, ALMOST = 0.005, 0.9995
"""From the first on, a share has a whole percent; from the second on, all percents are rounded."""


def shown_span(seconds: float) -> str:
    """Return how long was simulated."""
    if seconds < 119.5:
        return amount(round(seconds), "second")
    minutes = seconds / 60.0
    return f"{minutes:.3g} minutes" if minutes < 119.5 else f"{minutes / 60.0:.3g} hours"


def shown_share(share: float) -> str:
    """Return a share of requests: never 100% or 0% unless it is all or none of them."""
    if 0.0 < share < 1.0 and not HUNDREDTH <= share <= 1.0 - HUNDREDTH:
        return "<0.01%" if share < 0.0001 else f"{min(share, 0.9999):.2%}"
    return f"{share:.1%}" if 0.0 < share < 1.0 else f"{share:.0%}"


def share_interval(share: Interval) -> str:
    """Return a share with its interval, such as 93.1 ± 0.4%."""
    if share.half is None:
        return shown_share(share.mean)
    return f"{100 * share.mean:.1f} ± {100 * share.half:.1f}%"


def in_time(found: ModelMeans) -> str:
    """Return the share of a model's requests that were in time; a dash where none was judged."""
    return share_interval(found.attainment) if found.judged.mean else "-"


def rate_interval(rate: Interval, signed: bool = False) -> str:
    """Return a rate with its interval, such as 34.2 ± 0.3."""
    digits = 1 if abs(rate.mean) >= 10.0 else 2
    sign = "+" if signed else ""
    told = f"{rate.mean:{sign}.{digits}f}"
    return told if rate.half is None else f"{told} ± {rate.half:.{digits}f}"


def verdict_word(model: ModelReplay) -> str:
    """Return whether the targets of a model held, in a word or two."""
    return model.misses[0].value if model.misses else model.outcome.value


def kept_line(way: SimulatedWay) -> str:
    """Return how many models kept their targets, and of how many nothing can be said."""
    judged = amount(way.judged, "model")
    if not way.judged:
        told = "no model has a target to keep"
    elif way.kept < way.judged == 1:
        told = "1 model missed its targets"
    elif way.kept < way.judged:
        told = f"{way.kept} of {judged} kept their targets"
    else:
        told = f"all {judged} kept their targets" if way.judged > 1 else "1 model kept its targets"
    others = ((way.count(outcome), words) for outcome, words in _UNJUDGED_MODELS.items())
    return "; ".join([told, *(f"{count} {words}" for count, words in others if count)])


_UNJUDGED_MODELS = {
    TargetOutcome.NOT_STATED: "without a target",
    TargetOutcome.NOT_ASKED: "not asked",
    TargetOutcome.NONE_DONE: "without a finished request",
}


def unanswered(way: SimulatedWay) -> int:
    """Return how many requests had no whole answer at the end; 0 if they are few."""
    unfinished = sum(model.found.unfinished.mean for model in way.models)
    return round(unfinished) if unfinished > MANY * way.found.requests.mean else 0


def summary_lines(way: SimulatedWay, seeds: int) -> list[str]:
    """Return what a replay comes to: the requests, who kept targets, and why the others did not.

    Parameters
    ----------
    way
        What was simulated.
    seeds
        How many seeds it is a mean of.
    """
    found = way.found
    asked, span = round(found.requests.mean), shown_span(found.seconds)
    each = f" for each of {seeds} seeds" if seeds > 1 else ""
    requests = f"{amount(asked, 'request')} in {span}{each}"
    share, rate = share_interval(found.attainment), f"{rate_interval(found.goodput)} a second"
    if not way.judged_requests:
        lines = [f"{requests}: {NONE_JUDGED}"]
    elif unfinished := unanswered(way):
        lines = [
            f"{requests}: {unfinished:,} of them had no whole answer at the end",
            f"{share} of those judged kept their targets, {rate}; {UNJUDGED}",
        ]
    else:
        lines = [f"{requests}: {share} kept their targets, {rate}"]
    missing = [model for model in way.models if model.misses]
    lines.append(f"{kept_line(way)}; missed by:" if missing else kept_line(way))
    worst = sorted(missing, key=lambda model: model.found.attainment.mean)
    lines += [f"  {miss_line(model)}" for model in worst[:MOST_MODELS]]
    if len(worst) > MOST_MODELS:
        lines.append(f"  and {amount(len(worst) - MOST_MODELS, 'other model')}")
    return lines


def miss_line(model: ModelReplay) -> str:
    """Return why users of a model did not get what its targets promise."""
    causes = [_CAUSES[cause](model) for cause in model.misses]
    return f"{model.found.name}: {listed(causes)} ({_in_time(model)})"


def _in_time(model: ModelReplay) -> str:
    found = model.found
    some = TargetMiss.QUEUE in model.misses or found.unfinished.mean > MANY * found.arrived.mean
    judged = "those judged" if some else "requests"
    return f"{shown_share(found.attainment.mean)} of {judged} in time"


def _asleep(model: ModelReplay) -> str:
    found = model.found
    refused = f"refused {amount(round(found.refused.mean), 'request')}"
    if found.woken is None:
        return f"asleep, so it {refused}"
    if not found.woken.mean:
        return f"asleep, and no GPU ever had room to wake it, so it {refused}"
    woken = max(round(found.woken.mean), 1)
    often = "once" if woken == 1 else f"{woken:,} times"
    return f"asleep; it woke {often}, and {refused} while no GPU had room for it"


def _queue(model: ModelReplay) -> str:
    return f"its queue grows, {round(model.found.unfinished.mean):,} without an answer at the end"


def _refused(model: ModelReplay) -> str:
    found = model.found
    told = f"{round(found.refused.mean):,} of {amount(round(found.arrived.mean), 'request')}"
    if found.woken is None:
        return f"refused {told}, which are longer than its cache"
    return f"refused {told}, for which there was no room"


def _cache(model: ModelReplay) -> str:
    preempted = round(model.found.preemptions.mean)
    more = f" ({amount(preempted, 'preemption')})" if preempted else ""
    return f"its cache was full{more}"


def _of(percentile: float | None) -> str:
    return "" if percentile is None else f" p{percentile:.0f}"


def _ttft(model: ModelReplay) -> str:
    found, slo = model.found.ttft.at(model.asked.percentile), model.asked.ttft_slo
    return f"TTFT{_of(model.asked.percentile)} {shown_time(found)} of {shown_time(slo)}"


def _tpot(model: ModelReplay) -> str:
    found, slo = model.found.tpot.at(model.asked.percentile), model.asked.tpot_slo
    return f"TPOT{_of(model.asked.percentile)} {shown_time(found)} of {shown_time(slo)}"


_CAUSES = {
    TargetMiss.ASLEEP: _asleep,
    TargetMiss.QUEUE: _queue,
    TargetMiss.REFUSED: _refused,
    TargetMiss.CACHE: _cache,
    TargetMiss.TTFT: _ttft,
    TargetMiss.TPOT: _tpot,
}


def law_lines(models: Sequence[ModelReplay]) -> Iterator[str]:
    """Yield where the closed form says something else than the replay, or that it does not."""
    if any(model.predictions and not model.same_demand for model in models):
        yield (
            "predictions are of each model's worst time window and count headroom; the replay goes "
            "through all windows as they are stated, so the two are not compared"
        )
        return
    apart = [model for model in models if model.disagrees]
    compared = [model for model in models if model.comparable and model.predicted_tpot]
    if not compared:
        return
    if not apart:
        yield "the closed form of `colocate predict` agrees with the replay within 30%"
        return
    told = listed([_disagreement(model) for model in apart], MOST_MODELS)
    yield f"the closed form of `colocate predict` says otherwise of {told}"


def _disagreement(model: ModelReplay) -> str:
    name, found = model.found.name, shown_time(model.found.tpot.mean.mean)
    if any(each.shared.saturated for each in model.predictions):
        return f"{name} (its queue should grow, and did not)"
    if model.queue_grows:
        return f"{name} (its queue should not grow, and did)"
    return f"{name} (TPOT {shown_time(model.predicted_tpot or 0.0)}, replayed {found})"


def difference_text(found: WayDifference) -> str:
    """Return how another way compares with the first, in a cell."""
    verdict = found.verdict
    if verdict is Difference.SAME:
        return "the same"
    told = rate_interval(found.goodput, signed=True)
    if verdict is Difference.UNSURE:
        return f"{told} (one seed)"
    return f"{told}, {verdict.value}"


def comparison_line(first: SimulatedWay, other: SimulatedWay, found: WayDifference) -> str:
    """Return what a comparison comes to, in a sentence.

    Parameters
    ----------
    first, other
        The two ways.
    found
        The second less the first.
    """
    verdict = found.verdict
    if verdict is Difference.SAME:
        return f"{other.name} serves these requests exactly as well as {first.name}"
    more = "more" if found.goodput.mean > 0.0 else "fewer"
    told = (
        f"{other.name} keeps the targets of {rate_interval(_size(found.goodput))} {more} requests"
    )
    each = f"{told} a second than {first.name}"
    if verdict is Difference.UNSURE:
        return f"{each}; one seed does not tell whether that is chance"
    if verdict is Difference.CHANCE:
        return f"{each}, which may be chance"
    return f"{each}, which is more than chance"


def _size(value: Interval) -> Interval:
    return Interval(abs(value.mean), value.half)


def engines_share(share: float) -> str:
    """Return a share of time or cache; a dash for none at all."""
    return "-" if share == 0.0 else percent(share)
