"""A capacity as JSON, with the plan file of the answer in it."""

import json
from math import isinf
from typing import Any

from colocate.advise.capacity.trials import Look
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET
from colocate.outputs.capacity_words import CapacityReport
from colocate.solver.plan import Plan

SCHEMA = 1
"""The version of the form."""


def capacity_json(report: CapacityReport, plan: Plan | None, fleet: Fleet | None) -> str:
    """Return an answer as text; the plan and its fleet are None if there is no answer."""
    answer = report.answer
    best = answer.best
    document = {
        "schema": SCHEMA,
        "status": answer.status.value,
        "by": report.by,
        "target": answer.target,
        "most": answer.most,
        "at_least": float(report.floor),
        "reason": answer.reason,
        "best": _look(report, best) if best else None,
        "not_excluded": [_counts(report, mix) for mix in answer.not_excluded],
        "looks": [_look(report, look) for look in answer.looks],
        "plan": None,
    }
    if plan and fleet:
        document["plan"] = {**plan.as_dict(), FLEET: fleet.as_dict()}
    return json.dumps(document, indent=2, allow_nan=False)


def _look(report: CapacityReport, look: Look) -> dict[str, Any]:
    found = look.plan is not None and bool(look.plan.placement)
    return {
        "counts": _counts(report, look.mix),
        "gpus": report.total(look.mix),
        "price_per_hour": report.price(look.mix),
        "verdict": look.verdict.value,
        "pressure": _number(look.pressure) if found else None,
        "bound": _number(look.bound),
        "reason": look.reason,
    }


def _counts(report: CapacityReport, mix: tuple[int, ...]) -> dict[str, int]:
    return {kind.label: n for kind, n in zip(report.kinds, report.gpus(mix), strict=True)}


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) else value
