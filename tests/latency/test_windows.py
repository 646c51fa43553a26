"""Latency over time windows: the law, the search, the proofs and the checker know all of them."""

import json
from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, Status, solve, verify
from colocate.latency.prediction import predict_placement
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.group_search import density_order, heaviest_groups
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.checker.latency.placed import felt_latencies
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify_bound import refuted
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.bounds import RatioBounds, keeps_no_target, latency_bounds
from tests.campaign import batches
from tests.latency_problems import all_placements
from tests.windowed_problems import (
    best_windowed_ratio,
    noisy_problem,
    ratios_by_windows,
    windowed_problem,
)

BATCH = 20
"""Problems in a batch."""
ROUNDED = 1.0 + 1e-9
ENGINE = EngineSpeed(0.005, 1e-5, 0.01, 0.008, 32)


def seeds(batch):
    return range(BATCH * batch, BATCH * (batch + 1))


def asked(*rates, tpot=0.02):
    return Requests(max(rates), 100.0, (("H", ENGINE),), tpot_slo=tpot, rates=rates)


def day_and_night(objective="latency"):
    """Two GPUs, two models that are busy by day and two by night."""
    rates = {"day-1": (0.0, 6.0), "day-2": (0.0, 5.0), "night-1": (6.0, 0.0), "night-2": (5.0, 0.0)}
    models = tuple(
        Model(name, 10, load=[r / 10 for r in each], requests=asked(*each))
        for name, each in rates.items()
    )
    gpus = (Gpu("g0", 80, "H"), Gpu("g1", 80, "H"))
    return Problem(gpus, models, objective=objective)


def test_models_that_peak_apart_share_a_gpu():
    plan = solve(day_and_night(), time_limit=2)
    assert plan.status is Status.OPTIMAL
    for gpu in ("g0", "g1"):
        names = [name for name, gpus in plan.placement.items() if gpu in gpus]
        assert {name.split("-")[0] for name in names} == {"day", "night"}


def test_a_prediction_is_that_of_the_worst_window():
    problem = day_and_night()
    both = {"day-1": ["g0"], "night-1": ["g0"], "day-2": ["g1"], "night-2": ["g1"]}
    found = {each.model: each for each in predict_placement(problem, both)}
    assert [found[name].window for name in ("day-1", "night-1")] == [1, 0]
    assert found["day-1"].requests.rate == 6.0
    assert found["day-1"].requests.rates == ()
    # Where it is asked a little at night too, the busy neighbour is felt most then.
    little = problem.models[0].changed(requests=asked(0.1, 6.0))
    beside = predict_placement(replace(problem, models=(little, *problem.models[1:])), both)
    assert beside[0].window == 0
    assert beside[0].shared.ratio > found["day-1"].shared.ratio


def test_nobody_feels_the_latency_of_a_model_that_is_not_asked():
    problem = day_and_night()
    both = {"day-1": ["g0"], "night-1": ["g0"], "day-2": ["g1"], "night-2": ["g1"]}
    alone = {each.model: each.alone for each in predict_placement(problem, both)}
    shared = {each.model: each.shared for each in predict_placement(problem, both)}
    assert shared["day-1"].ratio == pytest.approx(alone["day-1"].ratio)


@pytest.mark.parametrize("batch", batches(100, 3))
def test_law_and_checker_know_the_worst_window(batch):
    for seed in seeds(batch):
        problem = windowed_problem(seed)
        placements = list(all_placements(problem))
        for placement in Random(seed).sample(placements, min(len(placements), 3)):
            one_by_one = ratios_by_windows(problem, placement)
            law = [each.shared.ratio for each in predict_placement(problem, placement)]
            assert law == pytest.approx(one_by_one, rel=1e-9), seed
            checked = [each.ratio for each in felt_latencies(problem, placement)]
            assert checked == pytest.approx(law, rel=1e-6), seed


