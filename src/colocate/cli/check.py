"""`colocate check`: check the claims of a plan."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colocate.cli.exit_codes import FAULT, NOT_ALL_CONFIRMED
from colocate.errors import InputError
from colocate.fault import Fault

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet
    from colocate.solver.check import Findings


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[FLEET] PLAN",
            help="Plan file, after an optional fleet file to check against instead of the "
            "fleet in the plan.",
        ),
    ],
    reprove: Annotated[
        bool,
        typer.Option(
            "--reprove",
            help="Repeat proofs that cannot be checked, with two solvers that must agree.",
        ),
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=0.01, help="Seconds for --reprove.", show_default=True)
    ] = 60.0,
) -> None:
    """Check a plan in exact arithmetic: placement, pressures, bound and status.

    Exit codes: 0 if everything is confirmed; 1 if something is wrong; 6 if nothing is wrong but
    something could not be confirmed, because it rests on two solvers or was not checked.
    """
    from colocate.inputs.plan_file import read_plan
    from colocate.inputs.text_file import naming
    from colocate.outputs.text.console import notes, show
    from colocate.solver.check import check_plan

    *fleets, plan = files
    if len(fleets) > 1:
        raise typer.BadParameter(
            f"found {len(files)} files, must be a plan, or a fleet file and a plan"
        )
    own, data, service, latency = read_plan(plan)
    stated = _stated_fleet(fleets, plan, own)
    with naming(plan):
        findings = check_plan(stated.problem, data, time_limit if reprove else None)
    own_fleet = own is None or own.spec == stated.spec
    if service is not None and own_fleet and not findings.faults:
        _check_service(stated, data, service, findings)
    if latency is not None and own_fleet and not findings.faults:
        _check_latency(stated, data, latency, findings)
    if lines := list(_lines(findings)):
        show(*lines)
    faults = findings.faults if own_fleet else list(_of_another_fleet(findings, plan))
    for sentence in faults:
        notes().print(f"WRONG  {sentence}", markup=False)
    if faults:
        raise typer.Exit(FAULT)
    if not findings.all_confirmed:
        raise typer.Exit(NOT_ALL_CONFIRMED)


def _check_service(
    fleet: "Fleet", data: dict[str, Any], service: object, findings: "Findings"
) -> None:
    """Work out again what every replica can serve."""
    from colocate.advise.service import service_data, services_of
    from colocate.outputs.text.wording import amount
    from colocate.solver.plan import Plan

    services = services_of(Plan.from_dict(fleet.problem, data), fleet)
    if service != service_data(services):
        findings.faults.append("service: not what the replicas of this plan can serve")
    elif services:
        have = "has its" if len(services) == 1 else "have their"
        told = f"service: {amount(len(services), 'replica')} {have} least cache"
        findings.confirmed.append(told)


def _check_latency(
    fleet: "Fleet", data: dict[str, Any], latency: object, findings: "Findings"
) -> None:
    """Predict again what users of every replica feel, and by the checker's own law too."""
    from colocate.advise.latency import predictions_of
    from colocate.outputs.latency.json_form import replica_data
    from colocate.outputs.plan.latency_words import latency_line
    from colocate.problem.checker.latency.placed import felt_latencies
    from colocate.problem.checker.stated_data import same_data, same_latency
    from colocate.solver.plan import Plan

    plan = Plan.from_dict(fleet.problem, data)
    predictions = predictions_of(plan)
    if not predictions or not same_data(latency, replica_data(predictions)):
        findings.faults.append("latency: not what the law predicts for the replicas of this plan")
        return
    felt = felt_latencies(plan.problem, plan.placement)
    for each, again in zip(predictions, felt, strict=True):
        at, shared = each.requests.percentile, each.shared
        for what, stated, found in (
            ("TPOT", shared.tpot.at(at), again.tpot),
            ("TTFT", shared.ttft.at(at), again.ttft),
        ):
            if not same_latency(stated, found):
                findings.faults.append(
                    f"latency: {each.model!r} has a {what} of {stated} s, the checker finds {found}"
                )
    if not findings.faults:
        findings.confirmed.append(f"latency: {latency_line(predictions)}")


def _of_another_fleet(findings: "Findings", plan: Path) -> Iterator[str]:
    """Yield that a plan is of another fleet; of the faults that come of it, only their number."""
    from colocate.outputs.text.wording import amount

    yield "fleet: the plan was made for another fleet than the fleet file states"
    if findings.faults:
        others = amount(len(findings.faults), "other fault")
        yield f"{others} with this fleet; `colocate check {plan}` checks the plan against its own"


def _lines(findings: "Findings") -> Iterator[str]:
    """Yield what was found and how sure it is; faults come later."""
    for how_sure, sentences in (
        ("confirmed", findings.confirmed),
        ("by solvers", findings.by_solvers),
        ("unchecked", findings.unchecked),
    ):
        yield from (f"{how_sure:<10} {sentence}" for sentence in sentences)


def _stated_fleet(fleets: list[Path], plan: Path, own: "Fleet | None") -> "Fleet":
    """Return the fleet to check a plan against: that of a file, or its own."""
    from colocate.inputs.fleet import read_fleet

    if fleets:
        return read_fleet(fleets[0])
    if own is None:
        found, advice = "has no fleet of its own", "name the fleet file before it"
        raise InputError(Fault(found, advice=advice, file=str(plan)))
    return own
