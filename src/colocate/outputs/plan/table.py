"""A plan as a person wants to read it: one line a GPU, the bottleneck marked, then the peak."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colocate.outputs.plan.words import (
    levels_line,
    peak_line,
    proof_line,
    shown_gap,
    shown_pressure,
    sleep_line,
)
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.solver.plan import Improvement, Plan, gap_between

WIDE, NARROW = 100, 80
"""Columns of a screen: from `WIDE` on bars are long, under `NARROW` models go below their GPU."""
MOST_EMPTY = 16
"""More empty GPUs than that are only counted."""
MOST_BARS = 2_000
"""More GPUs than that are listed without bars: drawing a table of them takes seconds."""
SHADES = ("cyan", "blue")
MARK = "◀"


def plan_table(plan: Plan, width: int = WIDE) -> RenderableType:
    """Draw a plan for a screen of that width."""
    if not plan.placement:
        return Text(f"{plan.status}: {plan.reason}")
    members = plan.models_by_gpu()
    empty = [gpu for gpu in plan.problem.gpus if not members[gpu.name]]
    hidden = set(empty) if len(empty) > MOST_EMPTY else set()
    rows = [(gpu, members[gpu.name]) for gpu in plan.problem.gpus if gpu not in hidden]
    listed = width < NARROW or len(rows) > MOST_BARS
    parts = [_stack(plan, rows) if listed else _table(plan, rows, width)]
    if hidden:
        parts.append(Text(f"and {len(hidden)} GPUs without a model"))
    return Group(*parts, _summary(plan))


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
    return f"{sum(model.size_gb for model in models):.6g} / {gpu.memory_gb:.6g}"


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
