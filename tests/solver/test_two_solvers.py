"""Two solvers against the truth: no false "none", no missed alarm, no false bound on costs."""

import random
from functools import cache
from itertools import combinations, permutations, product
from math import fsum, inf
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.problem.checker.tolerance import SLACK
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Alarm
from colocate.solver.prove.solvers import two_solvers
from colocate.solver.prove.solvers.choices import choices_of
from colocate.solver.prove.solvers.cpsat_program import CpSatProgram
from colocate.solver.prove.solvers.same_target import robust_target
from colocate.solver.prove.solvers.scip_program import ScipProgram
from colocate.solver.prove.solvers.searching import NONE, Finding, search_exactly
from colocate.solver.prove.solvers.two_solvers import places, search_all, small_enough
from tests.campaign import batches, campaign
from tests.problems import lowest_pressure

LIKE_THE_ISSUE = 500
BELOW, ABOVE = 1.0 - 1e-9, 1.0 + 1e-9
SIZES = [0.9, 10.1, 1.6, 4.9, 2.5, 2.0, 6.2, 5.2, 6.3]
LOADS = [(4, 24), (21, 28), (0, 29), (23, 0), (6, 6), (22, 15), (22, 13), (20, 0), (8, 26)]
KNOWN = 1.41026


def fleet(sizes, loads, gpus=4, sleepers=(), **constraints):
    models = [
        Model(f"m{n}", size, load=load, sleep_cost=dict(sleepers).get(n))
        for n, (size, load) in enumerate(zip(sizes, loads, strict=True))
    ]
    return Problem([Gpu(f"g{n}", 40) for n in range(gpus)], models, **constraints)


def issue(**kwargs):
    return fleet(SIZES, LOADS, **kwargs)


def lost(problem, placement):
    return fsum(m.sleep_cost or 0.0 for m in problem.models if not placement[m.name])


def assert_within(problem, answer, target):
    verdict = verify(problem, answer.placement)
    assert verdict.valid, verdict.faults
    assert verdict.pressure <= target


@pytest.mark.parametrize(("target", "sleepers"), [(1.4183, {8: 1}), (1.427, {3: 1}), (1.4336, {})])
def test_the_placement_that_cp_sat_denied_is_found_with_all_awake(target, sleepers):
    problem = issue(sleepers=sleepers.items(), most_pressure=target)
    answer = search_all(problem, target, Deadline(20.0), known=KNOWN)
    assert answer.outcome is Outcome.FOUND
    assert_within(problem, answer, target)
    assert all(answer.placement.values())
    assert answer.cost_bound == 0.0
    assert answer.alarm is None


def test_no_target_around_the_one_of_the_issue_is_denied():
    for target in np.linspace(1.4103, 1.6, 60).tolist():
        answer = search_all(issue(), target, Deadline(20.0))
        assert answer.outcome is Outcome.FOUND
        assert_within(issue(), answer, target)
    assert search_all(issue(), 1.4102, Deadline(20.0)).outcome is Outcome.NONE


@cache
def partitions(count, groups):
    """Every way to put some things into at most so many groups that are alike."""
    rows = [[0]]
    for _ in range(count - 1):
        rows = [[*row, g] for row in rows for g in range(min(max(row) + 2, groups))]
    return np.array(rows)


def lowest(sizes, loads, gpus):
    """The lowest pressure and a partition that has it, in whole tenths: no rounding matters."""
    if not sizes:
        return 0.0, []
    groups = partitions(len(sizes), gpus)
    tenths = np.rint(np.array(sizes) * 10)
    highest = np.zeros(len(groups))
    for gpu in range(gpus):
        here = (groups == gpu).astype(float)
        load, free = (here @ np.array(loads, float)).max(axis=1), 400 - here @ tenths
        loaded = np.where(free > 0, load * 10 / np.maximum(free, 1), inf)
        pressure = np.where(load > 0, loaded, np.where(free >= 0, 0.0, inf))
        highest = np.maximum(highest, pressure)
    best = int(highest.argmin())
    return float(highest[best]), groups[best].tolist()


