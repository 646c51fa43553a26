"""A plan as a person wants to read it: one line a GPU, the bottleneck marked, then the peak."""

from collections.abc import Iterator, Mapping, Sequence
from math import isinf

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.advise.latency import other_sharing
from colocate.advise.service import Service
from colocate.latency.prediction import Prediction, ratios_of
from colocate.outputs.plan.latency_table import latency_table
from colocate.outputs.plan.latency_words import of_target, sharing_lines, value_lines
from colocate.outputs.plan.service_rows import HEADINGS, service_rows
from colocate.outputs.plan.words import shown_gap, shown_pressure
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import amount
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.solver.plan import Improvement, Plan, gap_between

WIDE, NARROW = 100, 80
"""Columns of a screen: from `WIDE` on bars are long, under `NARROW` models go below their GPU."""
FEW_LETTERS = 16
"""Letters of a line of models, below which the bars give way."""
MOST_EMPTY = 16
"""More empty GPUs than that are only counted."""
MOST_SERVICES = 40
"""Models of which a screen says what they can serve; if there are more, the tightest."""
MOST_BARS = 2_000
"""More GPUs than that are listed without bars: drawing a table of them takes seconds."""
TOKENS_UNKNOWN = "give config or kv_bytes_per_token to see the cache in tokens and requests"
SHADES = ("cyan", "blue")
MARK = "◀"
Rows = list[tuple[Gpu, list[Model]]]
Ratios = Mapping[str, float]


def plan_table(
    plan: Plan,
    width: int = WIDE,
    services: Sequence[Service] = (),
    predictions: tuple[Prediction, ...] = (),
) -> RenderableType:
    """Draw a plan for a screen.

    Parameters
    ----------
    plan
        What to draw.
    width
        Of the screen, in letters.
    services
        What the replicas of the plan can serve, if that is known.
    predictions
        What their users feel, if that is known.
    """
    if not plan.placement:
        return Text(f"{plan.status}: {plan.reason}")
    members = plan.models_by_gpu()
    empty = [gpu for gpu in plan.problem.gpus if not members[gpu.name]]
    hidden = set(empty) if len(empty) > MOST_EMPTY else set()
    rows = [(gpu, members[gpu.name]) for gpu in plan.problem.gpus if gpu not in hidden]
    listed = width < NARROW or len(rows) > MOST_BARS
    ratios = ratios_of(predictions, plan.pressures) if predictions else {}
    drawn = _stack(plan, rows, ratios) if listed else _table(plan, rows, width, ratios)
    parts: list[RenderableType] = [drawn]
    if hidden:
        parts.append(Text(f"and {len(hidden)} GPUs without a model"))
    if services:
        parts += _service_table(services, width)
    if predictions:
        parts += latency_table(predictions, width, MOST_SERVICES)
    return Group(*parts, _summary(plan, predictions))


def _service_table(services: Sequence[Service], width: int) -> Iterator[RenderableType]:
    """Draw what each model gets."""
    rows, others = service_rows(services, MOST_SERVICES)
    known = any(each.cache_tokens is not None for each in services)
    columns = [
        Column(HEADINGS.model, words=True),
        Column(HEADINGS.gpus, words=True, dispensable=2),
        Column(HEADINGS.cache),
        Column(HEADINGS.tokens, dispensable=1),
        Column(HEADINGS.requests),
        Column(HEADINGS.context),
    ]
    if known:
        yield fitting_table(columns, rows, width)
    else:
        yield fitting_table(columns[:3], [row[:3] for row in rows], width)
        yield Text(f"note: {TOKENS_UNKNOWN}")
    if others:
        yield Text(f"and {amount(others, 'model')} with more room for requests")


def improvement_line(found: Improvement, objective: str = "pressure") -> str:
    """Return one line on the progress of a solve."""
    distance = gap_between(found.value, found.bound)
    gap = "no bound yet" if isinf(distance) else shown_gap(distance)
    if objective == "latency":
        return f"worst latency {of_target(found.value)} of its target, {gap}"
    return f"peak pressure {shown_pressure(found.value)}, {gap}"


