"""A plan as JSON, with the fleet that it is for: all that explaining and starting it needs."""

import json
from collections.abc import Mapping
from typing import Any

from colocate.advise.latency import predictions_of
from colocate.advise.service import service_data, services_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET, LATENCY, SERVICE, SIMULATION
from colocate.outputs.latency.json_form import replica_data
from colocate.solver.plan import Plan

MOST_INDENTED = 2_000
"""Models up to which a plan is written for the eye; indenting a larger one takes seconds."""


def plan_json(plan: Plan, fleet: Fleet, simulation: Mapping[str, Any] | None = None) -> str:
    """Return the text of a plan file.

    Parameters
    ----------
    plan, fleet
        What was decided, and what it is for.
    simulation
        A replay of it, if there was one.
    """
    predictions = predictions_of(plan)
    document = {
        **plan.as_dict(),
        SERVICE: service_data(services_of(plan, fleet)),
        **({LATENCY: replica_data(predictions)} if predictions else {}),
        **({SIMULATION: simulation} if simulation else {}),
        FLEET: fleet.as_dict(),
    }
    indent = 2 if len(fleet.models) <= MOST_INDENTED else None
    return json.dumps(document, indent=indent, allow_nan=False)
