"""A capacity as a person wants to read it: the answer, the mixes around it, and its plan."""

from collections.abc import Sequence
from math import isinf

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.advise.capacity.objective import By
from colocate.advise.capacity.trials import MixTrial
from colocate.advise.service import Service
from colocate.latency.prediction import Prediction
from colocate.outputs.capacity.words import (
    CapacityReport,
    headline,
    proof,
    question,
    shown_value,
    verdict,
)
from colocate.outputs.latency.words import shown_ratio
from colocate.outputs.plan.table import MARK, plan_table
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import amount

BELOW, ABOVE = 10, 3
"""Mixes shown that cost less than the answer, and more: what is excluded matters most."""
FEW_LETTERS, FEW_WORDS = 9, 24
"""Letters of a line of a mix and of a verdict, below which other columns give way."""


def capacity_table(
    report: CapacityReport,
    width: int,
    services: Sequence[Service] = (),
    predictions: tuple[Prediction, ...] = (),
) -> RenderableType:
    """Draw an answer for a screen.

    Parameters
    ----------
    report
        The answer.
    width
        Of the screen, in letters.
    services
        What the replicas of its plan can serve, if that is known.
    predictions
        What their users feel, if that is known.
    """
    parts: list[RenderableType] = [Text(question(report))]
    shown, hidden = _around(report)
    if shown:
        parts.append(_table(report, shown, width))
    if hidden:
        parts.append(Text(f"and {amount(hidden, 'other mix', 'other mixes')} tried"))
    best = report.answer.best
    parts.append(Text(headline(report), style="bold"))
    if best and report.answer.plan:
        plan = plan_table(report.answer.plan, width, services, predictions)
        parts += [Text(proof(report)), plan]
    return Group(*parts)


def _around(report: CapacityReport) -> tuple[list[MixTrial], int]:
    """Return the trials closest to the answer, and how many others there are."""
    trials, best = list(report.answer.trials), report.answer.best
    mixes = [trial.mix for trial in trials]
    place = mixes.index(best.mix) if best else len(trials)
    shown = trials[max(place - BELOW, 0) : place + 1 + ABOVE]
    return shown, len(trials) - len(shown)


def _table(report: CapacityReport, trials: list[MixTrial], width: int) -> RenderableType:
    with_price = any(report.price(trial.mix) is not None for trial in trials)
    with_ratio = report.targets > 0 and not report.by_ratio
    columns = [
        Column("GPUs"),
        Column("of which", words=True, enough=FEW_LETTERS),
        *([Column("$/hour", dispensable=int(report.by is By.GPUS))] if with_price else []),
        Column("latency / target" if report.by_ratio else "pressure", enough=FEW_LETTERS),
        Column("at least", dispensable=2),
        *([Column("latency / target", enough=FEW_LETTERS)] if with_ratio else []),
        Column("", words=True),
        Column("", words=True, enough=FEW_WORDS),
    ]
    rows = (_row(report, trial, with_price, with_ratio) for trial in trials)
    return fitting_table(columns, rows, width)


def _row(report: CapacityReport, trial: MixTrial, with_price: bool, with_ratio: bool) -> list[Text]:
    """Return the cells of a mix, with its price and latency or without."""
    price, best = report.price(trial.mix), report.is_best(trial)
    cells = [
        str(report.total(trial.mix)),
        report.named(trial.mix),
        *([f"{price:.2f}" if price is not None else "-"] if with_price else []),
        _value(report, trial),
        _bound(report, trial),
        *([_ratio(trial)] if with_ratio else []),
        MARK if best else "",
        verdict(trial),
    ]
    return [Text(cell, style="bold" if best else "") for cell in cells]


def _value(report: CapacityReport, trial: MixTrial) -> str:
    found = trial.plan and trial.plan.placement
    return shown_value(report, trial.value) if found else "-"


def _ratio(trial: MixTrial) -> str:
    return "-" if trial.ratio is None else shown_ratio(trial.ratio)


def _bound(report: CapacityReport, trial: MixTrial) -> str:
    unknown = trial.bound == 0.0 or isinf(trial.bound)
    return "-" if unknown else shown_value(report, trial.bound)