def _worst(plan: Plan, ratios: Ratios) -> str | None:
    """Return the GPU that decides how good the plan is."""
    if ratios and plan.problem.objective == "latency":
        return max(ratios, key=ratios.__getitem__)
    return plan.bottleneck


def _table(plan: Plan, rows: Rows, width: int, ratios: Ratios) -> RenderableType:
    columns = [
        Column("GPU", words=True),
        Column("memory", words=True, dispensable=2),
        Column("GB", dispensable=1),
        Column("pressure"),
        *([Column("of target")] if ratios else []),
        Column("", words=True),
        Column("models", words=True, enough=FEW_LETTERS),
    ]
    decisive = _worst(plan, ratios)
    return fitting_table(
        columns,
        (_row(plan, gpu, models, width, ratios, gpu.name == decisive) for gpu, models in rows),
        width,
    )


def _row(
    plan: Plan, gpu: Gpu, models: list[Model], width: int, ratios: Ratios, worst: bool
) -> list[str | Text]:
    """Return the cells of a GPU.

    Parameters
    ----------
    plan, gpu, models
        The plan, one of its GPUs, and the models on it.
    width
        Of the screen, in letters.
    ratios
        The worst latency over its target by GPU, if that is known.
    worst
        Whether this GPU decides how good the plan is.
    """
    return [
        gpu.name,
        _bar(gpu, models, 20 if width >= WIDE else 10),
        _memory(gpu, models),
        Text(shown_pressure(plan.pressures[gpu.name]), style="bold red" if worst else ""),
        *([of_target(ratios[gpu.name])] if ratios else []),
        Text(MARK if worst else "", style="bold red"),
        _names(models),
    ]


def _stack(plan: Plan, rows: Rows, ratios: Ratios) -> Text:
    """Draw a GPU over its models, for screens too narrow or fleets too large for a table."""
    text = Text()
    decisive = _worst(plan, ratios)
    for gpu, models in rows:
        worst = gpu.name == decisive
        pressure = shown_pressure(plan.pressures[gpu.name])
        if ratios:
            pressure += f", latency {of_target(ratios[gpu.name])}"
        text.append(f"{gpu.name}  {_memory(gpu, models)} GB  ", style="bold")
        text.append(f"{pressure} {MARK}\n" if worst else f"{pressure}\n", "red" if worst else "")
        text.append(f"  {_names(models)}\n")
    return text


def _bar(gpu: Gpu, models: list[Model], length: int) -> Text:
    """Draw the memory of a GPU; neighbouring models have different shades."""
    bar = Text()
    used = 0.0
    for number, model in enumerate(models):
        used += model.size_gb
        cells = round(length * min(used / gpu.memory_gb, 1.0)) - len(bar)
        bar.append("█" * cells, style=SHADES[number % len(SHADES)])
    return bar.append("░" * (length - len(bar)), style="bright_black")


def _memory(gpu: Gpu, models: list[Model]) -> str:
    return f"{sum(model.size_gb for model in models):.4g} / {gpu.memory_gb:.4g}"


def _names(models: list[Model]) -> str:
    return ", ".join(model.name for model in models) or "-"


def _summary(plan: Plan, predictions: tuple[Prediction, ...]) -> Text:
    first, *others = value_lines(plan, predictions)
    text = Text(f"{first}\n", style="bold")
    for line in (*others, *sharing_lines(other_sharing(plan, predictions))):
        text.append(f"{line}\n", style="not bold")
    if plan.reason:
        text.append(f"note: {plan.reason}\n", style="not bold")
    time = f", {plan.seconds:.2g} s" if plan.seconds else ""
    text.append(f"({plan.status.lower()}, by {plan.strategy}, seed {plan.seed}{time})", "not bold")
    return text
