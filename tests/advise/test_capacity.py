from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, Status, solve
from colocate.advise.capacity.fleet_sizes import GpuKind
from colocate.advise.capacity.mixes import (
    Market,
    costs_by_gpus,
    costs_by_price,
    largest_below,
    least_cost,
)
from colocate.advise.capacity.requirements import needs_of
from colocate.advise.capacity.search import CapacitySearch
from colocate.advise.capacity.trials import Decision
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.placement import Placement
from colocate.problem.reduction import reduction_of
from colocate.problem.verify import verify
from colocate.solver.plan import Plan
from tests.campaign import campaign
from tests.problems import RATES, SIZES, SLOS

MOST = 4


def market(gpus, models, costs=None, at_once=None, nodes=False, **constraints):
    """Return the market of kinds of GPU; with nodes, two GPUs of a kind are in a machine."""
    at_once = at_once or (1,) * len(gpus)

    def problem(mix):
        have = [
            replaced(gpu, f"{gpu.name}-{n}", f"{gpu.name}{n // 2}" if nodes else "")
            for gpu, units, each in zip(gpus, mix, at_once, strict=True)
            for n in range(units * each)
        ]
        return Problem(have, models, **constraints) if have else None

    def kind_of(mix):
        counts = [units * each for units, each in zip(mix, at_once, strict=True)]
        return tuple(kind for kind, count in enumerate(counts) for _ in range(count))

    kinds = tuple(
        GpuKind(gpu.name, (number,), 1, each)
        for number, (gpu, each) in enumerate(zip(gpus, at_once, strict=True))
    )
    sizes = Sizes(kinds, (1,) * len(gpus), problem, kind_of)
    return Market(sizes, costs or costs_by_gpus(at_once))


@dataclass(frozen=True)
class Sizes:
    """A fleet in all sizes, as `FleetSizes` is one, without a file behind it."""

    kinds: tuple
    listed: tuple
    problem: Callable
    kind_of_gpus: Callable


def with_problems(offered, problem):
    """Return a market in which mixes have other problems."""
    return replace(offered, sizes=replace(offered.sizes, problem=problem))


def replaced(gpu, name, node):
    return Gpu(name, gpu.memory_gb, gpu.kind, gpu.limits, node)


def lowest(problem):
    """Return the lowest pressure of any placement, by the checker on all of them."""
    reduction = reduction_of(problem)
    found = (
        verify(problem, reduction.placement(gpu_of))
        for gpu_of in product(range(len(problem.gpus)), repeat=len(reduction.items))
    )
    return min((verdict.pressure for verdict in found if verdict.valid), default=None)


def cheapest(offered, target, most=MOST):
    """Return the least cost of a mix that reaches a pressure, None if none does, by trying all."""
    best = None
    for mix in product(range(most + 1), repeat=len(offered.costs)):
        problem = offered.sizes.problem(mix) if sum(offered.gpus(mix)) <= most else None
        if problem is None or (best is not None and offered.cost(mix) >= best):
            continue
        value = lowest(problem)
        if value is not None and value <= target * (1 + 1e-9):
            best = offered.cost(mix)
    return best


def agrees(offered, target, most=MOST):
    """Compare with the truth; the search must come to an end on problems as small as these."""
    answer = CapacitySearch(offered, target, most, time_limit=20, workers=1).answer()
    truth = cheapest(offered, target, most)
    if truth is None:
        assert answer.status is Status.INFEASIBLE
        assert answer.best is None
        assert answer.reason
        return answer
    assert answer.status is Status.OPTIMAL
    assert offered.cost(answer.best.mix) == truth
    plan = answer.best.plan
    verdict = verify(plan.problem, plan.placement)
    assert verdict.valid
    assert verdict.pressure == answer.best.pressure <= target * (1 + 1e-9)
    assert sum(offered.gpus(answer.best.mix)) == len(plan.problem.gpus) <= most
    assert not answer.not_excluded
    return answer


