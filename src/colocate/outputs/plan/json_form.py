"""A plan as JSON, with the fleet that it is for: all that explaining and starting it needs."""

import json

from colocate.advise.service import services_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET
from colocate.solver.plan import Plan

SERVICE = "service"
"""The field with what every replica can serve; it follows from the others."""


def plan_json(plan: Plan, fleet: Fleet) -> str:
    """Return the text of a plan file."""
    service = [each._asdict() for each in services_of(plan, fleet)]
    document = {**plan.as_dict(), SERVICE: service, FLEET: fleet.as_dict()}
    return json.dumps(document, indent=2, allow_nan=False)