def random_fleet(seed):
    """A fleet like the one of the issue; one in five has models that may sleep."""
    draw = random.Random(seed)
    count = draw.randint(6, 10)
    sizes = [draw.randint(5, 110) / 10 for _ in range(count)]
    loads = [tuple(draw.choice([0, *[draw.randint(1, 29)] * 3]) for _ in "ab") for _ in sizes]
    able = draw.sample(range(count), draw.randint(1, 3)) if seed % 5 == 0 else []
    sleepers = {n: draw.choice([0.5, 1.0, 3.7]) for n in able}
    return draw, sizes, loads, draw.randint(3, 4), sleepers


@pytest.mark.parametrize("batch", batches(10, first=2))
def test_fleets_like_the_one_of_the_issue_against_brute_force(batch):
    each = LIKE_THE_ISSUE // 10
    for seed in range(batch * each, (batch + 1) * each):
        draw, sizes, loads, gpus, sleepers = random_fleet(seed)
        best, groups = lowest(sizes, loads, gpus)
        plain = fleet(sizes, loads, gpus)
        if best == inf or best == 0.0:
            continue
        known = verify(plain, {f"m{n}": (f"g{g}",) for n, g in enumerate(groups)}).pressure
        above = draw.choice([ABOVE, draw.uniform(1.0, 1.15)])
        for target in (known, known * above):
            answer = search_all(plain, target, Deadline(20.0), known=known)
            assert (answer.outcome, answer.alarm) == (Outcome.FOUND, None), (seed, target)
            assert_within(plain, answer, target)
        below = known * draw.choice([BELOW, BELOW, draw.uniform(0.8, 1.0)])
        answer = search_all(plain, below, Deadline(20.0), known=known)
        assert (answer.outcome, answer.alarm) == (Outcome.NONE, None), (seed, below)
        if sleepers:
            assert_least_lost(sizes, loads, gpus, sleepers, below)


def assert_least_lost(sizes, loads, gpus, sleepers, target):
    """Try every choice of sleepers; two solvers find the cheapest, and say that it is."""
    costs = []
    for count in range(len(sleepers) + 1):
        for asleep in combinations(sleepers, count):
            awake = [n for n in range(len(sizes)) if n not in asleep]
            best, _ = lowest([sizes[n] for n in awake], [loads[n] for n in awake], gpus)
            if best <= target * (1 + 1e-12):
                costs.append(fsum(sleepers[n] for n in asleep))
    problem = fleet(sizes, loads, gpus, sleepers.items())
    answer = search_all(problem, target, Deadline(20.0))
    assert answer.alarm is None
    if not costs:
        assert (answer.outcome, answer.cost_bound) == (Outcome.NONE, inf)
        return
    assert answer.outcome is Outcome.FOUND
    assert_within(problem, answer, target)
    margin = 1e-6 * sum(sleepers.values())
    assert lost(problem, answer.placement) == pytest.approx(min(costs), abs=margin)
    assert min(costs) - margin <= answer.cost_bound <= min(costs)


