"""A plan as a person wants to read it: one line a GPU, the bottleneck marked, then the peak."""

from math import isinf

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.solver.plan import Plan

WIDE = 100
"""From this many columns on, bars are long."""
SHADES = ("cyan", "blue")


def plan_table(plan: Plan, width: int = WIDE) -> RenderableType:
    """Draw a plan for a screen of that width."""
    if not plan.placement:
        return Text(f"{plan.status}: {plan.reason}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("GPU", no_wrap=True)
    table.add_column("memory", no_wrap=True)
    table.add_column("GB", no_wrap=True, justify="right")
    table.add_column("pressure", no_wrap=True, justify="right")
    table.add_column("", no_wrap=True)
    table.add_column("models", overflow="fold", min_width=16)
    members = plan.models_by_gpu()
    for gpu in plan.problem.gpus:
        models = members[gpu.name]
        used = sum(model.size_gb for model in models)
        worst = gpu.name == plan.bottleneck
        table.add_row(
            Text(gpu.name),
            _bar(gpu, models, 20 if width >= WIDE else 10),
            f"{used:.4g} / {gpu.memory_gb:.4g}",
            Text(_shown(plan.pressures[gpu.name]), style="bold red" if worst else ""),
            Text("◀" if worst else "", style="bold red"),
            Text(", ".join(model.name for model in models) or "-"),
        )
    return Group(table, _summary(plan))


def _bar(gpu: Gpu, models: list[Model], length: int) -> Text:
    """Draw the memory of a GPU; neighbouring models have different shades."""
    bar = Text()
    used = 0.0
    for number, model in enumerate(models):
        used += model.size_gb
        cells = round(length * min(used / gpu.memory_gb, 1.0)) - len(bar)
        bar.append("█" * cells, style=SHADES[number % len(SHADES)])
    return bar.append("░" * (length - len(bar)), style="bright_black")


def _summary(plan: Plan) -> Text:
    text = Text(f"peak pressure {_shown(plan.pressure)} on {plan.bottleneck}", style="bold")
    text.append(
        f"  ({plan.status.lower()}, by {plan.strategy}, seed {plan.seed}, ", style="not bold"
    )
    text.append(f"{plan.seconds:.2g} s)", style="not bold")
    if plan.reason:
        text.append(f"\nnote: {plan.reason}", style="not bold")
    return text


def _shown(pressure: float) -> str:
    return "∞" if isinf(pressure) else f"{pressure:.6f}"
