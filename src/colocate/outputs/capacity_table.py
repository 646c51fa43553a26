"""A capacity as a person wants to read it: the answer, the mixes around it, and its plan."""

from math import isinf

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colocate.advise.capacity.trials import Look
from colocate.outputs.capacity_words import CapacityReport, headline, proof, question, verdict
from colocate.outputs.plan_table import MARK, plan_table
from colocate.outputs.plan_words import shown_pressure

BELOW, ABOVE = 10, 3
"""So many of the mixes looked at are shown that cost less than the answer, and that cost more."""


def capacity_table(report: CapacityReport, width: int) -> RenderableType:
    """Draw an answer for a screen of that width."""
    parts: list[RenderableType] = [Text(question(report))]
    shown, hidden = _around(report)
    if shown:
        parts.append(_table(report, shown))
    if hidden:
        parts.append(Text(f"and {hidden} more that were looked at"))
    best = report.answer.best
    parts.append(Text(headline(report), style="bold"))
    if best and best.plan:
        parts += [Text(proof(report)), plan_table(best.plan, width)]
    return Group(*parts)


def _around(report: CapacityReport) -> tuple[list[Look], int]:
    """Return the looks closest to the answer, and how many others there are."""
    looks, best = list(report.answer.looks), report.answer.best
    mixes = [look.mix for look in looks]
    place = mixes.index(best.mix) if best else len(looks)
    shown = looks[max(place - BELOW, 0) : place + 1 + ABOVE]
    return shown, len(looks) - len(shown)


def _table(report: CapacityReport, looks: list[Look]) -> Table:
    priced = any(report.price(look.mix) is not None for look in looks)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("GPUs", justify="right", no_wrap=True)
    table.add_column("of which", overflow="fold")
    if priced:
        table.add_column("$/hour", justify="right", no_wrap=True)
    table.add_column("pressure", justify="right", no_wrap=True)
    table.add_column("at least", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for look in looks:
        price = report.price(look.mix)
        best = report.is_best(look)
        cells = [str(report.total(look.mix)), report.named(look.mix)]
        cells += [f"{price:.2f}" if price is not None else "-"] if priced else []
        cells += [_pressure(look), _bound(look), MARK if best else "", verdict(look)]
        table.add_row(*map(Text, cells), style="bold" if best else "")
    return table


def _pressure(look: Look) -> str:
    return shown_pressure(look.pressure) if look.plan and look.plan.placement else "-"


def _bound(look: Look) -> str:
    return "-" if look.bound == 0.0 or isinf(look.bound) else shown_pressure(look.bound)