@st.composite
def constrained(draw):
    """Small fleets with every kind of rule."""
    gpus = [
        Gpu(
            f"g{n}",
            draw(st.sampled_from([24, 40, 40])),
            draw(st.sampled_from("AB")),
            {"compute": draw(st.sampled_from([0, 1, 2]))} if draw(st.booleans()) else {},
            f"n{n // 2}",
        )
        for n in range(draw(st.integers(2, 3)))
    ]
    amounts = st.sampled_from([0, 0.3, 0.7])
    models = []
    for number in range(draw(st.integers(1, 4))):
        shards = draw(st.sampled_from([1, 1, 2]))
        replicas = draw(st.sampled_from([1, 1, 1, 2]))
        models.append(
            Model(
                f"m{number}",
                draw(st.sampled_from([0, 3.3, 7.1, 12, 20])),
                load=[draw(st.sampled_from([0, 1, 2.5, 7 / 9, 4])) for _ in "ab"],
                uses={"compute": {"A": draw(amounts), "B": draw(amounts)}},
                shared_uses={"compute": draw(amounts)} if draw(st.booleans()) else {},
                replicas=replicas,
                most_replicas=replicas + draw(st.sampled_from([0, 0, 1])),
                shards=shards,
                never=draw(st.sampled_from([(), (), ("g0",), ("n0",)])),
                only=draw(st.sampled_from([(), (), ("A",)])) if _has_a(gpus) else (),
                sleep_cost=draw(st.sampled_from([None, None, 0, 1, 2.5])),
            )
        )
    single = [m.name for m in models if m.most_replicas * m.shards == 1]
    together = (tuple(single[:2]),) if len(single) > 1 and draw(st.booleans()) else ()
    apart = ((models[0].name, models[-1].name),) if len(models) > 2 and draw(st.booleans()) else ()
    if together and apart and set(together[0]) == set(apart[0]):
        apart = ()
    most = draw(st.sampled_from([None, None, 2]))
    return Problem(gpus, models, apart, together, most)


def _has_a(gpus):
    return any(gpu.kind == "A" for gpu in gpus)


def pressures_by_cost(problem):
    """The lowest pressure for every cost of sleeping, by trying everything."""
    names = [gpu.name for gpu in problem.gpus]
    options = []
    for model in problem.models:
        counts = range(model.replicas, model.most_replicas + 1)
        sizes = [count * model.shards for count in counts if count * model.shards <= len(names)]
        awake = [places for size in sizes for places in permutations(names, size)]
        options.append(awake + ([()] if model.sleep_cost is not None else []))
    best = {}
    for chosen in product(*options):
        placement = dict(zip((m.name for m in problem.models), chosen, strict=True))
        verdict = verify(problem, placement)
        if verdict.valid:
            cost = lost(problem, placement)
            best[cost] = min(best.get(cost, inf), verdict.pressure)
    return best


@campaign(120)
@given(constrained(), st.sampled_from([0.9, BELOW, 1.0, 1.1, inf]))
def test_constrained_fleets_against_brute_force(problem, factor):
    best = pressures_by_cost(problem)
    lowest_of_all = min(best.values(), default=inf)
    target = factor * lowest_of_all if 0.0 < lowest_of_all < inf else factor
    costs = [cost for cost, pressure in best.items() if pressure <= target]
    answer = search_all(problem, target, Deadline(20.0))
    assert answer.alarm is None
    if not costs:
        assert (answer.outcome, answer.cost_bound) == (Outcome.NONE, inf)
        return
    assert answer.outcome is Outcome.FOUND
    assert_within(problem, answer, target)
    margin = 1e-6 * sum(model.sleep_cost or 0.0 for model in problem.models)
    assert lost(problem, answer.placement) <= min(costs) + margin
    assert min(costs) - margin <= answer.cost_bound <= min(costs)


@pytest.mark.parametrize("solver", ["CP-SAT", "SCIP"])
@campaign(120)
@given(constrained(), st.sampled_from([0.9, BELOW, 1.0, 1.1, inf]))
def test_each_solver_alone_agrees_with_brute_force(solver, problem, factor):
    best = pressures_by_cost(problem)
    lowest_of_all = min(best.values(), default=inf)
    target = factor * lowest_of_all if 0.0 < lowest_of_all < inf else factor
    choices, deadline = choices_of(problem), Deadline(20.0)
    robust = robust_target(problem, choices, target)
    if solver == "SCIP":
        program = ScipProgram(problem, choices, robust, deadline)
    else:
        program = CpSatProgram(problem, choices, robust, deadline, workers=1)
    reply = search_exactly(program, problem, choices, target, deadline)
    costs = [cost for cost, pressure in best.items() if pressure <= target]
    assert reply.outcome is (Outcome.FOUND if costs else Outcome.NONE)
    assert reply.cost_bound <= min(costs, default=inf)
    if costs:
        margin = 1e-6 * sum(model.sleep_cost or 0.0 for model in problem.models)
        assert lost(problem, reply.placement) <= min(costs) + margin
        assert min(costs) - margin <= reply.cost_bound


