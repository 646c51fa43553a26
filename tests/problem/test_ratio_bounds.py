"""Bounds on the worst ratio: never above what brute force reaches, and confirmed by the checker."""

import json
from dataclasses import replace
from math import inf, isfinite, nan
from random import Random

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, solve, verify
from colocate.errors import InputError
from colocate.latency.prediction import predict_placement, ratios_of
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.cover import cover_exists
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.checker.latency.placed import felt_latencies
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify_bound import refuted
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.bounds import (
    RatioBounds,
    keeps_no_target,
    latency_bound,
    latency_bounds,
)
from tests.campaign import batches
from tests.latency_fleets import latency_fleet
from tests.latency_problems import (
    all_placements,
    best_ratio,
    random_problem,
    slowing_fleet,
)

BATCH = 25
"""Problems in a batch."""
ROUNDED = 1.0 + 1e-9


def seeds(batch):
    return range(BATCH * batch, BATCH * (batch + 1))


@pytest.mark.parametrize("batch", batches(80, 4))
def test_the_checker_and_the_law_agree(batch):
    far = 0
    for seed in seeds(batch):
        problem = random_problem(seed)
        placements = list(all_placements(problem))
        for placement in Random(seed).sample(placements, min(len(placements), 5)):
            law = [each.shared.ratio for each in predict_placement(problem, placement)]
            checked = [each.ratio for each in felt_latencies(problem, placement)]
            assert checked == pytest.approx(law, rel=1e-6)
            far += checked != pytest.approx(law, rel=1e-9)
    assert far <= 2  # close to saturation, where the law ends its iteration a little early


@pytest.mark.parametrize("batch", batches(80, 4))
def test_no_bound_is_above_a_reachable_ratio(batch):
    for seed in seeds(batch):
        problem = random_problem(seed)
        best = best_ratio(problem)
        for certificate in latency_bounds(problem, Deadline(5), best):
            assert certificate.bound <= best * ROUNDED, seed
            assert refuted(problem, certificate) is None, seed
            assert Certificate.from_dict(json.loads(json.dumps(certificate.as_dict()))) == (
                certificate
            )


@pytest.mark.parametrize("batch", batches(40, 4))
def test_bounds_of_small_problems_without_rules_are_exact(batch):
    missed = 0
    for seed in seeds(batch):
        problem = random_problem(seed, plain=True)
        best = best_ratio(problem)
        if 0.0 < best < inf:
            certificate = latency_bound(problem, Deadline(5), best)
            missed += certificate is None or certificate.bound < best * (1.0 - 3e-9)
    assert missed <= 1


@pytest.mark.parametrize("batch", batches(80, 4))
def test_targets_are_called_hopeless_only_where_they_are(batch):
    for seed in seeds(batch):
        problem = random_problem(seed)
        certificate = keeps_no_target(problem, Deadline(5))
        if certificate is not None:
            assert best_ratio(problem, binding=True) > 1.0, seed
            assert refuted(problem, certificate) is None, seed


def test_targets_that_need_not_be_kept_prove_nothing_infeasible():
    problem = slowing_fleet(9, 1)
    assert keeps_no_target(problem, Deadline(5)) is not None
    wishes = [m.changed(requests=replace(m.requests, binding=False)) for m in problem.models]
    assert keeps_no_target(replace(problem, models=tuple(wishes)), Deadline(5)) is None


@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_a_group_that_is_impossible_stays_so_with_more_models(sharing):
    problem = slowing_fleet(8, 3, sharing)
    choices = choices_of(problem)
    draw = Random(3)
    for ratio in (0.3, 0.6, 1.0):
        (company,) = companies_of(problem, choices, ratio, False)
        for _ in range(200):
            items = draw.sample(range(len(company.choice)), draw.randint(2, len(company.choice)))
            group, fewer = np.array(items), np.array(items[:-1])
            if group_is_possible(company, empty_search(company), group):
                assert group_is_possible(company, empty_search(company), fewer)