@pytest.mark.parametrize("batch", batches(100, 3))
def test_no_bound_is_above_a_ratio_that_some_placement_reaches_in_all_windows(batch):
    for seed in seeds(batch):
        problem = windowed_problem(seed)
        best = best_windowed_ratio(problem)
        for certificate in latency_bounds(problem, Deadline(5), best):
            assert certificate.bound <= best * ROUNDED, seed
            assert refuted(problem, certificate) is None, seed
            again = Certificate.from_dict(json.loads(json.dumps(certificate.as_dict())))
            assert again == certificate


@pytest.mark.parametrize("batch", batches(60, 2))
def test_plans_over_windows_are_the_best_there_are(batch):
    unproven = 0
    for seed in seeds(batch):
        problem = windowed_problem(seed, plain=True)
        wishes = tuple(
            m.changed(requests=replace(m.requests, binding=False)) for m in problem.models
        )
        problem = replace(problem, models=wishes)
        best = best_windowed_ratio(problem)
        plan = solve(problem, time_limit=1)
        if best == inf:
            continue
        assert plan.ratio == pytest.approx(best, rel=1e-6), seed
        assert plan.bound <= best * ROUNDED
        assert verify(problem, plan.placement).valid
        assert plan.certificate is None or refuted(problem, plan.certificate) is None
        unproven += best > 0.0 and plan.status is not Status.OPTIMAL
    assert unproven <= BATCH // 5


@pytest.mark.parametrize("batch", batches(60, 2))
def test_targets_over_windows_are_hopeless_only_where_they_are(batch):
    for seed in seeds(batch):
        problem = windowed_problem(seed)
        certificate = keeps_no_target(problem, Deadline(5))
        if certificate is not None:
            assert best_windowed_ratio(problem, binding=True) > 1.0, seed
            assert refuted(problem, certificate) is None, seed


def test_a_proof_about_a_window_that_is_not_there_is_refused():
    problem = day_and_night()
    for certificate in latency_bounds(problem, Deadline(5), solve(problem).ratio):
        forged = replace(certificate, window=2)
        if certificate.proof.value in ("groups", "cover"):
            assert "is not one of the 2" in refuted(problem, forged)
            raised = replace(certificate, bound=certificate.bound * 10)
            assert refuted(problem, raised) is not None


def test_targets_hold_in_every_window():
    problem = day_and_night("pressure")
    plan = solve(problem, time_limit=2)
    assert plan.placement
    split = {"day-1": ["g0"], "day-2": ["g0"], "night-1": ["g1"], "night-2": ["g1"]}
    tight = tuple(m.changed(requests=replace(m.requests, tpot_slo=0.0115)) for m in problem.models)
    verdict = verify(replace(problem, models=tight), split)
    assert not verdict.valid
    assert solve(replace(problem, models=tight), time_limit=2).placement


@pytest.mark.parametrize("batch", batches(60, 2))
def test_the_checker_passes_over_no_window_that_is_the_worst(batch):
    for seed in seeds(batch):
        problem = noisy_problem(seed)
        placements = list(all_placements(problem))
        for placement in Random(seed).sample(placements, min(len(placements), 2)):
            one_by_one = ratios_by_windows(problem, placement)
            checked = [each.ratio for each in felt_latencies(problem, placement)]
            assert checked == pytest.approx(one_by_one, rel=1e-6), seed


@pytest.mark.parametrize("batch", batches(60, 2))
def test_no_bound_is_above_a_reachable_ratio_where_every_hour_has_noise(batch):
    by_groups = 0
    for seed in seeds(batch):
        problem = noisy_problem(seed)
        best = best_windowed_ratio(problem)
        for certificate in latency_bounds(problem, Deadline(5), best):
            assert certificate.bound <= best * ROUNDED, seed
            assert refuted(problem, certificate) is None, seed
            by_groups += certificate.proof in (Proof.GROUPS, Proof.COVER)
    assert by_groups > BATCH // 4


