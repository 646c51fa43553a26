"""What a solve by latency calls is compiled before its time counts."""

from dataclasses import replace

import pytest

from colocate import solve
from colocate.machine_code.arguments import kind_of
from colocate.machine_code.entry import EntryKernel
from colocate.solver.warm_up import (
    _warm_up_for_few,
    _warm_up_for_latency,
    _warm_up_for_many,
    _warm_up_for_sleepers,
)
from tests.latency_problems import slowing_fleet


@pytest.fixture
def called(monkeypatch):
    """The kernels that are called, with the kinds of their arguments."""
    found = set()
    run = EntryKernel.__call__

    def noted(kernel, *arguments):
        found.add((kernel.py_func.__name__, tuple(map(kind_of, arguments))))
        return run(kernel, *arguments)

    monkeypatch.setattr(EntryKernel, "__call__", noted)
    return found


def changed(problem, **fields):
    return replace(problem, models=tuple(m.changed(**fields) for m in problem.models))


@pytest.mark.parametrize(
    "problem",
    [
        slowing_fleet(12, 4),
        slowing_fleet(40, 8),
        changed(slowing_fleet(12, 2), sleep_cost=1.0),
        changed(slowing_fleet(8, 4), most_replicas=3),
    ],
    ids=["groups", "knapsacks", "sleepers", "replicas"],
)
def test_a_solve_calls_only_what_was_warmed_up(called, problem):
    _warm_up_for_few.__wrapped__()
    _warm_up_for_many.__wrapped__()
    _warm_up_for_latency.__wrapped__()
    if problem.sleepers:
        _warm_up_for_sleepers.__wrapped__()
    warm = set(called)
    called.clear()
    solve(problem, time_limit=2.0)
    assert {name for name, _ in called - warm} == set()
