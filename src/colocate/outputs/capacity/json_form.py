"""A capacity as JSON, with the plan file of the answer in it."""

import json
from math import isinf
from typing import Any

from colocate.advise.capacity.trials import MixTrial
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET
from colocate.outputs.capacity.words import CapacityReport, reason
from colocate.solver.plan import Plan

SCHEMA = 1
"""The version of the form; readers refuse one that they do not know."""


def capacity_json(report: CapacityReport, plan: Plan | None, fleet: Fleet | None) -> str:
    """Return an answer as text.

    Parameters
    ----------
    report
        The answer.
    plan
        Its plan; None if there is no answer.
    fleet
        The fleet of that plan, with the GPUs of the mix.
    """
    answer = report.answer
    best = answer.best
    document = {
        "schema": SCHEMA,
        "status": answer.status.value,
        "by": report.by,
        "target": None if report.by_ratio else answer.target,
        **({"models_with_targets": report.targets} if report.targets else {}),
        "most": answer.most,
        "at_least": float(report.floor),
        "reason": reason(answer),
        "best": _trial(report, best) if best else None,
        "not_excluded": [_counts(report, mix) for mix in answer.not_excluded],
        "looks": [_trial(report, trial) for trial in answer.trials],
        "plan": None,
    }
    if plan and fleet:
        document["plan"] = {**plan.as_dict(), FLEET: fleet.as_dict()}
    return json.dumps(document, indent=2, allow_nan=False)


def _trial(report: CapacityReport, trial: MixTrial) -> dict[str, Any]:
    found = trial.plan is not None and bool(trial.plan.placement)
    return {
        "counts": _counts(report, trial.mix),
        "gpus": report.total(trial.mix),
        "price_per_hour": report.price(trial.mix),
        "verdict": trial.decision.value,
        "pressure": _number(trial.pressure) if found else None,
        **({"ratio": _ratio(trial)} if report.targets else {}),
        "bound": _number(trial.bound),
        "reason": trial.reason,
    }


def _ratio(trial: MixTrial) -> float | str | None:
    return None if trial.ratio is None else _number(trial.ratio)


def _counts(report: CapacityReport, mix: tuple[int, ...]) -> dict[str, int]:
    return {kind.label: n for kind, n in zip(report.kinds, report.gpus(mix), strict=True)}


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) else value
