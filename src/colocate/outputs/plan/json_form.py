"""A plan as JSON, with the fleet that it is for: all that explaining and starting it needs."""

import json

from colocate.advise.service import service_data, services_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import FLEET, SERVICE
from colocate.solver.plan import Plan


def plan_json(plan: Plan, fleet: Fleet) -> str:
    """Return the text of a plan file."""
    document = {
        **plan.as_dict(),
        SERVICE: service_data(services_of(plan, fleet)),
        FLEET: fleet.as_dict(),
    }
    return json.dumps(document, indent=2, allow_nan=False)