MEMORIES = st.sampled_from([24, 48, 80, 20.5])
TARGETS = st.sampled_from([0.003, 0.02, 0.05, 0.1, 0.3, 1.0, 20.0])


@st.composite
def models(draw, most=5, windows=1):
    found = []
    for n in range(draw(st.integers(1, most))):
        load = [draw(RATES) / draw(SLOS) for _ in range(windows)]
        found.append(Model(f"m{n}", draw(SIZES), load=load))
    return found


def with_caches(data, served):
    caches = st.sampled_from([0, 1, 6, 25, 60])
    return [model.changed(least_cache_gb=data.draw(caches)) for model in served]


@campaign(60)
@given(st.data())
def test_least_caches_count_among_the_gpus_needed(data):
    served = with_caches(data, data.draw(models(most=4)))
    agrees(market([Gpu("g", data.draw(MEMORIES))], served), data.draw(TARGETS))


@campaign(60)
@given(st.data())
def test_least_caches_count_in_mixes_with_shards(data):
    served = with_caches(data, data.draw(models(most=3)))
    served[0] = served[0].changed(shards=data.draw(st.sampled_from([1, 2])))
    gpus = [Gpu("x", data.draw(MEMORIES), "X"), Gpu("y", data.draw(MEMORIES), "Y")]
    agrees(market(gpus, served, costs=(3, 2), nodes=True), data.draw(TARGETS))


def test_too_little_memory_for_the_least_caches_is_told():
    served = [Model(f"m{n}", 10, load=0.01, least_cache_gb=20) for n in range(5)]
    offered = market([Gpu("g", 70)], served)
    answer = CapacitySearch(offered, 1.0, MOST, time_limit=20, workers=1).answer()
    assert answer.best.mix == (3,)
    (two,) = [trial for trial in answer.trials if trial.mix == (2,)]
    assert two.reason == "it needs 150 GB with the least cache of its models, it has 140"
    served = [Model("m", 10, load=0.01, least_cache_gb=70)]
    answer = CapacitySearch(
        market([Gpu("g", 70)], served), 1.0, MOST, time_limit=20, workers=1
    ).answer()
    assert answer.status is Status.INFEASIBLE
    assert answer.reason == (
        "no number of GPUs is enough: there are no GPUs with the 80 GB that m needs with its "
        "least cache"
    )


@campaign(60)
@given(st.data())
def test_the_fewest_gpus_of_one_kind_agree_with_brute_force(data):
    served = data.draw(models(windows=data.draw(st.integers(1, 2))))
    agrees(market([Gpu("g", data.draw(MEMORIES))], served), data.draw(TARGETS))


@campaign(60)
@given(st.data())
def test_the_cheapest_mix_agrees_with_brute_force(data):
    kinds = [Gpu(f"g{n}", data.draw(MEMORIES)) for n in range(data.draw(st.integers(2, 3)))]
    prices = [Fraction(str(data.draw(st.sampled_from([0, 0.5, 0.79, 1, 2.69])))) for _ in kinds]
    most = MOST if len(kinds) == 2 else 3
    costs = costs_by_price((1,) * len(kinds), prices, most)
    agrees(market(kinds, data.draw(models(4)), costs), data.draw(TARGETS), most)


@campaign(40)
@given(st.data())
def test_whole_machines_agree_with_brute_force(data):
    kinds = [Gpu(f"g{n}", data.draw(MEMORIES)) for n in range(2)]
    at_once = data.draw(st.sampled_from([(2, 1), (2, 2), (1, 3)]))
    agrees(market(kinds, data.draw(models(4)), at_once=at_once), data.draw(TARGETS))


