"""Checks a plan that someone else may have written, and takes nothing in it on trust.

The check shares no code with the solver that wrote the plan. It calls solvers only to repeat a
proof: CP-SAT and SCIP, which have to agree.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import inf, isinf, nextafter
from typing import TYPE_CHECKING, Any, NamedTuple

from colocate.problem.certificate import OF_RATIOS, Certificate, Proof, in_todays_words
from colocate.problem.checker.lost import least_lost
from colocate.problem.checker.tolerance import (
    SAME,
    SAME_LOSS,
    SAME_RATIO,
    SLACK,
    STRICTLY_BELOW,
)
from colocate.problem.problem import Problem
from colocate.problem.verify import highest_pressure, verify
from colocate.problem.verify_bound import refuted
from colocate.problem.verify_levels import check_levels, fault_of_levels, stated_again
from colocate.solver.plan import Plan, Status
from colocate.solver.proof_words import PROOFS

if TYPE_CHECKING:
    from colocate.solver.prove.solvers.two_solvers import Agreement

LARGEST = nextafter(inf, 0.0)
"""The largest finite pressure."""
WORKERS = 2
"""Threads of a search that proves a bound again, as many as `solve` has by default."""


class Findings(NamedTuple):
    """The findings of a check, as sentences."""

    confirmed: list[str]
    by_solvers: list[str]
    """Claims that rest on the agreement of two solvers, which cannot be checked."""
    unchecked: list[str]
    """Claims that the check did not examine."""
    faults: list[str]

    @property
    def all_confirmed(self) -> bool:
        """Whether the check confirmed every claim of the plan."""
        return not (self.faults or self.unchecked or self.by_solvers)


def check_plan(problem: Problem, data: Mapping[str, Any], reprove: float | None = None) -> Findings:
    """Check the placement, pressures, ratios, bound, status and levels of a plan in its JSON form.

    Parameters
    ----------
    problem
        The fleet that the plan is for.
    data
        The plan, as `Plan.as_dict` writes it.
    reprove
        Seconds in which two solvers may repeat a proof that cannot be checked; None skips this.
    """
    plan = Plan.from_dict(problem, data)
    findings = Findings([], [], [], [])
    _check_text(plan, data, findings)
    if not plan.placement:
        _check_that_nothing_fits(plan, findings, reprove)
        return findings
    value = _check_placement(plan, findings)
    _check_lost(plan, findings, reprove)
    _check_bound(plan, value, findings, reprove)
    _check_status(plan, findings)
    if plan.levels and not findings.faults:
        _check_levels(plan, findings, reprove)
    return findings


def _check_text(plan: Plan, data: Mapping[str, Any], findings: Findings) -> None:
    """Check that nobody altered the plan, and that its figures follow from its content."""
    if data.get("digest") != plan.digest:
        findings.faults.append("digest: the plan was altered, or belongs to another fleet")
    stated, written = _comparable(data), _comparable(plan.as_dict())
    if _text(stated) != _text(written):
        names = [key for key in {*stated, *written} if _text(stated, key) != _text(written, key)]
        findings.faults.append(
            f"{', '.join(sorted(names))}: not what a plan with this content would state"
        )


def _comparable(data: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the digest and the text of a tree, since one tree can be packed in many ways."""
    kept = {key: value for key, value in data.items() if key != "digest"}
    kept["certificate"] = _without_tree(kept.get("certificate"))
    if isinstance(levels := kept.get("levels"), list):
        kept["levels"] = [
            {
                **level,
                "proofs": [
                    {**proof, "certificate": _without_tree(proof["certificate"])}
                    for proof in level["proofs"]
                ],
            }
            for level in levels
        ]
    return kept


def _without_tree(certificate: object) -> object:
    if not isinstance(certificate, Mapping):
        return certificate
    stated = in_todays_words(certificate)
    return {key: value for key, value in stated.items() if key != "tree"}


def _text(data: Mapping[str, Any], key: str | None = None) -> str:
    return json.dumps(data if key is None else data.get(key, "missing"), sort_keys=True)


