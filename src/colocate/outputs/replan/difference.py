"""What two plans differ in."""

from math import isinf
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.outputs.replan.table import moved_models
from colocate.outputs.replan.words import value_text
from colocate.outputs.text.wording import amount, gigabytes, listed
from colocate.replan.replan import weights_of
from colocate.replan.search.item_homes import engines_in
from colocate.solver.plan import Plan

Planned = tuple[Plan, Fleet]


def loaded_gb(old: Planned, new: Planned) -> float:
    """Return the weights that must be loaded to come from one plan to another."""
    (before, _), (after, fleet) = old, new
    weights, total = weights_of(fleet), 0.0
    for model in after.problem.models:
        kept = [
            frozenset(e) for e in engines_in(before.placement.get(model.name, ()), model.shards)
        ]
        for engine in engines_in(after.placement[model.name], model.shards):
            if frozenset(engine) in kept:
                kept.remove(frozenset(engine))
            else:
                total += weights.get(model.name, model.size_gb)
    return total


def difference_facts(old: Planned, new: Planned) -> list[str]:
    """Say in a few sentences what two plans differ in."""
    (before, _), (after, _) = old, new
    moved = moved_models(before.placement, after.placement)
    gpus = [{gpu.name for gpu in plan.problem.gpus} for plan in (before, after)]
    facts = [f"{amount(len(moved), 'model')} elsewhere, {gigabytes(loaded_gb(old, new))} to load"]
    if lost := sorted(gpus[0] - gpus[1]):
        facts.append(f"gone: {listed(lost)}")
    if added := sorted(gpus[1] - gpus[0]):
        facts.append(f"new: {listed(added)}")
    facts.append(f"pressure {value_text(before.pressure)} -> {value_text(after.pressure)}")
    if before.ratios and after.ratios:
        facts.append(f"ratio {value_text(before.ratio)} -> {value_text(after.ratio)}")
    if before.problem.digest != after.problem.digest:
        facts.append("the fleets differ in their figures, so values do not compare")
    return facts


def difference_data(old: Planned, new: Planned) -> dict[str, Any]:
    """Return the same as plain data for JSON."""
    (before, _), (after, _) = old, new
    moved = moved_models(before.placement, after.placement)
    return {
        "moved": {
            model: {
                "from": list(before.placement.get(model, ())),
                "to": list(after.placement.get(model, ())),
            }
            for model in moved
        },
        "loaded_gb": loaded_gb(old, new),
        "pressure": [_number(before.pressure), _number(after.pressure)],
        "ratio": [_number(p.ratio) if p.ratios else None for p in (before, after)],
        "same_fleet": before.problem.digest == after.problem.digest,
    }


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) else value