@campaign(40)
@given(st.data())
def test_limits_that_depend_on_the_kind_agree_with_brute_force(data):
    limits = st.sampled_from([0, 0.8, 1, 2])
    kinds = [Gpu(n, data.draw(MEMORIES), n, {"compute": data.draw(limits)}) for n in "ab"]
    amounts = st.sampled_from([0, 0.3, 0.5, 1])
    served = [
        model.changed(uses={"compute": {"a": data.draw(amounts), "b": data.draw(amounts)}})
        for model in data.draw(models(4))
    ]
    agrees(market(kinds, served), data.draw(TARGETS))


@campaign(40)
@given(st.data())
def test_constraints_agree_with_brute_force(data):
    kinds = [Gpu(n, data.draw(MEMORIES), n) for n in "ab"]
    served = data.draw(models(3))
    places = st.sampled_from(
        [{}, {"only": ["a"]}, {"never": ["b"]}, {"replicas": 2, "most_replicas": 2}]
    )
    served = [model.changed(**data.draw(places)) for model in served]
    rules = {"most_models": data.draw(st.sampled_from([None, 1, 2]))}
    if len(served) > 1 and data.draw(st.booleans()):
        rules["apart"] = [[served[0].name, served[1].name]]
    elif len(served) > 1 and all(model.parts == 1 for model in served):
        rules["together"] = [[served[0].name, served[1].name]]
    if any(model.only or model.never for model in served):
        offered = with_both(kinds, served, rules)
    else:
        offered = market(kinds, served, **rules)
    agrees(offered, data.draw(TARGETS), 3)


def with_both(kinds, served, rules):
    """Return a market in which models name kinds, of which there may be none."""

    def problem_of(mix):
        names = {gpu.kind for gpu, units in zip(kinds, mix, strict=True) if units}
        if not names or any(m.only and names.isdisjoint(m.only) for m in served):
            return None
        kept = [m.changed(never=[name for name in m.never if name in names]) for m in served]
        kept = [m.changed(only=[name for name in m.only if name in names]) for m in kept]
        return market(kinds, kept, **rules).sizes.problem(mix)

    return with_problems(market(kinds, served, **rules), problem_of)


@settings(max_examples=15)
@given(st.data())
def test_shards_in_machines_agree_with_brute_force(data):
    served = data.draw(models(2))
    served[0] = served[0].changed(shards=2)
    agrees(market([Gpu("g", data.draw(MEMORIES))], served, nodes=True), data.draw(TARGETS), 5)


@settings(max_examples=25)
@given(st.data())
def test_any_number_of_replicas_agrees_with_brute_force(data):
    served = data.draw(models(2))
    kinds = [Gpu(f"g{n}", data.draw(MEMORIES)) for n in range(data.draw(st.integers(1, 2)))]

    def problem_of(mix):
        replicas = [model.changed(most_replicas=max(sum(mix), 1)) for model in served]
        return market(kinds, replicas).sizes.problem(mix)

    def lowest_pressure(problem):
        names = [gpu.name for gpu in problem.gpus]
        some = [c for count in range(1, len(names) + 1) for c in combinations(names, count)]
        return min(
            verify(problem, dict(zip([m.name for m in served], places, strict=True))).pressure
            for places in product(some, repeat=len(served))
        )

    offered, target = with_problems(market(kinds, served), problem_of), data.draw(TARGETS)
    mixes = [mix for mix in product(range(4), repeat=len(kinds)) if 0 < sum(mix) <= 3]
    reached = [m for m in mixes if lowest_pressure(problem_of(m)) <= target * (1 + 1e-9)]
    answer = CapacitySearch(offered, target, 3, time_limit=1, workers=1).answer()
    fewest = min(map(sum, reached), default=None)
    assert answer.status is not Status.INFEASIBLE or fewest is None
    assert answer.status is not Status.OPTIMAL or sum(answer.best.mix) == fewest
    assert answer.best is None or fewest <= sum(answer.best.mix)