def _check_that_nothing_fits(plan: Plan, findings: Findings, reprove: float | None) -> None:
    """Check the claim of a plan without a placement that none exists."""
    stated = f"status: {plan.status}, no placement ({plan.reason})"
    if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
        findings.faults.append(f"placement: there is none, though the status is {plan.status}")
        return
    if plan.status is Status.UNKNOWN:
        findings.unchecked.append(stated)
        return
    sleepers = [model.name for model in plan.problem.sleepers]
    awake = plan.problem.awake(frozenset(sleepers)) if sleepers else plan.problem
    proof = plan.certificate
    if awake is None:
        findings.faults.append(f"{stated}: all models may sleep, which is a placement")
    elif proof and (fault := refuted(awake, proof)):
        findings.faults.append(f"{stated}: {fault}")
    elif proof and _excludes_all(plan.problem, proof) and proof.proof.checkable:
        findings.confirmed.append(f"{stated}, by {_named(proof)}")
    elif reprove is not None:
        _repeat(f"{stated}", plan.problem, highest_pressure(plan.problem), findings, reprove)
    elif proof and _excludes_all(plan.problem, proof) and proof.proof is Proof.SOLVERS:
        findings.by_solvers.append(f"{stated}, by {_named(proof)} (--reprove repeats it)")
    else:
        findings.unchecked.append(f"{stated} (--reprove repeats it)")


def _excludes_all(problem: Problem, proof: Certificate) -> bool:
    """Whether a bound rules out every placement, or every placement within the limits.

    A bound on ratios does so if it counts only targets that a placement must keep, and shows that
    one of them is missed.
    """
    if proof.proof in OF_RATIOS:
        return proof.binding and proof.bound > 1.0 + SLACK
    if isinf(proof.bound) and not proof.finite:
        return True
    return proof.bound > highest_pressure(problem)


def _named(proof: Certificate) -> str:
    """Name the kind of proof, with what is known of this one."""
    kind = PROOFS[proof.proof]
    if proof.proof is Proof.TREE:
        return f"{kind}: all {len(proof.tree):,} bytes of its tree were walked"
    if proof.proof is Proof.SEARCH and proof.nodes:
        return f"{kind} ({proof.nodes:,} nodes)"
    if proof.proof is Proof.ALONE:
        return f"{kind}: {proof.model!r}"
    return kind


def _check_placement(plan: Plan, findings: Findings) -> float:
    """Check the placement, its pressures and ratios; return what it minimises, as it is."""
    verdict = verify(plan.problem, plan.placement)
    findings.faults.extend(f"placement: {fault}" for fault in verdict.faults)
    if verdict.faults:
        return inf
    models, gpus = len(plan.problem.models) - len(plan.asleep), len(plan.problem.gpus)
    others = f"{len(plan.asleep)} asleep" if plan.asleep else "none left out"
    findings.confirmed.append(f"placement: {models} models on {gpus} GPUs, {others}, all fit")
    wrong = _wrong("pressures", plan.pressures, verdict.pressures, SAME)
    findings.faults.extend(wrong)
    if not wrong:
        worst = _worst_gpu(verdict.pressures)
        findings.confirmed.append(f"pressure: {verdict.pressure:.15g} on {worst}")
    wrong = _wrong("ratios", plan.ratios, verdict.ratios, SAME_RATIO)
    findings.faults.extend(wrong)
    if verdict.ratios and not wrong:
        worst = _worst_gpu(verdict.ratios)
        findings.confirmed.append(
            f"ratio: {verdict.ratio:.9g} on {worst}, the worst latency over its target"
        )
    return verdict.ratio if plan.problem.objective == "latency" else verdict.pressure


def _wrong(
    field: str, stated: Mapping[str, float], found: Mapping[str, float], tolerance: float
) -> list[str]:
    """Return the figures by GPU that are not as they are stated."""
    wrong = [
        f"{field}[{gpu!r}]: {stated.get(gpu)} is stated, it is {value}"
        for gpu, value in found.items()
        if not _same(stated.get(gpu), value, tolerance)
    ]
    if set(stated) - set(found):
        wrong.append(f"{field}: name GPUs that are not in the fleet")
    return wrong


