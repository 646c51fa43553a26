"""Groups whose ratio is the bound to the last digit, where the order of items decides."""

import json
from itertools import product
from math import inf, nextafter
from random import Random

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, Status, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.placement import Placement
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify_bound import refuted
from colocate.solver.check import check_plan
from colocate.solver.plan import Plan, with_ratios
from tests.campaign import batches

BATCH = 150
"""Problems in a batch: about one of 300 has a digit at which the order of items decides."""
AROUND = 3e-11
"""Share of a ratio within which the law's last digits differ by the order of items."""
HALVINGS = 40


def model(name, rate, tpot_slo, step):
    speed = EngineSpeed(step, 0.02 * step, 5.0 * step, step, 32)
    asked = Requests(rate, 128.0, (("A", speed),), tpot_slo, inf, None, False, 256.0)
    return Model(name, 10.0, load=rate, requests=asked)


def fleet(*models):
    return Problem((Gpu("g0", 80.0, "A"), Gpu("g1", 80.0, "A")), models, objective="latency")


def random_fleet(seed):
    draw = Random(seed)
    steps = [draw.uniform(1e-3, 1e-2) for _ in "abc"]
    rates = [(draw.uniform(0.2, 4.0), draw.uniform(4, 15) * step) for step in steps]
    each = zip("abc", rates, steps, strict=True)
    return fleet(*(model(name, rate, tpot, step) for name, (rate, tpot), step in each))


def verified(problem, *gpus):
    return verify(problem, {n: (g,) for n, g in zip("abc", gpus, strict=True)})


def lowest_ratio(problem):
    """The lowest ratio of three models on two equal GPUs."""
    return min(verified(problem, "g0", *p).ratio for p in product(("g0", "g1"), repeat=2))


def cover(bound):
    """A proof that no groups below a ratio take three models, which adds nothing to the search."""
    return Certificate(Proof.COVER, bound, multipliers=(0, 0, 0), carried=(0,))


def test_a_group_is_not_left_out_for_a_larger_one_that_was_called_impossible():
    # Asked in one order, the law lets the three share a GPU at this ratio, and in another not.
    problem = fleet(
        model("a", 2.1081336857739914, 0.035906854584546004, 0.003518339262156891),
        model("b", 2.429598929582613, 0.048189221333328994, 0.005148656723491548),
        model("c", 0.9684822478396269, 0.029518865365031902, 0.005661093506996002),
    )
    assert lowest_ratio(problem) == pytest.approx(0.26043671329)
    forged = cover(0.703337737348929)
    assert refuted(problem, forged) is not None
    together = Placement(dict.fromkeys("abc", ("g0",)))
    pressures = verify(problem, together).pressures
    plan = Plan(problem, Status.OPTIMAL, together, pressures, certificate=forged)
    stated = json.loads(json.dumps(with_ratios(plan).as_dict()))
    assert any(fault.startswith("bound:") for fault in check_plan(problem, stated).faults)


@pytest.mark.parametrize("batch", batches(20, 3))
def test_no_ratio_is_proven_where_the_order_of_items_decides(batch):
    tried = 0
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        problem = random_fleet(seed)
        best = lowest_ratio(problem)
        worst = verified(problem, "g0", "g0", "g0").ratio
        if not best * 1.01 < worst < 1e3:
            continue
        last = last_impossible(problem, worst)
        if last is not None:
            tried += 1
            for bound in (last, nextafter(last, 0.0), nextafter(last, inf)):
                assert refuted(problem, cover(bound)) is not None, seed
    assert tried > BATCH // 2


def last_impossible(problem, ratio):
    """The last ratio at which the search calls three models on a GPU impossible, if it does."""
    low, high = ratio * (1.0 - AROUND), ratio * (1.0 + AROUND)
    if all_may_share(problem, low) or not all_may_share(problem, high):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if all_may_share(problem, middle):
            high = middle
        else:
            low = middle
    return low


def all_may_share(problem, ratio):
    """Whether three models may share a GPU, asked in the order of the search."""
    (company,) = companies_of(problem, choices_of(problem), ratio, False)
    order = np.argsort(company.tolerance, kind="mergesort")
    return len(order) == 3 and bool(group_is_possible(company, empty_search(company), order))