@pytest.mark.parametrize("batch", batches(60, 2))
def test_a_group_is_possible_only_where_it_is_so_in_every_window(batch):
    """What a search remembers of earlier groups, and which windows it passes over, changes nothing.

    Delays come closer to their limits from below, in steps that depend on where they begin, so
    close calls may differ: few do.
    """
    differ = total = 0
    for seed in seeds(batch):
        problem = noisy_problem(seed, hours=30)
        choices, draw = choices_of(problem), Random(seed)
        ratio = draw.choice([0.3, 0.6, 1.0, 2.0])
        for number in range(len(companies_of(problem, choices, ratio, False, 0))):
            company = companies_of(problem, choices, ratio, False, 0)[number]
            remembering = empty_search(company)
            for _ in range(20):
                size = draw.randint(1, min(4, max(len(company.choice), 1)))
                if len(company.choice) < size:
                    continue
                items = np.array(draw.sample(range(len(company.choice)), size))
                in_all = group_is_possible(company, remembering, items)
                one_by_one = all(
                    _possible_in(problem, choices, ratio, window, number, company.choice[items])
                    for window in range(problem.windows)
                )
                assert in_all or not one_by_one, seed
                differ += in_all != one_by_one
                total += 1
    assert total > BATCH * 10
    assert differ <= total // 100


def _possible_in(problem, choices, ratio, window, number, wanted):
    """Whether choices may share a GPU in one window, by tables and a search that begin anew."""
    company = companies_of(problem, choices, ratio, False, window)[number]
    if not np.isin(wanted, company.choice).all():
        return False
    alone = company._replace(others=np.zeros((0, len(company.engine))))
    return group_is_possible(alone, empty_search(alone), np.searchsorted(alone.choice, wanted))


def twins(pairs, hours):
    """Models of two sizes, two for each GPU, whose hours have noise of their own."""
    draw = Random(7)
    models = []
    for number in range(2 * pairs):
        engine = EngineSpeed(0.004 + 0.004 * (number % 2), 1e-5, 0.01, 0.008, 32)
        rates = tuple(draw.uniform(0.5, 1.5) for _ in range(hours))
        requests = Requests(max(rates), 100.0, (("H", engine),), tpot_slo=0.05, rates=rates)
        models.append(Model(f"m{number}", 10, load=1, requests=requests))
    gpus = tuple(Gpu(f"g{number}", 80, "H") for number in range(pairs))
    return Problem(gpus, tuple(models), objective="latency", most_models=2)


def test_groups_of_a_large_fleet_are_known_in_all_windows():
    """One window alone proves less: in each, most models have less to do than at their peaks."""
    problem = twins(pairs=33, hours=30)
    value = solve(problem, time_limit=2).ratio
    proof = RatioBounds(problem, Deadline(60)).at(value * 0.97)
    assert proof is not None
    assert refuted(problem, proof) is None
    singles = [problem.in_window(window) for window in range(problem.windows)]
    knows_one = RatioBounds(singles[proof.window], Deadline(60)).at(value * 0.97)
    assert knows_one is None


def test_a_search_over_groups_ends_when_it_is_told_to():
    problem = twins(pairs=33, hours=30)
    (company,) = companies_of(problem, choices_of(problem), 0.3, False, 0)
    weight = np.ones(len(company.choice))
    order = density_order(company, weight)
    for go, ends in ((1, True), (0, False)):
        search = empty_search(company, np.array([go]))
        *_, complete = heaviest_groups(
            company, search, weight, order, 0.0, False, 0.5, 10**6, 10**6
        )
        assert complete is ends


@pytest.mark.parametrize("batch", batches(60, 1))
def test_no_forged_proof_over_windows_is_believed(batch):
    refused = 0
    for seed in seeds(batch):
        draw = Random(seed)
        problem = windowed_problem(seed, plain=True)
        best = best_windowed_ratio(problem)
        if not 0.0 < best < inf:
            continue
        for certificate in latency_bounds(problem, Deadline(1), best):
            for _ in range(4):
                multipliers = [draw.choice([m, 0, m + 1, 7]) for m in certificate.multipliers]
                forged = replace(
                    certificate,
                    bound=best * draw.choice([1.0 + 1e-6, 1.01, 2.0, 1e6]),
                    window=draw.randrange(problem.windows),
                    multipliers=draw.choice([certificate.multipliers, tuple(multipliers)]),
                    carried=tuple(draw.choice([c, 0, c // 2]) for c in certificate.carried),
                    binding=False,
                )
                assert refuted(problem, forged) is not None, (seed, forged)
                refused += 1
    assert refused > BATCH
