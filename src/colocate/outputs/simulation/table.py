"""Replays for a screen: what users felt, what engines and GPUs did, and other placements."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.advise.simulation.comparison import SimulatedWay, difference
from colocate.advise.simulation.verdicts import ModelReplay
from colocate.outputs.latency.words import shown_time
from colocate.outputs.simulation.words import (
    comparison_line,
    difference_text,
    engines_share,
    in_time,
    law_lines,
    rate_interval,
    share_interval,
    shown_share,
    summary_lines,
    verdict_word,
)
from colocate.outputs.text.console import table_width
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import gigabytes, percent, replica_gpus

WIDTH = 100
"""Letters of a line where there is no screen: what does not fit is in JSON."""
FELT = (
    Column("model", words=True),
    Column("requests"),
    Column("TTFT"),
    Column("TTFT p50", dispensable=9),
    Column("TTFT p95", dispensable=5),
    Column("TTFT p99", dispensable=2),
    Column("TPOT"),
    Column("predicted", dispensable=1),
    Column("TPOT p50", dispensable=10),
    Column("TPOT p95", dispensable=6),
    Column("TPOT p99", dispensable=3),
    Column("end to end", dispensable=4),
    Column("end to end p95", dispensable=7),
    Column("end to end p99", dispensable=8),
    Column("in time"),
    Column("verdict", words=True),
)
DONE = (
    Column("model", words=True),
    Column("GPUs", words=True, dispensable=1),
    Column("goodput"),
    Column("busy"),
    Column("in flight", dispensable=3),
    Column("queue"),
    Column("cache", dispensable=2),
    Column("most cache"),
    Column("preempted"),
    Column("refused"),
)
GPUS = (
    Column("GPU", words=True),
    Column("busy"),
    Column("busy engines", dispensable=2),
    Column("in flight", dispensable=1),
    Column("waiting"),
    Column("cache in use", dispensable=3),
)
OTHERS = (
    Column("placement", words=True),
    Column("goodput"),
    Column("in time"),
    Column("keep targets", dispensable=1, enough=0),
    Column("worst model", words=True, enough=0),
    Column("goodput compared", words=True, enough=0),
)


def fitting_width() -> int:
    """Return how wide tables may be: as the screen, and where there is none, as most screens."""
    return table_width(WIDTH)


def simulation_table(ways: Sequence[SimulatedWay], steady: bool, width: int) -> RenderableType:
    """Draw what users of a placement felt, and of others beside it.

    Parameters
    ----------
    ways
        The placements, the one that the tables are about first.
    steady
        Whether requests came as the law takes them to, so that it should agree.
    width
        Of the screen, in letters.
    """
    first = ways[0]
    lines = summary_lines(first, len(first.found.runs))
    parts: list[RenderableType] = [
        Text("\n".join(lines)),
        fitting_table(FELT, [felt_row(model) for model in first.models], width),
        fitting_table(DONE, [done_row(model) for model in first.models], width),
        fitting_table(GPUS, gpu_rows(first), width),
    ]
    if steady:
        parts.append(Text("\n".join(law_lines(first.models))))
    if len(ways) > 1:
        parts += [fitting_table(OTHERS, other_rows(ways), width), Text(comparison_text(ways))]
    return Group(*parts)


def comparison_text(ways: Sequence[SimulatedWay]) -> str:
    """Return a sentence for each other way."""
    first, *others = ways
    lines = [
        comparison_line(first, other, difference(first.found, other.found)) for other in others
    ]
    return "\n".join(one_line(line) for line in lines)


def other_rows(ways: Sequence[SimulatedWay]) -> list[tuple[str, ...]]:
    """Return a row for each way to place the models, in words and figures."""
    first = ways[0]
    return [
        (
            one_line(way.name, LONGEST_NAME),
            f"{rate_interval(way.found.goodput)} /s",
            share_interval(way.found.attainment) if way.judged_requests else "-",
            f"{way.kept} of {way.judged}",
            _worst(way),
            "" if way is first else difference_text(difference(first.found, way.found)),
        )
        for way in ways
    ]


def _worst(way: SimulatedWay) -> str:
    found = way.worst.found
    return f"{found.name}, {shown_share(found.attainment.mean)}" if found.judged.mean else "-"


def gpu_rows(way: SimulatedWay) -> list[tuple[str, ...]]:
    """Return a row for each GPU; means over time, of the first seed."""
    return [
        (
            one_line(gpu.name, LONGEST_NAME),
            percent(gpu.busy),
            f"{gpu.busy_engines.values.mean():.2f}",
            _count(float(gpu.in_flight.values.mean())),
            _count(float(gpu.waiting.values.mean())),
            gigabytes(float(gpu.cache_gb.values.mean())),
        )
        for gpu in way.found.runs[0].gpus
    ]


def felt_row(model: ModelReplay) -> tuple[str, ...]:
    """Return what users of a model felt, in words and figures."""
    found, told = model.found, model.predicted_tpot
    decodes = found.tpot.max.mean > 0.0
    answered = found.ttft.max.mean > 0.0

    def time(seconds: float, known: bool = True) -> str:
        return shown_time(seconds) if known else "-"

    ttft, tpot, whole = found.ttft, found.tpot, found.end_to_end
    return (
        found.name,
        f"{found.arrived.mean:,.0f}",
        *(time(each.mean, answered) for each in (ttft.mean, ttft.p50, ttft.p95, ttft.p99)),
        time(tpot.mean.mean, decodes),
        "-" if told is None else shown_time(told),
        *(time(each.mean, decodes) for each in (tpot.p50, tpot.p95, tpot.p99)),
        *(time(each.mean, answered) for each in (whole.mean, whole.p95, whole.p99)),
        in_time(found),
        verdict_word(model),
    )


def done_row(model: ModelReplay) -> tuple[str, ...]:
    """Return what the engines of a model did, in words and figures."""
    found = model.found
    return (
        found.name,
        _gpus(model),
        f"{rate_interval(found.goodput)} /s",
        engines_share(found.busy.mean),
        _count(found.in_flight.mean),
        _count(found.queue.mean),
        engines_share(found.cache_mean.mean),
        engines_share(found.cache_highest.mean),
        f"{found.preemptions.mean:,.0f}",
        f"{found.refused.mean:,.0f}",
    )


def _count(requests: float) -> str:
    """Return a mean number of requests."""
    if requests < 9.95:
        return f"{requests:.2f}"
    return f"{requests:.0f}" if requests < 999.5 else f"{requests:,.0f}"


def _gpus(model: ModelReplay) -> str:
    return replica_gpus(model.gpus) if model.gpus else "asleep"
