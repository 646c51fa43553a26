"""Raises the bound beside a search by latency, and proves that targets cannot be kept."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import isinf

from colocate.problem.certificate import Certificate
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.solver.deadline import Deadline
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.prove.latency.bounds import RatioBounds, keeps_no_target


def raise_bound(progress: LatencyProgress) -> None:
    """Raise the bound until the search is finished, or nothing more can be proven.

    Where no placement is known yet, look for a proof that no placement keeps all targets.
    """
    problem, deadline = progress.problem, progress.deadline
    if not progress.found and problem.limits_latency:
        progress.hopeless = keeps_no_target(problem, deadline)
        if progress.hopeless is not None:
            return
    if problem.objective == "pressure":
        return
    bounds = RatioBounds(problem, deadline)
    value = None
    while not progress.finished and (value is None or lower(progress.value, value)):
        value = progress.value
        for certificate in bounds.towards(value):
            progress.prove(certificate, bounds.checking)
            if progress.finished or lower(progress.value, value):
                break


@contextmanager
def bounding(progress: LatencyProgress, workers: int) -> Iterator[None]:
    """Raise the bound beside what is done inside, or after it if there is only one worker.

    Parameters
    ----------
    progress
        The search, which may end early once the bound is high enough.
    workers
        How many threads there may be.
    """
    if workers < 2:
        yield
        raise_bound(progress)
        return
    with ThreadPoolExecutor(1) as pool:
        raising = pool.submit(raise_bound, progress)
        yield
        raising.result()


def bound_of(
    problem: Problem, deadline: Deadline, value: float
) -> tuple[Certificate | None, float]:
    """Return the best bound on the ratio that is found in time, or a proof that targets break.

    The second number is how many seconds the checker takes for a bound.

    Parameters
    ----------
    problem
        The problem of the models that are awake; their numbers of replicas may be open.
    deadline
        When to end.
    value
        The best ratio known; infinite if no placement keeps all targets as far as known.
    """
    if isinf(value):
        return keeps_no_target(problem, deadline), 0.0
    if problem.objective == "pressure":
        return None, 0.0
    best, bounds = None, RatioBounds(problem, deadline)
    for best in bounds.towards(value):
        if best.bound >= value or deadline.over:
            break
    return best, bounds.checking
