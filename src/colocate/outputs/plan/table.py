"""A plan as a person wants to read it: one line a GPU, the bottleneck marked, then the peak."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colocate.advise.service import Service
from colocate.outputs.plan.service_rows import HEADINGS, service_rows
from colocate.outputs.plan.words import (
    levels_line,
    peak_line,
    proof_line,
    shown_gap,
    shown_pressure,
    sleep_line,
)
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import amount
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.solver.plan import Improvement, Plan, gap_between

WIDE, NARROW = 100, 80
"""Columns of a screen: from `WIDE` on bars are long, under `NARROW` models go below their GPU."""
MOST_EMPTY = 16
"""More empty GPUs than that are only counted."""
MOST_SERVICES = 40
"""Models of which a screen says what they can serve; if there are more, the tightest."""
MOST_BARS = 2_000
"""More GPUs than that are listed without bars: drawing a table of them takes seconds."""
TOKENS_UNKNOWN = "give config or kv_bytes_per_token to see the cache in tokens and requests"
SHADES = ("cyan", "blue")
MARK = "◀"


def plan_table(plan: Plan, width: int = WIDE, services: Sequence[Service] = ()) -> RenderableType:
    """Draw a plan for a screen.

    Parameters
    ----------
    plan
        What to draw.
    width
        Of the screen, in letters.
    services
        What the replicas of the plan can serve, if that is known.
    """
    if not plan.placement:
        return Text(f"{plan.status}: {plan.reason}")
    members = plan.models_by_gpu()
    empty = [gpu for gpu in plan.problem.gpus if not members[gpu.name]]
    hidden = set(empty) if len(empty) > MOST_EMPTY else set()
    rows = [(gpu, members[gpu.name]) for gpu in plan.problem.gpus if gpu not in hidden]
    listed = width < NARROW or len(rows) > MOST_BARS
    parts: list[RenderableType] = [_stack(plan, rows) if listed else _table(plan, rows, width)]
    if hidden:
        parts.append(Text(f"and {len(hidden)} GPUs without a model"))
    if services:
        parts += _service_table(services, width)
    return Group(*parts, _summary(plan))


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


def improvement_line(found: Improvement) -> str:
    """Return one line on the progress of a solve."""
    gap = gap_between(found.value, found.bound)
    return f"peak pressure {shown_pressure(found.value)}, {shown_gap(gap)}"


def _table(plan: Plan, rows: list[tuple[Gpu, list[Model]]], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("GPU", overflow="fold", max_width=max(width // 5, 16))
    table.add_column("memory", no_wrap=True)
    table.add_column("GB", no_wrap=True, justify="right")
    table.add_column("pressure", no_wrap=True, justify="right")
    table.add_column("", no_wrap=True)
    table.add_column("models", overflow="fold", min_width=16)
    bottleneck = plan.bottleneck
    for gpu, models in rows:
        worst = gpu.name == bottleneck
        table.add_row(
            Text(gpu.name),
            _bar(gpu, models, 20 if width >= WIDE else 10),
            _memory(gpu, models),
            Text(shown_pressure(plan.pressures[gpu.name]), style="bold red" if worst else ""),
            Text(MARK if worst else "", style="bold red"),
            Text(_names(models)),
        )
    return table


def _stack(plan: Plan, rows: list[tuple[Gpu, list[Model]]]) -> Text:
    """Draw a GPU over its models, for screens too narrow or fleets too large for a table."""
    text = Text()
    bottleneck = plan.bottleneck
    for gpu, models in rows:
        worst = gpu.name == bottleneck
        pressure = shown_pressure(plan.pressures[gpu.name])
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


def _summary(plan: Plan) -> Text:
    text = Text(f"{peak_line(plan)}\n", style="bold")
    if proof := proof_line(plan):
        text.append(f"{proof}\n", style="not bold")
    if levels := levels_line(plan):
        text.append(f"{levels}\n", style="not bold")
    if asleep := sleep_line(plan):
        text.append(f"{asleep}\n", style="not bold")
    if plan.reason:
        text.append(f"note: {plan.reason}\n", style="not bold")
    time = f", {plan.seconds:.2g} s" if plan.seconds else ""
    text.append(f"({plan.status.lower()}, by {plan.strategy}, seed {plan.seed}{time})", "not bold")
    return text