def _worst_gpu(values: Mapping[str, float]) -> str:
    return max(values, key=values.__getitem__)


def _check_bound(plan: Plan, value: float, findings: Findings, reprove: float | None) -> None:
    """Check that no placement with the same models asleep can be below the bound."""
    proof = plan.certificate
    if proof is None:
        findings.confirmed.append("bound: none is stated")
        return
    awake = plan.problem.awake(frozenset(plan.asleep)) if plan.problem.sleepers else plan.problem
    if awake is None:
        findings.faults.append("bound: one is stated, though every model sleeps")
    elif (proof.proof in OF_RATIOS) != (plan.problem.objective == "latency"):
        findings.faults.append(
            f"bound: by {PROOFS[proof.proof]}, which is not about the {_minimised(plan.problem)}"
        )
    elif proof.bound > value:
        findings.faults.append(
            f"bound: {proof.bound:.15g} is above the plan's own {_minimised(plan.problem)}"
        )
    elif isinf(proof.bound) and not proof.finite:
        findings.faults.append("bound: says that there is no placement, though the plan has one")
    elif proof.bound == 0.0:
        findings.confirmed.append("bound: 0, which always holds")
    elif fault := refuted(awake, proof):
        findings.faults.append(f"bound: {fault}")
    elif proof.proof.checkable:
        findings.confirmed.append(f"{_stated_bound(proof)}, by {_named(proof)}")
    else:
        _check_by_search(awake, proof, findings, reprove)


def _minimised(problem: Problem) -> str:
    """Name what a placement minimises."""
    return "ratio" if problem.objective == "latency" else "pressure"


def _stated_bound(proof: Certificate) -> str:
    if isinf(proof.bound):
        what = "ratio" if proof.proof in OF_RATIOS else "pressure"
        return f"bound: no placement has a finite {what}"
    return f"bound: {proof.bound:.15g}"


def _check_by_search(
    awake: Problem, proof: Certificate, findings: Findings, reprove: float | None
) -> None:
    """Repeat a proof that cannot be checked, or list it as not checked."""
    stated = f"{_stated_bound(proof)}, by {_named(proof)}"
    if reprove is not None:
        target = min(proof.bound, LARGEST) * STRICTLY_BELOW
        _repeat(stated, awake, target, findings, reprove)
    elif proof.proof is Proof.SOLVERS:
        findings.by_solvers.append(f"{stated} (--reprove repeats it)")
    else:
        findings.unchecked.append(f"{stated} (--reprove repeats it)")


def _repeat(
    stated: str, problem: Problem, target: float, findings: Findings, seconds: float
) -> None:
    """Search for a placement that must not exist: one with no pressure above a target."""
    answer = _searched(problem, target, seconds)
    if answer.outcome.name == "NONE":
        findings.confirmed.append(f"{stated}, repeated by two solvers")
        return
    if answer.outcome.name == "FOUND":
        verdict = verify(problem, answer.placement)
        if verdict.valid and verdict.pressure <= target:
            findings.faults.append(
                f"{stated}: the solvers found a placement, of {verdict.pressure}"
            )
            return
    findings.faults.append(f"{stated}: the solvers proved nothing in {seconds:g} s")


def _searched(problem: Problem, target: float, seconds: float) -> "Agreement":
    from colocate.solver.deadline import Deadline  # noqa: PLC0415
    from colocate.solver.prove.solvers.two_solvers import search_all  # noqa: PLC0415

    return search_all(problem, target, Deadline(seconds), WORKERS)


