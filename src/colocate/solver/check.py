"""Checking a plan that someone else may have written: nothing in it is believed."""

import json
from collections.abc import Mapping, Sequence
from math import inf, isinf
from typing import Any, NamedTuple

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.parts import parts_of, problem_of_bounds
from colocate.problem.problem import Problem
from colocate.problem.verify import highest_pressure, verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.choice_program import search_choices
from colocate.solver.prove.constraint_program import search_by_constraints
from colocate.solver.sleeping import least_lost
from colocate.solver.squads import nodes_of

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
    stated = {key: value for key, value in data.items() if key != "digest"}
    written = {key: value for key, value in plan.as_dict().items() if key != "digest"}
    if _text(stated) != _text(written):
        names = [key for key in {*stated, *written} if _text(stated, key) != _text(written, key)]
        findings.faults.append(
            f"{', '.join(sorted(names))}: not as a plan with this content has it"
        )
    if not plan.placement:
        _check_that_nothing_fits(plan, findings, reprove)
        return findings
    pressure = _check_placement(plan, findings)
    _check_lost(plan, findings, reprove)
    _check_bound(plan, pressure, findings, reprove)
    return findings


def _text(data: Mapping[str, Any], key: str | None = None) -> str:
    return json.dumps(data if key is None else data.get(key, "missing"), sort_keys=True)


def _check_that_nothing_fits(plan: Plan, findings: Findings, reprove: float | None) -> None:
    """Check a plan without a placement: whether there really is none."""
    stated = f"status: {plan.status}, no placement ({plan.reason})"
    if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
        findings.faults.append(f"placement: there is none, though the status is {plan.status}")
    elif plan.status is Status.UNKNOWN or reprove is None:
        hint = "" if plan.status is Status.UNKNOWN else " (--reprove repeats it)"
        findings.unchecked.append(f"{stated}{hint}")
    else:
        answer = search_choices(plan.problem, highest_pressure(plan.problem), reprove)
        if answer.outcome is Outcome.NONE:
            findings.confirmed.append(f"{stated}, repeated by CP-SAT")
        elif answer.outcome is Outcome.FOUND and verify(plan.problem, answer.placement).valid:
            findings.faults.append(f"{stated}: CP-SAT found a placement")
        else:
            findings.unchecked.append(f"{stated}: CP-SAT came to no end in {reprove:g} s")


def _check_placement(plan: Plan, findings: Findings) -> float:
    """Check where the models are and what that means; return the true peak."""
    verdict = verify(plan.problem, plan.placement)
    findings.faults.extend(f"placement: {fault}" for fault in verdict.faults)
    if verdict.faults:
        return inf
    models, gpus = len(plan.problem.models) - len(plan.asleep), len(plan.problem.gpus)
    others = f"{len(plan.asleep)} asleep" if plan.asleep else "none left out"
    findings.confirmed.append(f"placement: {models} models on {gpus} GPUs, {others}, all fit")
    wrong = [
        f"pressures[{gpu!r}]: {plan.pressures.get(gpu)} is stated, it is {pressure}"
        for gpu, pressure in verdict.pressures.items()
        if not _same(plan.pressures.get(gpu), pressure)
    ]
    if set(plan.pressures) - set(verdict.pressures):
        wrong.append("pressures: name GPUs that are not in the fleet")
    findings.faults.extend(wrong)
    if not wrong:
        findings.confirmed.append(f"pressure: {verdict.pressure:.15g} on {plan.bottleneck}")
    return verdict.pressure


def _check_bound(plan: Plan, pressure: float, findings: Findings, reprove: float | None) -> None:
    certificate = plan.certificate
    bounded = problem_of_bounds(plan.problem, plan.asleep)
    if certificate is None or bounded is None:
        findings.confirmed.append("bound: none is stated")
    elif certificate.bound > pressure:
        findings.faults.append(f"bound: {certificate.bound:.15g} is above the plan's own pressure")
    elif fault := refuted(bounded, certificate):
        findings.faults.append(f"bound: {fault}")
    elif certificate.proof is Proof.SEARCH:
        _check_search(plan, certificate, findings, reprove)
    else:
        findings.confirmed.append(f"bound: {certificate.bound:.15g}, by {certificate.proof}")
    _check_status(plan, findings)


