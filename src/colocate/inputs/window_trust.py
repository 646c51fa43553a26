"""How far the time windows of a fleet can be trusted, by the history of its models.

A plan over windows bets that tomorrow's hours are like those that were measured. `predictability`
says how well that bet did: 1 less the error of the same hour yesterday over that of the last
minutes. At 0 or below, yesterday tells no more than the last minutes do.
"""

from typing import NamedTuple

from colocate.inputs.spec import FleetSpec, ModelSpec
from colocate.inputs.window_spec import PER_WINDOW, numbers_of

LEAST_SKILL = 0.1
"""Predictability from which on windows are worth more than their noise: with less, the hours of
yesterday are hardly better than what was just seen, which knows nothing of the time of day."""


class WindowTrust(NamedTuple):
    """What is known of the windows of a fleet."""

    moving: tuple[str, ...]
    """Models whose demand differs by window."""
    doubtful: tuple[str, ...]
    """Of these, those whose windows are not worth trusting."""
    unknown: tuple[str, ...]
    """Of these, those that state no predictability."""


def window_trust(spec: FleetSpec) -> WindowTrust:
    """Return which models have windows, and whose are not worth trusting."""
    moving = [model for model in spec.models if _moves(model)]
    stated = {model.name: model.predictability for model in moving}
    doubtful = [name for name, skill in stated.items() if skill is not None and skill < LEAST_SKILL]
    unknown = [name for name, skill in stated.items() if skill is None]
    return WindowTrust(tuple(stated), tuple(doubtful), tuple(unknown))


def _moves(model: ModelSpec) -> bool:
    """Say whether a model is asked more in some windows than in others."""
    stated = (getattr(model, field) for field in PER_WINDOW)
    return any(len(set(numbers_of(value))) > 1 for value in stated if value is not None)
