"""The time that a search by latency keeps for the checker is measured, not guessed."""

from dataclasses import replace
from time import perf_counter, sleep

import pytest

from colocate import solve, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency import group_weights, ratio_bound
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.deadline import Deadline
from colocate.solver.latency import checking, progress, search
from colocate.solver.latency.bounding import bound_of, raise_bound
from colocate.solver.prove.latency import bounds
from tests.latency_fleets import latency_fleet
from tests.latency_problems import slowing_fleet

A_PART = 0.02
"""Seconds that a slow checker takes for each part that is placed."""
A_PROOF = 2.0
"""Seconds that a slow checker takes for each proof by groups."""


@pytest.fixture
def slow_checker(monkeypatch):
    """Let every check of latencies, and the last one of a plan, take its time."""
    asked = []

    def felt_latencies(problem, placement):
        asked.append(sum(len(gpus) for gpus in placement.values()))
        sleep(A_PART * asked[-1])

    def slowly(problem, placement):
        felt_latencies(problem, placement)
        return verify(problem, placement)

    monkeypatch.setattr(checking, "felt_latencies", felt_latencies)
    monkeypatch.setattr(search, "verify", slowly)
    return asked


@pytest.mark.parametrize(("gpus", "most"), [(4, 100), (16, 100), (64, 40), (256, 20)])
def test_some_gpus_tell_how_long_all_of_them_take(slow_checker, gpus, most):
    problem = latency_fleet(100, gpus)
    placement = {m.name: (f"g{n % gpus}",) for n, m in enumerate(problem.models)}
    kept = checking.timed_checking(problem, placement)
    assert slow_checker[0] <= most
    assert kept == pytest.approx(checking.RISES * A_PART * 100, rel=0.3)


def test_a_search_ends_by_the_time_that_its_check_takes(monkeypatch):
    problem = latency_fleet(6, 2)
    found = progress.LatencyProgress(reduction_of(problem), SolveBudget(Deadline(600.0)), 4.0)
    monkeypatch.setattr(progress, "timed_checking", lambda *_: 25.0)
    found.time_check()
    assert found.to_check == 4.0  # there is no placement to learn from
    search.improve(found, 0, {}, 1)
    left = found.deadline.left
    found.time_check()
    assert found.to_check == 25.0
    assert found.deadline.left == pytest.approx(left - 21.0, abs=1.0)


def test_a_plan_whose_check_takes_long_keeps_to_its_time(slow_checker):
    problem = latency_fleet(100, 30, seed=1)
    solve(problem, time_limit=1)  # compiles what is not compiled
    start = perf_counter()
    assert solve(problem, time_limit=4).placement
    assert perf_counter() - start < 5.0
    assert A_PART * slow_checker[-1] == pytest.approx(2.0)


def test_the_first_steps_of_a_search_leave_time_for_the_check(slow_checker):
    problem = latency_fleet(100, 30, seed=1)
    start = {model.name: (f"g{number % 30}",) for number, model in enumerate(problem.models)}
    some = {**start, "m0": ()}
    for places, least in ((start, 2.0), (some, 0.0)):
        found = search.keeping_time_to_check(
            reduction_of(problem), SolveBudget(Deadline(60.0)), places
        )
        assert found.to_check > least
        assert found.deadline.left == pytest.approx(54.0 - found.to_check, abs=3.0)
    assert len(slow_checker) == 1  # a start that is not complete tells nothing


@pytest.fixture
def slow_proofs(monkeypatch):
    """Let every check of a proof by groups take its time, unless it is told to end."""
    checked = []

    def overweight(companies, multipliers, carried, go=None):
        begun = perf_counter()
        while perf_counter() < begun + A_PROOF:
            if go is not None and not go[0]:
                return group_weights.TOO_LONG
            sleep(0.01)
        checked.append(perf_counter() - begun)
        return group_weights.overweight(companies, multipliers, carried)

    monkeypatch.setattr(ratio_bound, "overweight", overweight)
    monkeypatch.setattr(bounds, "overweight", overweight, raising=False)
    return checked


def test_a_search_keeps_the_time_that_the_check_of_its_proof_takes(slow_proofs):
    problem = slowing_fleet(8, 3)
    found = progress.LatencyProgress(reduction_of(problem), SolveBudget(Deadline(60.0)))
    search.improve(found, 0, {}, 1)
    raise_bound(found)
    assert found.certificate.proof is Proof.GROUPS
    assert found.checking >= A_PROOF
    assert found.seconds_left < found.deadline.left - A_PROOF + 0.1


def test_a_bound_for_all_numbers_of_replicas_knows_how_long_its_check_takes(slow_proofs):
    fixed = slowing_fleet(8, 3)
    models = [model.changed(most_replicas=2) for model in fixed.models]
    problem = replace(fixed, models=tuple(models))
    value = solve(fixed, time_limit=1).value
    certificate, seconds = bound_of(problem, Deadline(20.0), value)
    assert certificate.proof is Proof.GROUPS
    assert seconds >= A_PROOF


def test_proofs_whose_check_would_take_too_long_are_left_out(slow_proofs):
    problem = slowing_fleet(9, 3)
    found = list(bounds.RatioBounds(problem, Deadline(1.0)).towards(10.0))
    assert [each.proof for each in found] == [Proof.ALONE]
    assert not slow_proofs


def test_a_placement_is_not_smoothed_once_targets_are_known_to_break(monkeypatch):
    problem = slowing_fleet(9, 1)
    found = progress.LatencyProgress(reduction_of(problem), SolveBudget(Deadline(60.0)))
    search.improve(found, 0, {}, 1)
    assert len(found.best)
    found.hopeless = Certificate(Proof.ALONE, 2.0, model="m0", binding=True)
    monkeypatch.delattr(search.LatencySearch, "finish")
    search.smooth(found, SolveBudget(Deadline(60.0)))
