"""Plans as commands take them: read, then checked."""

from pathlib import Path

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet
from colocate.inputs.plan_file import A_PLAN, read_plan
from colocate.inputs.text_file import naming
from colocate.problem.verify import verify
from colocate.solver.plan import Plan


def read_valid_plan(path: Path) -> tuple[Plan, Fleet]:
    """Return a plan and its fleet; its placement has been checked.

    Raises
    ------
    InputError
        If the file is no plan, has no fleet or no placement, or one that breaks a rule.
    """
    fleet, data, *_ = read_plan(path)
    with naming(path):
        if fleet is None:
            raise InputError(Fault("has no fleet", A_PLAN))
        plan = Plan.from_dict(fleet.problem, data)
        if not plan.placement:
            raise InputError(f"has no placement ({plan.status}: {plan.reason})")
        verdict = verify(fleet.problem, plan.placement)
        if not verdict.valid:
            raise InputError(*(f"placement: {fault}" for fault in verdict.faults))
        return plan, fleet