@campaign(60)
@given(st.data())
def test_what_sums_exclude_is_out_of_reach(data):
    kinds = [Gpu(n, data.draw(MEMORIES), n) for n in "ab"]
    served = data.draw(models(4, windows=data.draw(st.integers(1, 2))))
    offered, target = market(kinds, served), data.draw(TARGETS)
    needs = needs_of(*offered.sample(), target)
    assert cheapest(offered, target, 2) is None or (
        least_cost(needs, [Fraction(1)] * 2) <= cheapest(offered, target, 2)
    )
    for mix in product(range(3), repeat=2):
        if any(mix) and not all(need.met(mix) for need in needs):
            assert lowest(offered.sizes.problem(mix)) in (None, inf) or (
                lowest(offered.sizes.problem(mix)) > target
            )


@campaign(100)
@given(st.data())
def test_the_largest_cheaper_mixes_hold_all_cheaper_ones(data):
    kinds = data.draw(st.integers(1, 3))
    costs = tuple(data.draw(st.lists(st.integers(1, 9), min_size=kinds, max_size=kinds)))
    at_once = tuple(data.draw(st.lists(st.integers(1, 3), min_size=kinds, max_size=kinds)))
    offered = market(
        [Gpu(f"g{n}", 80) for n in range(kinds)], [Model("m", 1, load=1)], costs, at_once
    )
    most, cost = data.draw(st.integers(0, 8)), data.draw(st.integers(1, 40))
    largest = list(largest_below(offered, [], cost, most, lambda: None))
    assert len(set(largest)) == len(largest)
    cheaper = [
        mix
        for mix in product(range(9), repeat=kinds)
        if offered.cost(mix) < cost and sum(offered.gpus(mix)) <= most
    ]
    assert set(largest) <= set(cheaper)
    for mix in cheaper:
        holders = [m for m in largest if all(a <= b for a, b in zip(mix, m, strict=True))]
        assert holders
        assert mix not in largest or holders == [mix]


def test_a_pressure_that_one_model_alone_exceeds_is_impossible_with_any_number():
    offered = market([Gpu("g", 80)], [Model("hot", 60, load=10), Model("cold", 1, load=0)])
    answer = CapacitySearch(offered, 0.4, 1000).answer()
    assert answer.status is Status.INFEASIBLE
    assert "GPUs on which hot alone" in answer.reason
    assert CapacitySearch(offered, 0.5, 1000).answer().best.mix == (2,)
    assert CapacitySearch(offered, 0.53, 1000).answer().best.mix == (1,)


def test_the_one_gpu_fewer_is_excluded_by_a_look_or_a_sum():
    served = [Model(f"m{n}", 10 + n, load=1 + n % 3) for n in range(10)]
    seen = []
    search = CapacitySearch(market([Gpu("g", 80)], served), 0.1, 20, on_trial=seen.append)
    answer = search.answer()
    (fewest,) = answer.best.mix
    assert answer.status is Status.OPTIMAL
    fewer = next(trial for trial in answer.trials if trial.mix == (fewest - 1,))
    assert fewer.decision is Decision.EXCLUDED
    assert fewer.reason or fewer.bound > 0.1
    assert {trial.mix for trial in seen} == {trial.mix for trial in answer.trials}


def test_the_pressure_that_a_fleet_has_is_reached_by_that_fleet():
    served = [Model(f"m{n}", 7 + 3 * n % 19, load=1 + n % 4) for n in range(9)]
    offered = market([Gpu("g", 80)], served)
    pressures = [lowest_by_solver(offered, n) for n in range(3, 7)]
    for n, pressure in enumerate(pressures, 3):
        found = CapacitySearch(offered, pressure, 20).answer()
        assert found.best.mix <= (n,)
        assert found.best.pressure <= pressure * (1 + 1e-9)


def lowest_by_solver(offered, count):
    return solve(offered.sizes.problem((count,)), time_limit=5).pressure


