"""Models that nobody asks in some time windows: proofs know their targets in the others."""

from random import Random

import pytest

from colocate import Gpu, Model, Problem, Status, solve
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify_bound import refuted
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.bounds import busiest_window, latency_bound, latency_bounds
from tests.campaign import batches
from tests.windowed_problems import best_windowed_ratio

BATCH = 20
"""Fleets in a batch."""
ROUNDED = 1.0 + 1e-9
ENGINE = EngineSpeed(6e-3, 1e-4, 2e-2, 2e-2, 32)


def model(name, rates, tpot):
    asked = Requests(max(rates), 128.0, (("A", ENGINE),), tpot, binding=False, rates=tuple(rates))
    load = [0.1 * rate for rate in rates]
    return Model(name, 10.0, load=load, uses={"busy": 0.0}, least_cache_gb=0.0, requests=asked)


def fleet(models, gpus=2):
    row = tuple(Gpu(f"g{number}", 80.0, "A") for number in range(gpus))
    return Problem(row, tuple(models), objective="latency")


def strict_at_night():
    """Four models by day, when most is asked, and three by night with much stricter targets."""
    by_day = [model(f"day-{n}", [6.0, 0.0], 0.2) for n in range(4)]
    by_night = [model(f"night-{n}", [0.0, 6.0], 0.02) for n in range(3)]
    return fleet([*by_day, *by_night])


def random_fleet(seed):
    """A few models, each busy in one window or in several."""
    draw = Random(seed)
    windows = draw.choice([2, 2, 3])
    models = []
    for number in range(draw.randint(3, 6)):
        peak, busy = draw.uniform(0.5, 6.0), draw.randrange(windows)
        others = draw.choice([0.0, 0.0, 0.0, 0.3])
        rates = [peak if window == busy else others * peak for window in range(windows)]
        if draw.random() < 0.1:
            rates = [0.0] * windows
        models.append(model(f"m{number}", rates, draw.choice([0.02, 0.05, 0.2])))
    return fleet(models)


def test_a_fleet_whose_strict_models_are_idle_in_the_busiest_window_is_proven():
    problem = strict_at_night()
    assert busiest_window(problem) == 0
    plan = solve(problem, time_limit=5)
    assert plan.status is Status.OPTIMAL
    assert plan.ratio == pytest.approx(best_windowed_ratio(problem))


def test_a_group_that_breaks_targets_by_night_is_impossible_in_tables_of_the_day():
    problem = strict_at_night()
    choices = choices_of(problem)
    for window in (0, 1):
        (company,) = companies_of(problem, choices, 1.0, False, window)
        by_night, by_day = company.choice[-3:], company.choice[:2]
        assert not group_is_possible(company, empty_search(company), by_night)
        assert group_is_possible(company, empty_search(company), by_day)


def test_models_that_are_never_asked_have_targets_in_all_windows():
    quiet = [model(f"m{number}", [0.0, 0.0], 0.01) for number in range(2)]
    busy = [model(f"n{number}", [0.1, 6.0], 2.0) for number in range(2)]
    problem = fleet([*quiet, *busy])
    best = best_windowed_ratio(problem)
    assert latency_bound(problem, Deadline(5), best).bound == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("batch", batches(60, 3))
def test_bounds_over_days_and_nights_are_exact(batch):
    missed = tried = 0
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        problem = random_fleet(seed)
        best = best_windowed_ratio(problem)
        highest = 0.0
        for certificate in latency_bounds(problem, Deadline(5), best):
            assert certificate.bound <= best * ROUNDED, seed
            assert refuted(problem, certificate) is None, seed
            highest = certificate.bound
        tried += best > 0.0
        missed += highest < best * (1.0 - 3e-9)
    assert tried > BATCH // 2
    assert missed <= tried // 10
