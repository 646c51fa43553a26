"""Checking a plan that someone else may have written: nothing in it is believed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.plan import Plan, Status
from colocate.solver.progress import PROVEN
from colocate.solver.prove.constraint_program import search_by_constraints

SAME = 1e-9


class Findings(NamedTuple):
    """What a check found, in sentences."""

    confirmed: list[str]
    unchecked: list[str]
    """What it claims and the check did not look into."""
    faults: list[str]


def check_plan(problem: Problem, data: Mapping[str, Any], reprove: float | None = None) -> Findings:
    """Check placement, pressures, bound and status of a plan from its JSON form.

    Parameters
    ----------
    problem
        The fleet that the plan is for.
    data
        The plan, as `Plan.as_dict` writes it.
    reprove
        Seconds to spend on repeating a proof by search with CP-SAT; None does not repeat it.
    """
    plan = Plan.from_dict(problem, data)
    findings = Findings([], [], [])
    if data.get("digest") != plan.digest:
        findings.faults.append("digest: the plan was altered, or belongs to another fleet")
    _check_placement(plan, data, findings)
    _check_bound(plan, data, findings, reprove)
    return findings


def _check_placement(plan: Plan, data: Mapping[str, Any], findings: Findings) -> None:
    if not plan.placement:
        findings.faults.append(f"placement: there is none to check ({plan.status}: {plan.reason})")
        return
    verdict = verify(plan.problem, plan.placement)
    findings.faults.extend(f"placement: {fault}" for fault in verdict.faults)
    if verdict.faults:
        return
    models, gpus = len(plan.problem.models), len(plan.problem.gpus)
    findings.confirmed.append(f"placement: {models} models on {gpus} GPUs, each once, all fit")
    for gpu, pressure in verdict.pressures.items():
        if not _same(plan.pressures.get(gpu), pressure):
            stated = plan.pressures.get(gpu)
            findings.faults.append(f"pressures[{gpu!r}]: {stated} is stated, it is {pressure}")
    if set(plan.pressures) - set(verdict.pressures):
        findings.faults.append("pressures: name GPUs that are not in the fleet")
    elif data.get("pressure") != plan.as_dict()["pressure"]:
        findings.faults.append(f"pressure: {data.get('pressure')} is stated, not the highest one")
    else:
        findings.confirmed.append(f"pressure: {verdict.pressure:.15g} on {plan.bottleneck}")


def _check_bound(
    plan: Plan, data: Mapping[str, Any], findings: Findings, reprove: float | None
) -> None:
    if data.get("bound") != plan.bound or data.get("gap") != plan.as_dict()["gap"]:
        findings.faults.append("bound: bound or gap are not those of the certificate")
    certificate = plan.certificate
    if certificate is None:
        findings.confirmed.append("bound: none is stated")
    elif fault := refuted(plan.problem, certificate):
        findings.faults.append(f"bound: {fault}")
    elif certificate.proof is Proof.SEARCH:
        _check_search(plan.problem, certificate, findings, reprove)
    else:
        findings.confirmed.append(f"bound: {certificate.bound:.15g}, by {certificate.proof}")
    optimal = plan.placement and plan.gap <= PROVEN
    if (plan.status is Status.OPTIMAL) != bool(optimal):
        findings.faults.append(f"status: {plan.status} does not follow from a gap of {plan.gap}")
    elif optimal and not findings.faults:
        sure = findings.unchecked or findings.confirmed
        sure.append("status: OPTIMAL, no placement has a lower pressure")


def _check_search(
    problem: Problem, certificate: Certificate, findings: Findings, reprove: float | None
) -> None:
    nodes = f" of {certificate.nodes} nodes" if certificate.nodes else ""
    stated = f"bound: {certificate.bound:.15g}, by a search{nodes}"
    if reprove is None:
        findings.unchecked.append(f"{stated} (--reprove repeats it)")
        return
    outcome = search_by_constraints(problem.instance, certificate.bound, reprove, workers=2)
    if outcome is Outcome.NONE:
        findings.confirmed.append(f"{stated}, repeated by CP-SAT")
    elif outcome is Outcome.FOUND:
        findings.faults.append(f"{stated}: CP-SAT found a placement below it")
    else:
        findings.faults.append(f"{stated}: CP-SAT came to no end in {reprove:g} s")


def _same(stated: float | None, found: float) -> bool:
    if stated is None:
        return False
    return stated == found or abs(stated - found) <= SAME * found
