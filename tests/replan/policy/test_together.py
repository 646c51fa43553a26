"""Models that must share a GPU: they come back and move as a whole, wherever there is a place."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.follow.words import decision_words
from colocate.replan.policy.decide import decide
from colocate.replan.policy.decision import EngineObstacle, PolicyReason
from colocate.replan.policy.fitting import Fitting
from colocate.replan.policy.history import EngineMove, held_places, moves_between
from colocate.replan.policy.outlook import Outlook
from colocate.replan.policy.proposals import nearby_proposals, unserved_models
from colocate.replan.policy.restoring import restorations
from tests.replan.policy.test_decide import QUICK, fleet, rates
from tests.simulate.drawn_fleets import KIND, asked


def group_of(problem, *names, **fields):
    return replace(problem, together=(names,), **fields)


def test_a_group_comes_back_as_a_whole_where_it_has_room():
    problem = group_of(fleet(gpus=3, models="abcd", size=12.0), "a", "b")
    serving = {"c": ("g0",), "d": ("g0",)}
    found = decide(problem, serving, rates(0.1, 0.1, 0.1, 0.1), settings=QUICK)
    assert (found.stay, found.reason) == (False, PolicyReason.NOT_SERVED)
    assert found.placement["a"] == found.placement["b"]
    assert found.placement["a"] in (("g1",), ("g2",))
    assert {move.model for move in found.moves if move.arrived} == {"a", "b"}


@pytest.mark.parametrize("known", [(), rates(0.3, 0.0, 0.0, 0.0)])
def test_a_group_comes_back_however_rarely_it_is_asked(known):
    problem = group_of(fleet(gpus=2, models="abcd", size=12.0), "b", "c", "d")
    found = decide(problem, {"a": ("g0",)}, known, settings=QUICK)
    assert found.placement["b"] == found.placement["c"] == found.placement["d"] == ("g1",)


def test_others_make_room_for_a_group():
    problem = group_of(fleet(gpus=2, models="abcd", size=13.0), "a", "b")
    serving = {"c": ("g0",), "d": ("g1",)}
    full = decide(
        replace(problem, most_models=2), serving, rates(0.1, 0.1, 0.1, 0.1), settings=QUICK
    )
    assert full.placement["a"] == full.placement["b"]
    assert full.placement["c"] == full.placement["d"] != full.placement["a"]


def test_two_others_leave_where_one_is_not_enough():
    problem = group_of(fleet(gpus=3, models="abcdef", size=10.0), "a", "b", "c", "d")
    serving = {"e": ("g0",), "f": ("g0",)}
    pinned = tuple(m.changed(only=("g0",)) if m.name == "a" else m for m in problem.models)
    found = decide(replace(problem, models=pinned), serving, rates(0.1, 0.1), settings=QUICK)
    assert {found.placement[name] for name in "abcd"} == {("g0",)}
    assert "g0" not in found.placement["e"] + found.placement["f"]


def test_a_group_makes_room_as_a_whole():
    problem = group_of(fleet(gpus=2, models="abc", size=15.0), "a", "b")
    pinned = tuple(
        m.changed(only=("g0",), size_gb=20.0) if m.name == "c" else m for m in problem.models
    )
    serving = {"a": ("g0",), "b": ("g0",)}
    found = decide(replace(problem, models=pinned), serving, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert found.placement == {"a": ("g1",), "b": ("g1",), "c": ("g0",)}


def test_one_missing_model_comes_to_the_others_or_all_go_where_they_fit():
    problem = group_of(fleet(gpus=2, models="abc", size=12.0), "a", "b")
    there = decide(problem, {"a": ("g1",), "c": ("g0",)}, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert there.placement["a"] == there.placement["b"]
    big = problem.models[2].changed(size_gb=20.0, only=("g1",))
    tight = replace(problem, models=(*problem.models[:2], big))
    found = decide(tight, {"a": ("g1",), "c": ("g1",)}, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert found.placement == {"a": ("g0",), "b": ("g0",), "c": ("g1",)}


def test_groups_that_share_a_model_are_one():
    problem = replace(fleet(gpus=3, models="abcd", size=9.0), together=(("a", "b"), ("b", "c")))
    found = decide(problem, {"d": ("g0",)}, rates(0.1), settings=QUICK)
    assert found.placement["a"] == found.placement["b"] == found.placement["c"]


def test_sleepers_of_a_group_come_along_only_where_there_is_room():
    problem = group_of(fleet(gpus=2, models="abc", size=13.0), "a", "b", "c")
    sleepy = tuple(m.changed(sleep_cost=1.0) if m.name == "c" else m for m in problem.models)
    wide = decide(replace(problem, models=sleepy), {}, rates(0.1, 0.1, 0.5), settings=QUICK)
    assert wide.placement["a"] == wide.placement["b"] == wide.placement["c"]
    big = tuple(m.changed(size_gb=16.0) for m in sleepy)
    tight = decide(replace(problem, models=big), {}, rates(0.1, 0.1, 0.5), settings=QUICK)
    assert tight.placement["a"] == tight.placement["b"]
    assert not tight.placement.get("c")


@pytest.mark.parametrize(
    ("changes", "obstacle", "words"),
    [
        (
            {"size_gb": 25.0},
            EngineObstacle.MEMORY,
            "need 50 GB on a GPU, of which 40 GB at most are free",
        ),
        ({"only": ("g0",)}, EngineObstacle.APART, "must be apart"),
        ({"uses": {"seats": 0.6}}, EngineObstacle.RESOURCE, "too little seats"),
    ],
)
def test_what_is_in_the_way_is_told(changes, obstacle, words):
    gpus = [Gpu(f"g{n}", 40.0, KIND, {"seats": 1.0}) for n in range(2)]
    plain = fleet(models="abc")
    models = [m if m.name == "c" else m.changed(**changes) for m in plain.models]
    models[2] = models[2].changed(only=("g0",))
    problem = Problem(gpus, models, apart=[("b", "c")], together=[("a", "b")])
    found = decide(problem, {"c": ("g0",)}, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert (found.stay, found.reason) == (True, PolicyReason.NO_ROOM)
    assert [(each.models, each.obstacle) for each in found.unserved] == [(("a", "b"), obstacle)]
    assert decision_words(found).startswith("stay: a and b have no engine: they must share a GPU")
    assert words in decision_words(found)


def test_pins_that_leave_a_group_no_gpu_are_told():
    problem = group_of(fleet(models="abc"), "a", "b")
    a, b, c = problem.models
    problem = replace(problem, models=(a.changed(only=("g0",)), b.changed(only=("g1",)), c))
    found = decide(problem, {"c": ("g0",)}, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert [each.obstacle for each in found.unserved] == [EngineObstacle.PINS]
    assert "may be on no GPU that is there" in decision_words(found)


def test_a_group_without_a_place_keeps_no_other_model_from_its_engine():
    problem = group_of(fleet(gpus=2, models="abcd", size=10.0), "a", "b")
    big = tuple(m.changed(size_gb=30.0) if m.name in "ab" else m for m in problem.models)
    found = decide(
        replace(problem, models=big), {"c": ("g0",)}, rates(0.9, 0.9, 0.1, 0.0), settings=QUICK
    )
    assert (found.stay, found.reason) == (False, PolicyReason.NOT_SERVED)
    assert found.placement["d"]
    assert [each.models for each in found.unserved] == [("a", "b")]
    assert "a and b have no engine" in decision_words(found)


@pytest.mark.parametrize("recent", [True, False])
def test_a_model_that_cannot_have_an_engine_does_not_lift_the_rules_for_others(recent):
    problem = fleet(gpus=2, models="abc")
    big = tuple(m.changed(size_gb=90.0) if m.name == "c" else m for m in problem.models)
    history = [EngineMove("ab"[n % 2], ("g1",), 1000.0, n > 1) for n in range(4 if recent else 0)]
    crowded = {"a": ("g0",), "b": ("g0",)}
    found = decide(
        replace(problem, models=big), crowded, rates(0.8, 0.8, 0.1), history, 1100.0, QUICK
    )
    assert found.reason is (PolicyReason.NO_ROOM if recent else PolicyReason.PAYS)
    assert [each.models for each in found.unserved] == [("c",)]


def test_a_gpu_that_is_over_a_limit_is_no_reason_against_engines_elsewhere():
    gpus = [Gpu(f"g{n}", 40.0, KIND, {"compute": 0.5}) for n in range(2)]
    uses = {"a": 0.8, "b": 0.1, "c": 0.2}
    models = [m.changed(uses={"compute": uses[m.name]}) for m in fleet(models="abc").models]
    found = decide(Problem(gpus, models), {"a": ("g0",)}, rates(0.1, 0.1, 0.1), settings=QUICK)
    assert found.placement == {"a": ("g0",), "b": ("g1",), "c": ("g1",)}


def test_a_replica_may_relieve_a_gpu_that_stays_over_a_limit():
    gpus = [Gpu(f"g{n}", 40.0, KIND, {"compute": 1.0}) for n in range(2)]
    hot, other = fleet(models="ab").models
    hot = hot.changed(most_replicas=2, shared_uses={"compute": 1.6})
    other = other.changed(only=("g0",), shared_uses={"compute": 0.4})
    crowded = {"a": ("g0",), "b": ("g0",)}
    found = decide(Problem(gpus, [hot, other]), crowded, rates(2.5, 0.3), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert found.placement == {"a": ("g0", "g1"), "b": ("g0",)}
    fuller = {"a": ("g0", "g1"), "b": ("g0",)}
    assert Fitting(Problem(gpus, [hot, other])).fits(fuller, {"b": ("g0",), "a": ("g0",)})
    assert not Fitting(Problem(gpus, [hot, other])).fits(crowded, fuller)


def test_a_model_with_shards_that_finds_one_gpu_only_is_told_what_is_missing():
    gpus = [Gpu("g0", 40.0, KIND, node="n"), Gpu("g1", 40.0, KIND, node="n")]
    wide, big = fleet(models="ab").models
    models = [wide.changed(shards=2, size_gb=20.0), big.changed(size_gb=36.0, only=("g1",))]
    found = decide(Problem(gpus, models), {"b": ("g1",)}, rates(0.1, 0.1), settings=QUICK)
    assert [each.obstacle for each in found.unserved] == [EngineObstacle.MEMORY]
    assert decision_words(found) == (
        "stay: a has no engine: it needs 10 GB on each of 2 GPUs of a node, of which 4 GB at most "
        "are free, and no way was found to make room"
    )
    apart = Problem(gpus, [models[0], big.changed(only=("g1",))], apart=[("a", "b")])
    found = decide(apart, {"b": ("g1",)}, rates(0.1, 0.1), settings=QUICK)
    assert [each.obstacle for each in found.unserved] == [EngineObstacle.APART]


def test_a_busy_group_moves_as_a_whole_and_what_is_held_stays():
    problem = group_of(fleet(gpus=2, models="abc"), "a", "b")
    crowded = {"a": ("g0",), "b": ("g0",), "c": ("g0",)}
    found = decide(problem, crowded, rates(0.3, 0.3, 0.9), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert found.placement["a"] == found.placement["b"] != found.placement["c"]
    pinned = tuple(m.changed(only=("g0",)) if m.name == "c" else m for m in problem.models)
    found = decide(replace(problem, models=pinned), crowded, rates(0.3, 0.3, 0.9), settings=QUICK)
    assert found.placement == {"a": ("g1",), "b": ("g1",), "c": ("g0",)}
    history = (EngineMove("b", ("g0",), 1000.0, True),)
    held = decide(
        replace(problem, models=pinned), crowded, rates(0.3, 0.3, 0.9), history, 1100.0, QUICK
    )
    assert held.reason is PolicyReason.NOTHING_BETTER


def drawn(seed):
    """Return a random fleet with groups, pins, shards and limits, and what a lost GPU left."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(3, 5))
    gpus = [
        Gpu(f"g{n}", float(rng.choice([24.0, 40.0])), KIND, {"seats": 4.0}, node=f"n{n // 2}")
        for n in range(number)
    ]
    names = list("abcdef"[: int(rng.integers(4, 7))])
    rng.shuffle(names)
    shared = names[: int(rng.integers(2, 4))]
    models = [
        Model(
            name,
            float(rng.integers(4, 15)),
            load=1.0,
            requests=asked(),
            uses={"seats": float(rng.integers(0, 3))},
            least_cache_gb=float(rng.integers(0, 3)),
            shards=2 if name not in shared and rng.random() < 0.25 else 1,
            only=tuple(rng.choice([g.name for g in gpus], 2, False)) if rng.random() < 0.15 else (),
            sleep_cost=1.0 if rng.random() < 0.1 else None,
        )
        for name in sorted(names)
    ]
    apart = [(shared[0], names[-1])] if rng.random() < 0.3 else []
    most = int(rng.integers(3, 5)) if rng.random() < 0.3 else None
    return Problem(gpus, models, apart, [tuple(shared)], most), rng