def test_verify_states_ratios_and_names_broken_targets():
    problem = slowing_fleet(6, 2)
    spread = {f"m{n}": (f"g{n % 2}",) for n in range(6)}
    verdict = verify(problem, spread)
    assert verdict.valid
    law = ratios_of(predict_placement(problem, spread), {"g0": 0, "g1": 0})
    assert dict(verdict.ratios) == pytest.approx(law)
    assert verdict.ratio == max(verdict.ratios.values())
    strict = [
        m.changed(requests=replace(m.requests, tpot_slo=1e-3 * (3 + (n == 0) * 1e3)))
        for n, m in enumerate(problem.models)
    ]
    broken = verify(replace(problem, models=tuple(strict)), spread)
    assert not broken.valid
    assert broken.ratios == {}
    assert any("model 'm1' on g1 has a TPOT of" in f and "3 ms at most" in f for f in broken.faults)
    assert not any("'m0'" in fault for fault in broken.faults)


@pytest.fixture(scope="module")
def proven():
    problem = slowing_fleet()
    best = best_ratio(problem)
    return problem, best, latency_bound(problem, Deadline(20), best)


def test_a_proof_over_groups_reaches_the_best_ratio(proven):
    problem, best, certificate = proven
    assert certificate.proof in (Proof.GROUPS, Proof.COVER)
    assert best * (1.0 - 3e-9) <= certificate.bound <= best
    assert refuted(problem, certificate) is None