def _check_status(plan: Plan, findings: Findings) -> None:
    """Check that the status follows from the gap; it is only as certain as its bound."""
    optimal = plan.proven
    expected = Status.OPTIMAL if optimal else Status.FEASIBLE
    if plan.status is not expected:
        findings.faults.append(
            f"status: {plan.status} is stated, a gap of {plan.gap} is {expected}"
        )
    elif optimal and not findings.faults:
        sure = findings.unchecked or findings.by_solvers or findings.confirmed
        sure.append(f"status: OPTIMAL, no placement has a lower {_minimised(plan.problem)}")


def _check_levels(plan: Plan, findings: Findings, reprove: float | None) -> None:
    """Check that the levels are the pressures of the plan, and the bound on each of them."""
    if fault := fault_of_levels(plan.levels, plan.pressures, plan.bound):
        findings.faults.append(f"levels: {fault}")
        return
    awake = plan.problem.awake(frozenset(plan.asleep)) if plan.problem.sleepers else plan.problem
    if awake is None:
        return
    awake = replace(awake, most_pressure=None)
    found = list(check_levels(awake, plan.levels))
    faults = [
        f"levels[{number}]: {finding.fault}"
        for number, finding in enumerate(found, start=1)
        if finding.fault is not None
    ]
    stated = f"levels: {plan.levels_proven} of {len(plan.levels)} proven"
    findings.faults.extend(faults)
    if faults:
        return
    unsure = [proof.certificate for finding in found for proof in finding.uncheckable]
    unknown = [proof for proof in unsure if proof.proof is not Proof.SOLVERS]
    if not unsure:
        findings.confirmed.append(f"{stated}, each given the levels above it")
    elif reprove is None:
        told = f"{stated}, some by {_named((unknown or unsure)[0])} (--reprove repeats it)"
        (findings.unchecked if unknown else findings.by_solvers).append(told)
    else:
        _repeat_levels(stated, awake, plan, findings, reprove)


def _repeat_levels(
    stated: str, awake: Problem, plan: Plan, findings: Findings, seconds: float
) -> None:
    """Repeat the proofs of levels that cannot be checked."""
    ceilings = [level.ceiling for level in plan.levels]
    for number, level in enumerate(plan.levels):
        for proof in level.proofs:
            if proof.certificate.proof.checkable:
                continue
            held = dict(zip(proof.holders, ceilings[:number], strict=True))
            target = min(proof.certificate.bound, LARGEST) * STRICTLY_BELOW
            problem = stated_again(awake, held, proof)
            _repeat(f"{stated}, level {number + 1}", problem, target, findings, seconds)


def _check_lost(plan: Plan, findings: Findings, reprove: float | None) -> None:
    """Check what the plan loses to sleepers, and its claim that no choice loses less."""
    if not 0.0 <= plan.lost_bound <= plan.lost * (1 + SAME):
        findings.faults.append(
            f"lost_bound: {plan.lost_bound:.15g} is not between 0 and "
            f"{plan.lost:.15g}, which the plan itself loses"
        )
        return
    if not plan.problem.sleepers:
        return
    stated = f"lost: {plan.lost:.6g} by {len(plan.asleep)} asleep"
    claim = f"{stated}, at least {plan.lost_bound:.6g} for any choice"
    if plan.lost == 0.0:
        findings.confirmed.append("lost: nothing")
    elif plan.lost_bound == 0.0:
        findings.confirmed.append(f"{stated}, not proven to be the least")
    elif Fraction(plan.lost_bound) <= least_lost(plan.problem):
        findings.confirmed.append(f"{claim}, by volume")
    elif reprove is None:
        findings.by_solvers.append(f"{claim}, by two solvers, not checkable (--reprove repeats it)")
    else:
        answer = _searched(plan.problem, highest_pressure(plan.problem), reprove)
        if answer.cost_bound >= plan.lost_bound * (1.0 - SAME_LOSS):
            findings.confirmed.append(f"{claim}, repeated by two solvers")
        else:
            findings.faults.append(f"{claim}: the solvers prove only {answer.cost_bound:.6g}")


def _same(stated: float | None, found: float, tolerance: float) -> bool:
    if stated is None or isinf(found):
        return stated == found
    return abs(stated - found) <= tolerance * found