def brute_force(problem, fixed):
    """Yield every placement that keeps some models where they are and breaks no rule."""
    choices = []
    for model in problem.models:
        if model.name in fixed:
            choices.append([fixed[model.name]])
            continue
        open_to = [gpu for gpu in problem.gpus if model.may_be_on(gpu)]
        seats = [
            tuple(gpu.name for gpu in seat)
            for seat in combinations(open_to, model.shards)
            if len({gpu.node for gpu in seat}) == 1
        ]
        choices.append(seats + ([()] if model.sleep_cost is not None else []))
    for seats in product(*choices):
        places = dict(zip((m.name for m in problem.models), seats, strict=True))
        if is_valid(problem, places):
            yield places


def is_valid(problem, places):
    """Whether a placement breaks no rule; latencies and pressures do not count."""
    for group in problem.together:
        if len({places[name] for name in group if places.get(name)}) > 1:
            return False
    for gpu in problem.gpus:
        here = [m for m in problem.models if gpu.name in places.get(m.name, ())]
        names = {model.name for model in here}
        if sum((m.size_gb + m.least_cache_gb) / m.shards for m in here) > gpu.memory_gb + 1e-9:
            return False
        if sum(dict(dict(m.uses)["seats"])[""] for m in here) > 4.0:
            return False
        if problem.most_models is not None and len(here) > problem.most_models:
            return False
        if any(len(names & set(group)) > 1 for group in problem.apart):
            return False
    return True