def _check_status(plan: Plan, findings: Findings) -> None:
    optimal = plan.proven
    expected = Status.OPTIMAL if optimal else Status.FEASIBLE
    if plan.placement and plan.status is not expected:
        findings.faults.append(
            f"status: {plan.status} is stated, a gap of {plan.gap} is {expected}"
        )
    elif optimal and not findings.faults:
        sure = findings.unchecked or findings.confirmed
        sure.append("status: OPTIMAL, no placement has a lower pressure")


def _check_search(
    plan: Plan, certificate: Certificate, findings: Findings, reprove: float | None
) -> None:
    nodes = f" of {certificate.nodes} nodes" if certificate.nodes else ""
    stated = f"bound: {certificate.bound:.15g}, by a search{nodes}"
    if certificate.bound == 0.0:
        findings.confirmed.append("bound: 0, which always holds")
        return
    if reprove is None:
        findings.unchecked.append(f"{stated} (--reprove repeats it)")
        return
    outcome, placement = _searched(plan, certificate.bound, reprove)
    if outcome is Outcome.NONE:
        findings.confirmed.append(f"{stated}, repeated by CP-SAT")
    elif outcome is Outcome.FOUND:
        verdict = verify(plan.problem, placement)
        if verdict.valid and verdict.pressure < certificate.bound:
            findings.faults.append(f"{stated}: CP-SAT found a placement below it")
        else:
            findings.unchecked.append(f"{stated}: too close for the whole numbers of CP-SAT")
    else:
        findings.faults.append(f"{stated}: CP-SAT came to no end in {reprove:g} s")


def _searched(
    plan: Plan, bound: float, seconds: float
) -> tuple[Outcome, Mapping[str, Sequence[str]]]:
    """Search for a placement below a bound, with the same models asleep."""
    awake = plan.problem.awake(plan.asleep) if plan.problem.sleepers else plan.problem
    assert awake is not None
    asleep = dict.fromkeys(plan.asleep, ())
    if awake.elastic:
        answer = search_choices(awake, bound, seconds)
        return answer.outcome, {**answer.placement, **asleep}
    parts = parts_of(awake)
    outcome, gpu_of = search_by_constraints(
        parts.problem.instance, bound, seconds, 2, parts.squads, nodes_of(parts)
    )
    found = outcome is Outcome.FOUND
    return outcome, {**parts.placement(gpu_of), **asleep} if found else {}


def _check_lost(plan: Plan, findings: Findings, reprove: float | None) -> None:
    """Check that what sleeps is what the plan says, and that nothing less could be lost."""
    if not 0.0 <= plan.lost_bound <= plan.lost * (1 + SAME):
        findings.faults.append(
            f"lost_bound: {plan.lost_bound:.15g} is not between 0 and "
            f"{plan.lost:.15g}, which the plan itself loses"
        )
        return
    if not plan.problem.sleepers or not plan.placement:
        return
    stated = f"lost: {plan.lost:.6g} by {len(plan.asleep)} asleep"
    claim = f"{stated}, at least {plan.lost_bound:.6g} for any choice"
    if plan.lost == 0.0:
        findings.confirmed.append("lost: nothing")
    elif plan.lost_bound == 0.0:
        findings.confirmed.append(f"{stated}, not proven to be the least")
    elif plan.lost_bound <= least_lost(plan.problem) * (1 + SAME):
        findings.confirmed.append(f"{claim}, by volume")
    elif reprove is None:
        findings.unchecked.append(f"{claim} (--reprove repeats it)")
    else:
        answer = search_choices(plan.problem, highest_pressure(plan.problem), reprove)
        if answer.cost_bound + plan.rounding_of_costs >= plan.lost_bound:
            findings.confirmed.append(f"{claim}, repeated by CP-SAT")
        else:
            findings.faults.append(f"{claim}: CP-SAT proves only {answer.cost_bound:.6g}")


def _same(stated: float | None, found: float) -> bool:
    if stated is None or isinf(found):
        return stated == found
    return abs(stated - found) <= SAME * found
