"""A plan as JSON, with the fleet that it is for: all that explaining and starting it needs."""

import json

from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET
from colocate.solver.plan import Plan


def plan_json(plan: Plan, fleet: Fleet) -> str:
    """Return the text of a plan file."""
    document = {**plan.as_dict(), FLEET: fleet.as_dict()}
    return json.dumps(document, indent=2, allow_nan=False)