def test_more_gpus_never_make_the_curve_rise():
    served = [Model(f"m{n}", 10 + n, load=1 + n % 3) for n in range(8)]
    search = CapacitySearch(market([Gpu("g", 80)], served), 0.1, 20, workers=1)
    found = search.with_curve(search.answer(), [(n,) for n in range(1, 7)], 10.0).trials
    values = [trial.pressure for trial in found if trial.plan]
    assert all(later <= sooner * 1.02 for sooner, later in pairwise(values))
    assert all(
        trial.bound <= trial.pressure * (1 + 1e-8) for trial in found if trial.pressure < inf
    )


def test_what_is_not_excluded_is_not_called_proven():
    sizes = [20 + 0.37 * n for n in range(60)]
    served = [Model(f"m{n}", size, load=1 + n % 7) for n, size in enumerate(sizes)]
    answer = CapacitySearch(market([Gpu("g", 80)], served), 0.5, 60, time_limit=0.2).answer()
    assert answer.status in (Status.FEASIBLE, Status.UNKNOWN, Status.OPTIMAL)
    assert (answer.status is Status.FEASIBLE) == bool(answer.not_excluded)


@pytest.mark.parametrize(("bound", "status"), [(0.089, Status.FEASIBLE), (0.091, Status.OPTIMAL)])
def test_one_gpu_fewer_is_excluded_by_a_bound_above_the_target_only(monkeypatch, bound, status):
    served = [Model(f"m{n}", 30, load=1) for n in range(3)]
    crowded = Placement({"m0": ["g-0"], "m1": ["g-0"], "m2": ["g-1"]})

    def solve_up_to_a_bound(problem, **options):
        if len(problem.gpus) > 2:
            return solve(problem, **options)
        pressures = verify(problem, crowded).pressures
        proof = Certificate(Proof.SEARCH, bound)
        return Plan(problem, Status.FEASIBLE, crowded, pressures, certificate=proof)

    monkeypatch.setattr("colocate.advise.capacity.trials.solve", solve_up_to_a_bound)
    answer = CapacitySearch(market([Gpu("g", 80)], served), 0.09, 9, time_limit=1).answer()
    assert answer.best.mix == (3,)
    assert answer.status is status
    assert answer.not_excluded == (((2,),) if status is Status.FEASIBLE else ())


def test_no_time_at_all_is_no_proof():
    served = [Model(f"m{n}", 20 + n, load=1) for n in range(12)]
    answer = CapacitySearch(market([Gpu("g", 80)], served), 0.2, 40, time_limit=1e-6).answer()
    assert answer.status is Status.UNKNOWN
    assert answer.best is None


def test_of_mixes_of_one_price_the_one_with_fewer_gpus_is_taken():
    kinds = [Gpu("small", 40), Gpu("large", 80)]
    costs = costs_by_price((1, 1), [Fraction(1), Fraction(2)], 10)
    served = [Model("a", 20, load=1), Model("b", 20, load=1)]
    answer = CapacitySearch(market(kinds, served, costs), 0.05, 10).answer()
    assert answer.best.mix == (0, 1)
    assert answer.status is Status.OPTIMAL


def test_a_free_kind_is_taken_before_any_other_but_not_more_of_it_than_needed():
    kinds = [Gpu("owned", 24), Gpu("rented", 80)]
    costs = costs_by_price((1, 1), [Fraction(0), Fraction(3)], 10)
    served = [Model("big", 60, load=1), Model("a", 12, load=1), Model("b", 12, load=1)]
    answer = CapacitySearch(market(kinds, served, costs), 0.1, 10).answer()
    assert answer.best.mix == (2, 1)


@pytest.mark.parametrize("loads", [0.0, 1.0])
def test_a_pressure_of_0_is_that_of_models_without_load(loads):
    offered = market([Gpu("g", 10)], [Model(f"m{n}", 4, load=loads) for n in range(5)])
    answer = CapacitySearch(offered, 0.0, 10).answer()
    assert answer.status is (Status.INFEASIBLE if loads else Status.OPTIMAL)
    assert loads or answer.best.mix == (3,)
