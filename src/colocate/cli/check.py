"""`colocate check`: say whether a plan is what it claims to be."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.exit_codes import FAULT


def check(
    fleet: Annotated[Path, typer.Argument(help="Fleet file (YAML or JSON).")],
    plan: Annotated[Path, typer.Argument(help="Plan, as `colocate plan --json` prints it.")],
    reprove: Annotated[
        bool, typer.Option("--reprove", help="Repeat a proof by search, with CP-SAT.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=0.01, help="Seconds for --reprove.", show_default=True)
    ] = 60.0,
) -> None:
    """Check a plan in exact arithmetic: placement, pressures, bound and status."""
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.plan_file import read_plan
    from colocate.inputs.text_file import naming
    from colocate.outputs.console import notes, show
    from colocate.solver.check import check_plan

    own_fleet, data = read_plan(plan)
    compute = own_fleet is None or own_fleet.spec.compute_limit is not None
    stated = read_fleet(fleet, compute)
    with naming(plan):
        findings = check_plan(stated.problem, data, time_limit if reprove else None)
    if own_fleet is not None and own_fleet.spec != stated.spec:
        findings.faults.append("fleet: the one in the plan is not the one in the fleet file")
    if not compute:
        findings.unchecked.append("compute: the plan was made without regard to it")
    confirmed = [f"confirmed  {sentence}" for sentence in findings.confirmed]
    show(*confirmed, *(f"unchecked  {sentence}" for sentence in findings.unchecked))
    for sentence in findings.faults:
        notes().print(f"WRONG  {sentence}", markup=False)
    if findings.faults:
        raise typer.Exit(FAULT)
