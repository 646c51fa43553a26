"""`check_plan` on plans by latency: every claim is confirmed, and forged ones are not."""

import json
from dataclasses import replace

import pytest

from colocate import Status, solve
from colocate.problem.certificate import Certificate, Proof
from colocate.solver.check import check_plan
from colocate.solver.plan import Plan
from tests.latency_problems import slowing_fleet


def checked(plan):
    return check_plan(plan.problem, json.loads(json.dumps(plan.as_dict())))


@pytest.fixture(scope="module")
def plan():
    return solve(slowing_fleet(6, 2), time_limit=5)


def test_every_claim_of_a_plan_by_latency_is_confirmed(plan):
    findings = checked(plan)
    assert plan.status is Status.OPTIMAL
    assert findings.all_confirmed, findings
    assert any(line.startswith("ratio: ") for line in findings.confirmed)
    assert any("no placement has a lower ratio" in line for line in findings.confirmed)


def test_forged_ratios_bounds_and_proofs_are_faults(plan):
    gpu = next(iter(plan.ratios))
    swapped = Certificate(Proof.MODEL, 1e-9, model="m0")
    for forged in (
        replace(plan, ratios={**plan.ratios, gpu: plan.ratios[gpu] * 0.99}),
        replace(plan, ratios={}),
        replace(plan, certificate=replace(plan.certificate, bound=plan.ratio * 1.01)),
        replace(plan, certificate=swapped, status=Status.FEASIBLE),
    ):
        assert checked(forged).faults


def test_a_proof_about_ratios_does_not_pass_as_one_about_pressure(plan):
    calm = replace(plan.problem, objective="pressure")
    other = solve(calm, time_limit=3)
    assert checked(other).all_confirmed
    low = Certificate(Proof.ALONE, 1e-9, model="m0")
    assert checked(replace(other, certificate=low, status=Status.FEASIBLE)).faults


def test_targets_that_cannot_be_kept_are_confirmed_and_wishes_are_not():
    crowded = slowing_fleet(9, 1)
    plan = solve(crowded, time_limit=5)
    assert plan.status is Status.INFEASIBLE
    assert plan.certificate.binding
    assert checked(plan).all_confirmed
    counted = replace(plan, certificate=replace(plan.certificate, binding=False))
    assert not checked(counted).all_confirmed
    wishes = [m.changed(requests=replace(m.requests, binding=False)) for m in crowded.models]
    relaxed = replace(crowded, models=tuple(wishes))
    claimed = Plan(relaxed, Status.INFEASIBLE, reason="x", certificate=plan.certificate)
    assert checked(claimed).faults