def forged(proven):
    """Yield certificates that claim too much, or are none."""
    _, best, true = proven
    many = true.multipliers
    yield "raised", replace(true, bound=best * 1.001)
    yield "raised far", replace(true, bound=best * 10)
    yield "lower claims", replace(true, carried=tuple(c // 2 for c in true.carried))
    yield "no room", replace(true, carried=(0,) * len(true.carried))
    yield "no kinds", replace(true, carried=())
    yield "more kinds", replace(true, carried=(*true.carried, 1))
    yield "negative", replace(true, multipliers=(-1, *many[1:]))
    yield "huge", replace(true, multipliers=(10**40, *many[1:]))
    yield "too few", replace(true, multipliers=many[1:])
    yield "too many", replace(true, multipliers=(*many, 5))
    yield "infinite", replace(true, bound=inf)
    yield "none", replace(true, bound=nan)
    yield "alone", Certificate(Proof.ALONE, true.bound * 1.5, model="m0")
    yield "no such model", Certificate(Proof.ALONE, 0.1, model="other")
    yield "alone, infinite", Certificate(Proof.ALONE, inf, model="m0", finite=True)
    yield "nothing fits", Certificate(Proof.ALONE, inf, model="m0")


def test_forged_certificates_fail(proven):
    for name, certificate in forged(proven):
        assert refuted(proven[0], certificate), name


def test_a_search_over_groups_ends_when_it_is_told_to(proven):
    problem, best, _ = proven
    choices = choices_of(problem)
    companies = companies_of(problem, choices, best * (1.0 - 1e-6), False)
    multipliers, carried = [1] * len(choices), [len(choices)] * len(companies)
    assert cover_exists(choices, companies, multipliers, carried) is False
    assert cover_exists(choices, companies, multipliers, carried, go=np.zeros(1, int)) is None


@pytest.mark.parametrize(("models", "gpus", "searched"), [(10, 4, False), (24, 8, True)])
def test_a_proof_over_groups_knows_what_it_takes_to_repeat(models, gpus, searched):
    problem = latency_fleet(models, gpus, seed=2)
    bounds = RatioBounds(problem, Deadline(20))
    proofs = [each.proof for each in bounds.towards(solve(problem, time_limit=2).value)]
    assert (Proof.COVER in proofs) is searched
    assert bounds.checking > 0.0


def test_scaled_multipliers_prove_the_same_or_nothing(proven):
    problem, best, true = proven
    scaled = replace(true, multipliers=tuple(3 * m for m in true.multipliers))
    assert refuted(problem, scaled)
    doubled = replace(scaled, carried=tuple(3 * c for c in true.carried))
    fault = refuted(problem, doubled)
    assert fault is None or true.proof is Proof.COVER
    swapped = [true.multipliers[-1], *true.multipliers[1:-1], true.multipliers[0]]
    for raised in (1.0, 1.01, 1.2):
        other = replace(true, multipliers=tuple(swapped), bound=true.bound * raised)
        if refuted(problem, other) is None:
            assert other.bound <= best * ROUNDED


def test_a_bound_that_counts_wishes_does_not_pass_as_one_on_targets(proven):
    problem, _, true = proven
    wishes = [m.changed(requests=replace(m.requests, binding=False)) for m in problem.models]
    assert refuted(replace(problem, models=tuple(wishes)), replace(true, binding=True))
    alone = Certificate(Proof.ALONE, 1e-3, model="m0", binding=True)
    assert refuted(replace(problem, models=tuple(wishes)), alone)
    assert refuted(problem, alone) is None


def test_random_changes_of_certificates_never_prove_too_much(proven):
    problem, best, true = proven
    draw = Random(1)
    for _ in range(60):
        multipliers = [max(0, m + draw.randint(-400, 400)) for m in true.multipliers]
        carried = [max(0, c + draw.randint(-200, 200)) for c in true.carried]
        bound = true.bound * draw.uniform(0.9, 1.2)
        proof = draw.choice([Proof.GROUPS, Proof.COVER])
        changed = Certificate(proof, bound, multipliers=tuple(multipliers), carried=tuple(carried))
        assert refuted(problem, changed) or bound <= best * ROUNDED


@pytest.mark.parametrize(
    "change",
    [
        {"bound": "NaN"},
        {"bound": -1},
        {"bound": "Infinity"},
        {"multipliers": [0.5]},
        {"carried": ["much"]},
        {"window": 0},
        {"binding": False},
        {"finite": True},
    ],
)
def test_certificates_that_are_none_are_not_read(proven, change):
    with pytest.raises(InputError):
        Certificate.from_dict({**proven[2].as_dict(), **change})


def test_a_bound_on_ratios_needs_requests():
    problem = Problem([Gpu("g", 80)], [Model("m", 1, load=1)])
    assert refuted(problem, Certificate(Proof.ALONE, 0.5, model="m"))
    assert refuted(problem, Certificate(Proof.GROUPS, 0.5, multipliers=(1,), carried=(0,)))


def test_replicas_that_are_open_count_with_any_number():
    engine = EngineSpeed(5e-3, 1e-4, 15e-3, 12e-3, 28)
    asked = Requests(3.0, 100, (("H", engine),), 0.05, 2.0)
    models = [
        Model(f"m{n}", 4, load=1, most_replicas=2, least_cache_gb=1, requests=asked)
        for n in range(3)
    ]
    problem = Problem([Gpu(f"g{n}", 80, "H") for n in range(2)], models, objective="latency")
    best = best_ratio(problem)
    certificate = latency_bound(problem, Deadline(10), best)
    assert isfinite(best)
    assert certificate.bound <= best * ROUNDED
    assert refuted(problem, certificate) is None
    if certificate.proof is Proof.GROUPS:
        assert len(certificate.multipliers) == 6


def test_a_search_over_groups_takes_more_gpus_than_python_takes_calls():
    fleet = slowing_fleet(3, 1100)
    models = tuple(model.changed(replicas=400, most_replicas=400) for model in fleet.models)
    problem = replace(fleet, models=models)
    choices = choices_of(problem)
    (company,) = companies_of(problem, choices, 1.0, False)
    alone = company._replace(tolerance=np.full(3, 1e-9))
    assert cover_exists(choices, [alone], (0, 0, 0), (0,)) is False
    enough = alone._replace(gpus=1200)
    assert cover_exists(choices, [enough], (0, 0, 0), (0,)) is True


def test_multipliers_that_are_not_whole_prove_nothing():
    problem = slowing_fleet(8, 3)
    forged = Certificate(Proof.GROUPS, 1.0, multipliers=(0.9,) * 8, carried=(0,))
    assert refuted(problem, forged) == "a multiplier is not a whole number"