def calm(places):
    """Rate all placements alike."""
    return Outlook(100.0, 50.0, dict.fromkeys(places, 1.0))


def lost_of(seed):
    """Return a random fleet of which a GPU with a group was lost, and where the others are."""
    problem, rng = drawn(seed)
    before = next(brute_force(problem, {}), None)
    if before is None:
        return None
    shared = next(
        (before[n] for n in problem.together[0] if before[n]), (str(rng.choice(["g0", "g1"])),)
    )
    models = [
        m.changed(only=tuple(n for n in m.only if n not in shared) or ()) for m in problem.models
    ]
    left = replace(
        problem,
        gpus=tuple(gpu for gpu in problem.gpus if gpu.name not in shared),
        models=tuple(models),
    )
    serving = {name: at for name, at in before.items() if at and set(at).isdisjoint(shared)}
    return (left, serving) if is_valid(left, {m.name: () for m in models} | serving) else None


@pytest.mark.parametrize("seed", range(150))
def test_where_there_is_a_place_for_a_group_it_comes_back(seed):
    found = lost_of(seed)
    if found is None:
        return
    problem, serving = found
    missing = unserved_models(problem, serving)
    proposals = restorations(problem, serving, calm)
    places = proposals[-1].places if proposals else serving
    whole = {model.name: () for model in problem.models} | dict(places)
    assert is_valid(problem, whole)
    left = unserved_models(problem, places)
    if missing and left:
        assert next(brute_force(problem, serving), None) is None, (serving, places)


@pytest.mark.parametrize("seed", range(60))
def test_no_placement_that_is_rated_splits_a_group_or_breaks_a_rule(seed):
    problem, rng = drawn(seed)
    places = next(brute_force(problem, {}), None)
    if places is None:
        return
    rated = []

    def rate(at):
        rated.append(at)
        lost = {name: float(rng.uniform(0.0, 5.0)) for name in places}
        return Outlook(100.0, float(rng.uniform(50.0, 90.0)), lost)

    history = [EngineMove(problem.together[0][0], ("g1",), 0.0, False)]
    held = held_places(history, 1.0, 600.0)
    nearby_proposals(problem, places, held, rate)
    for at in rated:
        assert is_valid(problem, at)
        assert not held.intersection(m.place for m in moves_between(problem, places, at, 0.0))