def test_numbers_of_replicas_that_are_open():
    gpus = [Gpu(f"g{n}", 40) for n in range(3)]
    models = [Model("a", 10, load=9, most_replicas=3), Model("b", 5, load=4, most_replicas=2)]
    problem = Problem(gpus, models)
    best = lowest_pressure(problem)
    assert search_all(problem, best, Deadline(20.0)).outcome is Outcome.FOUND
    assert search_all(problem, best * BELOW, Deadline(20.0)).outcome is Outcome.NONE


def test_a_limit_on_the_pressure_counts_as_the_checker_counts_it():
    best = verify_best()
    problem = issue(most_pressure=best / (1 + SLACK / 2))
    assert search_all(problem, inf, Deadline(20.0)).outcome is Outcome.FOUND
    assert (
        search_all(issue(most_pressure=best / (1 + 3 * SLACK)), inf, Deadline(20.0)).outcome
        is Outcome.NONE
    )


def verify_best():
    groups = lowest(SIZES, LOADS, 4)[1]
    return verify(issue(), {f"m{n}": (f"g{g}",) for n, g in enumerate(groups)}).pressure


@pytest.fixture
def lying(monkeypatch):
    """Let a solver deny everything."""

    def lie(program):
        monkeypatch.setattr(program, "search", lambda *_: NONE)

    return lie


def test_a_cp_sat_that_lies_is_found_out(lying):
    lying(CpSatProgram)
    answer = search_all(issue(), 1.5, Deadline(20.0))
    assert answer.outcome is Outcome.FOUND
    assert_within(issue(), answer, 1.5)
    pressure = verify(issue(), answer.placement).pressure
    assert answer.alarm == Alarm("CP-SAT", 1.5, pressure)


def test_a_scip_that_lies_proves_nothing(lying, monkeypatch):
    lying(ScipProgram)
    undecided = Finding(Outcome.UNDECIDED, {}, 0.0)
    monkeypatch.setattr(CpSatProgram, "search", lambda *_: undecided)
    answer = search_all(issue(), 1.5, Deadline(20.0))
    assert (answer.outcome, answer.alarm) == (Outcome.UNDECIDED, None)
    answer = search_all(issue(), 1.5, Deadline(20.0), known=KNOWN)
    assert (answer.outcome, answer.alarm) == (Outcome.UNDECIDED, Alarm("SCIP", 1.5, KNOWN))


def test_two_that_lie_are_found_out_by_what_is_known(lying):
    lying(CpSatProgram)
    lying(ScipProgram)
    for target in (KNOWN, 1.5, inf):
        answer = search_all(issue(), target, Deadline(20.0), known=KNOWN)
        assert answer.outcome is Outcome.UNDECIDED
        assert answer.alarm is not None
        assert (answer.alarm.proof, answer.alarm.bound) == ("CP-SAT", target)
    below = search_all(issue(), 1.41, Deadline(20.0), known=KNOWN)
    assert (below.outcome, below.alarm) == (Outcome.NONE, None)


@pytest.mark.parametrize("liar", [CpSatProgram, ScipProgram])
def test_who_lies_about_costs_proves_nothing(liar, monkeypatch):
    honest = liar.search

    def dearer(program, deadline):
        reply = honest(program, deadline)
        return reply._replace(cost_bound=reply.cost_bound + 3.0)

    problem = issue(sleepers={3: 1.0, 8: 2.0}.items())
    expected = search_all(problem, 1.38, Deadline(20.0))
    assert 0.99 < expected.cost_bound <= 1.0
    monkeypatch.setattr(liar, "search", dearer)
    answer = search_all(problem, 1.38, Deadline(20.0))
    assert answer.outcome is Outcome.FOUND
    assert answer.cost_bound <= 1.0
    if liar is CpSatProgram:
        assert answer.alarm is not None
        assert (answer.alarm.proof, answer.cost_bound) == ("CP-SAT", 0.0)


