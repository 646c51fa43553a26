"""What a solve by latency calls is compiled before its time counts."""

import pytest

from colocate import solve
from colocate.machine_code.arguments import kind_of
from colocate.machine_code.entry import EntryKernel
from colocate.solver.warm_up import (
    _warm_up_for_few,
    _warm_up_for_latency,
    _warm_up_for_many,
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


@pytest.mark.parametrize("size", [(12, 4), (40, 8)], ids=["groups", "knapsacks"])
def test_a_solve_calls_only_what_was_warmed_up(called, size):
    _warm_up_for_few.__wrapped__()
    _warm_up_for_many.__wrapped__()
    _warm_up_for_latency.__wrapped__()
    warm = set(called)
    called.clear()
    assert solve(slowing_fleet(*size), time_limit=2.0).certificate is not None
    assert {name for name, _ in called - warm} == set()
