"""What does not fit and what would help: brute force agrees on all small problems."""

import time
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, Status, solve, verify
from colocate.advise.relaxations import relaxations, unconstrained
from colocate.advise.remedies.any_placement import any_placement
from colocate.advise.remedies.conflict import find_conflict
from colocate.advise.remedies.diagnosis import diagnose
from colocate.advise.remedies.shortage import Lack, Shortage
from colocate.advise.what_if import Change, ChangeKind, Combination, Options
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.warm_up import warm_up
from tests.campaign import campaign
from tests.solver.test_constraints import fleet


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Searches here are so short that compiling would take all of their time."""
    warm_up(Problem([Gpu("g", 80)], [Model("m", 1, load=1)], most_models=1))


def fits(problem):
    """Whether there is any placement, by trying every one."""
    if problem is None:
        return True
    gpus = [gpu.name for gpu in problem.gpus]
    options = [
        [()] * (m.sleep_cost is not None)
        + [
            places
            for replicas in range(m.replicas, m.most_replicas + 1)
            for places in permutations(gpus, replicas * m.shards)
        ]
        for m in problem.models
    ]
    names = [model.name for model in problem.models]
    return any(
        verify(problem, dict(zip(names, places, strict=True))).valid for places in product(*options)
    )


def only_with(problem, names):
    return problem.awake({model.name for model in problem.models} - set(names))


@st.composite
def crowded(draw):
    """Problems that mostly do not fit."""
    gpus = fleet(draw(st.lists(st.sampled_from([40, 80]), min_size=4, max_size=4)))
    gpus = gpus[: draw(st.integers(2, 4))]
    tags = [name for gpu in gpus for name in (gpu.name, gpu.node, gpu.kind)]
    models = []
    for number in range(draw(st.integers(1, 4))):
        replicas, shards = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (2, 1), (1, 2)]))
        models.append(
            Model(
                f"m{number}",
                draw(st.sampled_from([10, 30, 45, 60, 90])),
                load=draw(st.sampled_from([0, 1, 2, 5])),
                replicas=replicas,
                most_replicas=replicas + (number == 0 and shards == 1 and draw(st.booleans())),
                shards=shards,
                only=draw(st.lists(st.sampled_from(tags), max_size=1)),
                never=draw(st.lists(st.sampled_from(tags), max_size=1)),
                sleep_cost=draw(st.sampled_from([None, None, None, 1])),
            )
        )
    names = [model.name for model in models]
    whole = [model.name for model in models if model.most_replicas * model.shards == 1]
    apart = (tuple(names[:2]),) if len(names) > 1 and draw(st.booleans()) else ()
    together = (tuple(whole[-2:]),) if len(whole) > 1 and not apart and draw(st.booleans()) else ()
    most = draw(st.sampled_from([None, None, 1, 2]))
    pressure = draw(st.sampled_from([None, None, 0.05]))
    return Problem(tuple(gpus), tuple(models), apart, together, most, pressure)


@campaign(100)
@given(crowded())
def test_whether_it_fits_is_what_brute_force_says(problem):
    outcome, placement = any_placement(problem, Deadline(5.0))
    assert outcome is (Outcome.FOUND if fits(problem) else Outcome.NONE)
    if outcome is Outcome.FOUND:
        assert verify(problem, placement).valid


@campaign(150)
@given(crowded())
def test_conflicts_are_real_and_minimal(problem):
    conflict = find_conflict(problem, Deadline(30.0))
    if conflict is None:
        assert fits(problem)
        return
    assert conflict.minimal
    assert not fits(only_with(problem, conflict.models))
    for left_out in conflict.models:
        assert fits(only_with(problem, [name for name in conflict.models if name != left_out]))


@campaign(40)
@given(crowded())
def test_exactly_the_constraints_that_are_to_blame_are_named(problem):
    assume(not fits(problem))
    diagnosis = diagnose(problem, seconds=60.0)
    assert not diagnosis.fits
    assert diagnosis.undecided == ()
    expected = [(c.kind, c.names) for c in relaxations(problem) if fits(c.problem)]
    assert [(r.change.kind, r.change.names) for r in diagnosis.constraints] == expected
    for remedy in diagnosis.constraints:
        assert verify(remedy.change.problem, remedy.placement).valid


def test_what_fits_after_all_is_said_to_fit():
    diagnosis = diagnose(Problem([Gpu("g", 80)], [Model("m", 10, load=1)]))
    assert diagnosis.fits
    assert diagnosis.conflict is None


@campaign(100)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6),
    st.lists(st.integers(5, 20), min_size=1, max_size=3),
)
def test_missing_memory_is_what_brute_force_says(sizes, memories):
    gpus = [Gpu(f"g{n}", memory) for n, memory in enumerate(memories)]
    problem = Problem(gpus, [Model(f"m{n}", size, load=1) for n, size in enumerate(sizes)])
    conflict = find_conflict(problem, Deadline(30.0))
    assume(conflict is not None)
    held = [m.size_gb for m in problem.models if m.name in conflict.models]
    least = min(
        sum(
            max(0, sum(s for s, on in zip(held, places, strict=True) if on == g) - memory)
            for g, memory in enumerate(memories)
        )
        for places in product(range(len(memories)), repeat=len(held))
    )
    assert conflict.shortage.lack is Lack.MEMORY
    assert conflict.shortage.lacking_gb == pytest.approx(least, abs=0.01)
    assert conflict.size_gb == sum(held)


def test_one_model_too_large_is_a_conflict_by_itself():
    problem = Problem(
        [Gpu("a", 80), Gpu("b", 48)], [Model("m", 99, load=1), Model("n", 60, load=1)]
    )
    conflict = find_conflict(problem, Deadline(10.0))
    assert conflict.models == ("m",)
    assert (conflict.shortage.lack, conflict.shortage.lacking_gb) == (
        Lack.MEMORY,
        pytest.approx(19, abs=0.01),
    )
    assert (conflict.gpus, conflict.memory_gb, conflict.largest_gb) == (2, 128, 80)


def test_constraints_without_memory_and_pressure_are_told_apart():
    models = [Model(f"m{n}", 1, load=1) for n in range(3)]
    gpus = [Gpu("a", 80), Gpu("b", 80)]
    apart = Problem(gpus, models, apart=[("m0", "m1", "m2")])
    assert find_conflict(apart, Deadline(10.0)).shortage == Shortage(Lack.CONSTRAINTS)
    conflict = find_conflict(Problem(gpus, models, most_models=1), Deadline(10.0))
    assert conflict.shortage == Shortage(
        Lack.RESOURCE, resource="number of models", needed=2, limit=1
    )
    conflict = find_conflict(Problem(gpus, models, most_pressure=0.02), Deadline(10.0))
    assert conflict.shortage.lack is Lack.PRESSURE
    sharded = Problem(gpus, [Model("t", 10, load=1, shards=4)])
    conflict = find_conflict(sharded, Deadline(10.0))
    assert (conflict.shards, conflict.largest_node, conflict.shortage.lack) == (
        4,
        2,
        Lack.CONSTRAINTS,
    )


@campaign(60)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
    st.lists(st.sampled_from(["slow", "fast"]), min_size=1, max_size=3),
)
def test_a_short_resource_is_what_brute_force_says(uses, kinds):
    gpus = [Gpu(f"g{n}", 80, kind, {"compute": 10}) for n, kind in enumerate(kinds)]
    models = [
        Model(f"m{n}", 1, load=1, uses={"compute": {"slow": 2 * use, "fast": use}})
        for n, use in enumerate(uses)
    ]
    conflict = find_conflict(Problem(gpus, models), Deadline(30.0))
    assume(conflict is not None)
    some = [use for n, use in enumerate(uses) if f"m{n}" in conflict.models]
    least = min(
        max(
            sum(
                use * (2 if kind == "slow" else 1)
                for use, on in zip(some, places, strict=True)
                if on == g
            )
            for g, kind in enumerate(kinds)
        )
        for places in product(range(len(kinds)), repeat=len(some))
    )
    short = conflict.shortage
    assert (short.lack, short.resource, short.limit) == (Lack.RESOURCE, "compute", 10)
    assert short.needed == pytest.approx(least, abs=1e-4)
    slowest = 1 if "fast" in kinds else 2
    assert conflict.use == slowest * max(some)


def test_a_hair_above_a_limit_is_told():
    gpus = [Gpu("g", 80, "", {"compute": 0.8})]
    conflict = find_conflict(Problem(gpus, [Model("m", 70, load=1, uses={"compute": 0.81})]),
                             Deadline(10.0))  # fmt: skip
    short = Shortage(Lack.RESOURCE, resource="compute", needed=pytest.approx(0.81), limit=0.8)
    assert conflict.shortage == short
    assert (conflict.busiest, conflict.use) == ("m", 0.81)


@pytest.mark.parametrize(
    ("size", "compute", "lack"),
    [(79, 0.81, Lack.RESOURCE), (90, 0.5, Lack.MEMORY), (200, 0.81, Lack.RESOURCE),
     (81, 1.6, Lack.MEMORY)],
)  # fmt: skip
def test_of_two_things_that_are_short_the_smaller_shortage_is_told(size, compute, lack):
    gpus = [Gpu("g", 80, "", {"compute": 0.8})]
    models = [Model("m", size, load=1, uses={"compute": compute})]
    conflict = find_conflict(Problem(gpus, models), Deadline(10.0))
    assert conflict.shortage.lack is lack


@campaign(60)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=5),
    st.lists(st.integers(5, 20), min_size=1, max_size=3),
)
def test_cache_is_short_where_sizes_alone_would_fit(needs, memories):
    gpus = [Gpu(f"g{n}", memory) for n, memory in enumerate(memories)]
    models = [
        Model(f"m{n}", size, load=1, least_cache_gb=cache) for n, (size, cache) in enumerate(needs)
    ]
    conflict = find_conflict(Problem(gpus, models), Deadline(30.0))
    assume(conflict is not None)
    some = [model for model in models if model.name in conflict.models]

    def missing(held):
        return min(
            sum(
                max(0, sum(h for h, on in zip(held, places, strict=True) if on == g) - memory)
                for g, memory in enumerate(memories)
            )
            for places in product(range(len(memories)), repeat=len(held))
        )

    least = missing([model.size_gb + model.least_cache_gb for model in some])
    fits_without = missing([model.size_gb for model in some]) == 0
    lack = Lack.LEAST_CACHE if fits_without else Lack.MEMORY
    assert conflict.shortage == Shortage(lack, pytest.approx(least, abs=0.01))
    assert conflict.cache_gb == sum(model.least_cache_gb for model in some)
    assert conflict.size_gb == conflict.cache_gb + sum(model.size_gb for model in some)


def test_nobody_in_the_conflict_may_sleep():
    models = [Model("m", 60, load=1), Model("n", 60, load=1), Model("s", 10, load=1, sleep_cost=0)]
    conflict = find_conflict(Problem([Gpu("a", 80)], models), Deadline(10.0))
    assert conflict.models == ("m", "n")


def test_without_time_nothing_is_claimed():
    models = [Model(f"m{n}", 45, load=1) for n in range(3)]
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], models, apart=(("m0", "m1"),))
    diagnosis = diagnose(problem, seconds=1e-9)
    assert diagnosis.constraints == ()
    assert diagnosis.remedies == ()
    assert not diagnosis.complete


PIECES = Problem([Gpu("g", 20)], [Model(f"m{n}", 2 + n, load=1) for n in range(7)])


def asleep(names):
    saved = sum(m.size_gb for m in PIECES.models if m.name in names)
    return Change(ChangeKind.SLEEP, PIECES.awake(set(names)), tuple(names), gb=saved)


def test_a_combination_is_of_as_few_as_it_takes():
    names = [model.name for model in PIECES.models[:-1]]
    diagnosis = diagnose(PIECES, lambda *_: [Options([], [Combination(names, asleep)])])
    (remedy,) = diagnosis.remedies
    chosen = remedy.change.names
    assert fits(PIECES.awake(set(chosen)))
    for left_out in chosen:
        assert not fits(PIECES.awake(set(chosen) - {left_out}))


def test_a_ladder_ends_at_its_first_step_that_helps():
    steps = [
        asleep(names)
        for size in (1, 2, 3, 4)
        for names in combinations(("m4", "m5", "m6", "m3"), size)
    ]
    diagnosis = diagnose(PIECES, lambda *_: [Options([steps])])
    (remedy,) = diagnosis.remedies
    assert remedy.change is next(step for step in steps if fits(step.problem))
    assert verify(remedy.change.problem, remedy.placement).valid


def test_remedies_are_ordered_by_things_changed_then_memory():
    sleeping = [asleep(("m6", "m5")), asleep(("m6", "m4", "m3")), asleep(("m5", "m4", "m0"))]
    helping = [change for change in sleeping if fits(change.problem)]
    diagnosis = diagnose(PIECES, lambda *_: [Options([[change] for change in reversed(helping)])])
    found = [(len(r.change.names), r.change.gb) for r in diagnosis.remedies]
    assert len(found) == len(helping) > 1
    assert found == sorted(found)


def test_shards_that_may_be_anywhere_are_as_replicas_of_a_part():
    gpus = [Gpu("a", 80, "", {"c": 9}, "x"), Gpu("b", 80, "", {"c": 9}, "y")]
    problem = Problem(
        gpus, [Model("t", 100, load=4, shards=2, uses={"c": 1}, shared_uses={"c": 4})]
    )
    assert solve(problem).status is Status.INFEASIBLE
    change = next(c for c in relaxations(problem) if c.kind is ChangeKind.ONE_NODE)
    plan = solve(change.problem)
    assert plan.pressure == pytest.approx(2 / 30)
    assert dict(change.problem.models[0].part().uses) == dict(problem.models[0].part().uses)
    assert solve(unconstrained(problem)).pressure == pytest.approx(2 / 30)


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        ([Model("m", 10, load=1, only=["a"], never=["a"])], "model 'm': may be on no GPU"),
        ([Model("m", 70, load=1, only=["b"])],
         "model 'm': size_gb=70, must be at most 60 (the largest GPU that it may be on, 'b')"),
        ([Model("m", 90, load=1)], "models[0] 'm': size_gb=90, must be at most 80 (the largest"),
    ],
)  # fmt: skip
def test_the_reason_knows_where_a_model_may_be(models, sentence):
    plan = solve(Problem([Gpu("a", 80), Gpu("b", 60)], models))
    assert plan.status is Status.INFEASIBLE
    assert sentence in plan.reason


def test_exact_fractions_are_no_conflict():
    models = [Model(f"m{n}", size, load=0) for n, size in enumerate((0.1, 0.2))]
    assert sum(Fraction(model.size_gb) for model in models) > Fraction(0.3)
    assert find_conflict(Problem([Gpu("g", 0.3)], models), Deadline(10.0)) is None


def test_changes_that_were_not_tried_are_admitted():
    def slow():
        time.sleep(0.8)  # all the time of its sort
        yield Change(ChangeKind.GPUS, problem, ("m",))

    problem = Problem([Gpu("a", 10)], [Model("m", 20, load=1)])
    helps = Change(ChangeKind.GPUS, Problem([Gpu("a", 100)], problem.models), ("m",))
    found = diagnose(problem, lambda *_: [Options([slow(), [helps]]), Options([])], seconds=1.0)
    assert not found.remedies
    assert not found.complete