def test_a_placement_too_full_by_a_hair_is_cut_off_and_the_search_goes_on(monkeypatch):
    """Loads that are no multiples of anything: many fits are too good by less than the rounding."""
    monkeypatch.setattr(two_solvers, "robust_target", lambda _problem, _choices, target: target)
    draw = random.Random(7)
    loads = [draw.uniform(1, 9) for _ in range(8)]
    problem = fleet([5.0] * 8, [(load,) for load in loads], 2)
    best = lowest_pressure(problem)
    assert search_all(problem, best * (1 - 1e-12), Deadline(20.0)).outcome is Outcome.NONE
    answer = search_all(problem, best, Deadline(20.0))
    assert answer.outcome is Outcome.FOUND
    assert_within(problem, answer, best)


def hard():
    """GPUs that would have to be filled all but perfectly: it takes long to see whether."""
    draw = random.Random(3)
    models = [Model(f"m{n}", draw.uniform(20, 30), load=1) for n in range(60)]
    memory = sum(model.size_gb for model in models) / 20 * 1.0005
    return Problem([Gpu(f"g{n}", memory) for n in range(20)], models)


@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
def test_time_is_kept(seconds):
    search_all(issue(), 1.5, Deadline(20.0))  # what is imported late is there now
    started = perf_counter()
    answer = search_all(hard(), inf, Deadline(seconds))
    assert perf_counter() - started < seconds + 0.3
    assert answer.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("only", [None, "SCIP"])
def test_a_stop_is_heard(only, monkeypatch):
    if only:
        monkeypatch.setattr(CpSatProgram, "search", lambda *_: Finding(Outcome.NONE, {}, inf))
    started = perf_counter()
    answer = search_all(
        hard(), inf, Deadline(60.0, stop_when=lambda: perf_counter() - started > 1.0)
    )
    assert perf_counter() - started < 1.5
    assert answer.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    "problem",
    [
        Problem([Gpu("g", 40)], [Model("m", 0, load=0)]),
        Problem([Gpu("g", 40, limits={"x": 0})], [Model("m", 1, load=1, uses={"x": 1})]),
        Problem([Gpu("g", 1e-300)], [Model("m", 1e-310, load=1e-320)]),
        Problem([Gpu("g", 1e300)], [Model("m", 1e299, load=1e-300)]),
        Problem([Gpu("g", 40)], [Model("m", 1e-90, load=1e90), Model("n", 39.9, load=1e-90)]),
        Problem([Gpu("g", 40)], [Model("m", 50, load=1, sleep_cost=0)]),
        Problem([Gpu("g", 40)], [Model("m", 1, load=1, replicas=3)]),
    ],
)
@pytest.mark.parametrize("target", [0.0, 1e-200, 1.0, 1e200, inf])
def test_odd_numbers_raise_nothing(problem, target):
    answer = search_all(problem, target, Deadline(5.0))
    best = pressures_by_cost(problem)
    within = [pressure for pressure in best.values() if pressure <= target]
    if answer.outcome is Outcome.FOUND:
        assert_within(problem, answer, target)
    elif answer.outcome is Outcome.NONE:
        assert not within


def test_what_is_too_large_is_not_asked():
    assert places(issue()) == 2 * 9 * 4
    assert small_enough(issue())
    large = Problem(
        [Gpu(f"g{n}", 40) for n in range(101)], [Model(f"m{n}", 1, load=1) for n in range(100)]
    )
    assert not small_enough(large)
