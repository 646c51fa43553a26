"""The problem of a fleet after a change to its file."""

from collections.abc import Iterable
from typing import Any

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.spec import FleetSpec, ModelSpec
from colocate.problem.problem import Problem


def problem_with_models(fleet: Fleet, changed: Iterable[ModelSpec]) -> Problem | None:
    """Return the problem with some models changed; None if engines or the fleet forbid it."""
    by_name = {model.name: model for model in changed}
    models = [by_name.get(model.name, model) for model in fleet.spec.models]
    return problem_of(fleet.spec.model_copy(update={"models": models}))


def problem_of(spec: FleetSpec) -> Problem | None:
    """Return the problem of a changed fleet; None if the change contradicts the fleet."""
    stated: dict[str, Any] = spec.model_dump(by_alias=True, exclude_defaults=True, mode="json")
    try:
        return fleet_of(stated).problem
    except InputError:
        return None
