"""Knapsacks of groups: what they call impossible is so, and proofs by them hold."""

from dataclasses import replace
from itertools import combinations
from math import inf
from random import Random

import numpy as np
import pytest

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.group_weights import homeless_owner
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.checker.latency.knapsack import least_pushes, least_size, outweighed_by_none
from colocate.problem.verify_bound import refuted
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.bounds import latency_bounds
from colocate.solver.prove.latency.knapsacks import GpuKnapsacks
from colocate.solver.prove.latency.relaxed import KnapsackColumns
from tests.campaign import batches
from tests.latency_problems import best_ratio, random_problem, slowing_fleet

BATCH = 20
"""Problems in a batch."""


def seeds(batch):
    return range(BATCH * batch, BATCH * (batch + 1))


def companies_at(problem, ratio):
    choices = choices_of(problem)
    return choices, companies_of(problem, choices, ratio, False)


def possible_groups(company):
    """All groups of items that may share a GPU, as tuples of their numbers."""
    items = range(len(company.owner))
    return [
        group
        for size in range(1, len(items) + 1)
        for group in combinations(items, size)
        if group_is_possible(company, empty_search(company), np.array(group))
    ]


@pytest.mark.parametrize("batch", batches(40, 4))
def test_no_possible_group_outweighs_what_knapsacks_allow(batch):
    shown = 0
    for seed in seeds(batch):
        random = Random(seed)
        _, companies = companies_at(random_problem(seed), random.choice([0.3, 0.7, 1.0, 2.0, 10.0]))
        for company in companies:
            weight = np.array([random.randrange(60) for _ in company.owner], np.int64)
            heaviest = max(
                (int(weight[list(g)].sum()) for g in possible_groups(company)), default=0
            )
            shown += outweighed_by_none(company, weight, heaviest)
            assert heaviest == 0 or not outweighed_by_none(company, weight, heaviest - 1), seed
    assert shown > BATCH  # of some two companies a problem, most have no clashing items


@pytest.mark.parametrize("batch", batches(40, 4))
def test_the_prover_finds_sets_as_heavy_as_any_possible_group(batch):
    for seed in seeds(batch):
        random = Random(seed)
        _, companies = companies_at(random_problem(seed), random.choice([0.3, 0.7, 1.0, 2.0, 10.0]))
        for company in companies:
            weight = np.array([random.randrange(60) for _ in company.owner], np.int64)
            groups = possible_groups(company)
            sets, most = GpuKnapsacks(company).heaviest(weight, 0)
            assert most >= max((int(weight[list(g)].sum()) for g in groups), default=0), seed
            assert most == max([int(weight[s].sum()) for s in sets] + [int(weight.max(initial=0))])
            for group in [each for each in groups if len(each) > 1]:
                assert GpuKnapsacks(company).passes(company.choice[list(group)]), seed


@pytest.mark.parametrize("batch", batches(40, 4))
def test_no_proof_by_knapsacks_is_above_a_reachable_ratio(batch):
    for seed in seeds(batch):
        problem = random_problem(seed, plain=seed % 2 == 0)
        best = best_ratio(problem)
        for share in (0.5, 0.8, 0.99, 1.0 + 1e-8, 1.2):
            choices, companies = companies_at(problem, best * share)
            if not 0.0 < best < inf or homeless_owner(choices, companies) is not None:
                continue
            found = KnapsackColumns(choices).prove(companies, Deadline(5))
            if found is None:
                continue
            assert share < 1.0, seed
            multipliers, carried = found
            proof = Certificate(
                Proof.GROUPS, best * share, multipliers=multipliers, carried=carried
            )
            assert refuted(problem, proof) is None, seed


@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_fleets_of_many_models_are_bounded_by_more_than_one_model(sharing):
    problem = slowing_fleet(70, 12, sharing)
    alone, proof, *_ = latency_bounds(problem, Deadline(30), inf)
    assert proof.proof is Proof.GROUPS
    assert proof.bound > 1.5 * alone.bound
    assert refuted(problem, proof) is None
    less = tuple(most * 9 // 10 for most in proof.carried)
    assert "weighs more" in refuted(problem, replace(proof, carried=less))
    more = tuple(most * 2 for most in proof.carried)
    assert "add up to" in refuted(problem, replace(proof, carried=more))
    assert refuted(problem, replace(proof, bound=proof.bound * 4)) is not None


def test_the_least_size_is_that_of_brute_force():
    random = Random(1)
    for _ in range(300):
        items = random.randrange(1, 8)
        owner = np.sort(np.array([random.randrange(4) for _ in range(items)]))
        weight = np.array([random.randrange(9) for _ in range(items)])
        size = np.array([random.choice([0.0, 0.1, 0.25, 0.5, 1.0, 1.5]) for _ in range(items)])
        wanted = random.randrange(1, 20)
        sets = [
            list(members)
            for count in range(1, items + 1)
            for members in combinations(range(items), count)
            if len({owner[m] for m in members}) == count
            and weight[list(members)].sum() >= wanted
            and max(size[m] for m in members) <= 1.0
        ]
        least = min((size[members].sum() for members in sets), default=inf)
        assert least_size(owner, weight, size, wanted) == pytest.approx(least)


def test_items_add_more_the_more_a_group_adds_up_to():
    _, companies = companies_at(random_problem(3), 2.0)
    for company in companies:
        before = least_pushes(company, 0.0)
        for in_all in np.linspace(0.0, 3.0 * company.grid[-1], 50):
            now = least_pushes(company, in_all)
            assert (now >= before).all()
            before = now
