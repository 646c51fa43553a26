"""The walk through a tree against brute force, and against trees that lie."""

import random
from dataclasses import replace
from itertools import permutations, product
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.problem.certificate import Certificate
from colocate.problem.verify_bound import refuted
from tests.campaign import batches, campaign
from tests.problem.tree_writer import items_of, tree_certificate

MEMORIES = st.sampled_from([24, 48, 80, 80, 20.5])
SIZES = st.sampled_from([0, 5, 8, 12, 20, 24, 30, 40, 26.7, 26.6, 0.1])
LOADS = st.sampled_from([0, 0, 1, 2, 3, 5, 0.3, 1 / 3])
USES = st.sampled_from([0, 0.25, 0.5, 0.3])
NAMES = ["g0", "g1", "n0", "n1", "A", "B"]
RULES = st.sampled_from(["", "t", "te", "c", "d", "bd", "tebcd", "tebcd", "tebcd"])


@st.composite
def constrained(draw):
    """A small problem with a bit of everything."""
    windows = draw(st.sampled_from([1, 1, 2, 3]))
    limited = draw(st.booleans())
    gpus = [
        Gpu(
            f"g{n}",
            draw(MEMORIES),
            draw(st.sampled_from("AAB")),
            {"compute": draw(st.sampled_from([1, 1, 0.5, 0]))} if limited else {},
            draw(st.sampled_from(["n0", "n0", "n1"])),
        )
        for n in range(draw(st.integers(1, 4)))
    ]
    models, parts = [], 0
    for number in range(draw(st.integers(1, 6))):
        replicas, shards = draw(st.sampled_from([(1, 1)] * 8 + [(2, 1), (1, 2), (2, 2)]))
        if replicas * shards > len(gpus) or parts + replicas * shards > 7:
            replicas, shards = 1, 1
        parts += replicas * shards
        load = [draw(LOADS) for _ in range(draw(st.sampled_from([1, windows])))]
        uses = {"compute": {"A": draw(USES), "B": draw(USES)}} if limited else {}
        shared = {"compute": draw(USES)} if limited and draw(st.booleans()) else {}
        pins = {draw(st.sampled_from(["only", "never"])): [draw(st.sampled_from(NAMES))]}
        pins = pins if draw(st.sampled_from([True, False, False, False])) else {}
        pins = {key: [n for n in v if n in _names(gpus)] for key, v in pins.items()}
        models.append(
            Model(
                f"m{number}",
                draw(SIZES),
                load=load,
                uses=uses,
                shared_uses=shared,
                replicas=replicas,
                shards=shards,
                **pins,
            )
        )
    return Problem(gpus, models, *draw(groups(models)), draw(st.sampled_from([None, None, 2, 3])))


def _names(gpus):
    return {name for gpu in gpus for name in (gpu.name, gpu.kind, gpu.node)}


@st.composite
def groups(draw, models):
    """Who must be apart, and who together."""
    names = [model.name for model in models]
    single = [model.name for model in models if model.parts == 1]
    apart, together = [], []
    if len(names) > 1 and draw(st.booleans()):
        apart.append(tuple(draw(st.permutations(names))[: draw(st.integers(2, 3))]))
    if len(single) > 1 and draw(st.sampled_from([True, False, False])):
        pair = tuple(draw(st.permutations(single))[:2])
        if all(len(set(pair) & set(group)) < 2 for group in apart):
            together.append(pair)
    return tuple(apart), tuple(together)


def pressures(problem):
    """The pressures of all valid placements."""
    names = [gpu.name for gpu in problem.gpus]
    options = [list(permutations(names, model.parts)) for model in problem.models]
    for places in product(*options):
        placement = dict(zip((m.name for m in problem.models), places, strict=True))
        verdict = verify(problem, placement)
        if verdict.valid:
            yield verdict.pressure


def test_by_hand():
    """Four GPUs hold one model of five each, so the fifth has no place below 0.1."""
    five = Problem([Gpu(f"g{n}", 80) for n in range(4)], [model(n) for n in range(5)])
    proof = tree_certificate(five, 0.0999, rules="te")
    assert proof.tree == bytes([1, 1, 2, 1, 3, 1, 4, 1] + [0] * 9)
    assert refuted(five, proof) is None
    assert tree_certificate(five, 0.1001) is None
    assert "may be added to a GPU" in refuted(five, replace(proof, bound=0.1001))


def model(number, size=30, **options):
    return Model(f"m{number}", size, **{"load": 1, **options})


@campaign(400)
@given(problem=constrained(), rules=RULES, seed=st.integers(0, 99))
def test_a_true_tree_holds_and_no_other_does(problem, rules, seed):
    rng = random.Random(seed)
    best = min(pressures(problem), default=None)
    options = {"rules": rules, "order": shuffled(problem, rng) if seed % 3 == 0 else None}
    if best is None:
        assert_holds(problem, inf, False, options)
        assert_holds(problem, rng.choice([0.01, 1.0, 100.0]), False, options)
        return
    lie(problem, inf, False, rng, options)
    if best == inf:
        assert_holds(problem, inf, True, options)
        assert_holds(problem, rng.choice([0.01, 1.0, 1e6]), False, options)
        return
    lie(problem, inf, True, rng, options)
    if best > 0:
        assert_holds(problem, best * (1 - 1e-9), False, options)
        assert_holds(problem, best * rng.choice([0.5, 0.9, 0.99]), False, options)
    for factor in (1 + 1e-12, 1.01, 3.0):
        lie(problem, best * factor or 0.1, False, rng, options)


def shuffled(problem, rng):
    order = list(range(len(items_of(problem)[0])))
    rng.shuffle(order)
    return order


def assert_holds(problem, bound, finite, options):
    proof = tree_certificate(problem, bound, finite, **options)
    assert proof is not None
    assert refuted(problem, proof) is None
    assert Certificate.from_dict(proof.as_dict()) == proof
    for cut in range(0, len(proof.tree), len(proof.tree) // 40 + 1):
        fault = refuted(problem, replace(proof, tree=proof.tree[:cut]))
        assert fault is not None or refuted(problem, replace(proof, tree=b"")) is None


def lie(problem, bound, finite, rng, options):
    """Nothing that a search which leaves things out writes is a proof of what is not true."""
    assert tree_certificate(problem, bound, finite, **options) is None
    for share in (0.02, 0.1, 0.3, 0.6):
        for _ in range(6):
            cheat = lambda share=share: rng.random() < share  # noqa: E731
            false = tree_certificate(problem, bound, finite, **options, cheat=cheat)
            if false is not None:
                assert refuted(problem, false) is not None


@campaign(150)
@given(problem=constrained(), seed=st.integers(0, 999))
def test_mutants_of_a_true_tree_prove_nothing_that_is_false(problem, seed):
    rng = random.Random(seed)
    best = min(pressures(problem), default=None)
    if best is None or best in (0, inf):
        return
    proof = tree_certificate(problem, best * (1 - 1e-9))
    for _ in range(60):
        mutant = replace(proof, tree=mutated(proof.tree, rng, len(proof.order)))
        for bound in (best * (1 + 1e-12), best * 1.3, inf):
            assert refuted(problem, replace(mutant, bound=bound)) is not None
        order = list(proof.order)
        rng.shuffle(order)
        swapped = replace(mutant, order=tuple(order), bound=best * 1.001)
        assert refuted(problem, swapped) is not None


def mutated(tree, rng, items):
    symbols = list(tree)
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(symbols) + 1)
        change = rng.randrange(4)
        if change == 0:
            symbols[at:at] = [rng.randrange(items + 3) for _ in range(rng.randint(1, 3))]
        elif change == 1:
            del symbols[at : at + rng.randint(1, 4)]
        elif change == 2 and at < len(symbols):
            symbols[at] = rng.randrange(items + 3)
        else:
            symbols[at : at + rng.randint(1, 6)] = [0]
    return bytes(symbols)


def crowded(rng):
    """Items that all but fill the GPUs, of which many avoid each other."""
    memories = [rng.choice([60, 60, 80]) for _ in range(rng.randint(2, 4))]
    gpus = [
        Gpu(f"g{n}", memory, rng.choice("AB"), node=rng.choice("xy"))
        for n, memory in enumerate(memories)
    ]
    number = rng.randint(4, 7)
    share = sum(memories) / number * rng.choice([0.6, 0.8, 0.9, 0.95])
    models = []
    for n in range(number):
        replicas, shards = rng.choice([(1, 1)] * 7 + [(2, 1), (1, 2)])
        size = max(1, round(rng.gauss(share, share * 0.3) / replicas, 1))
        load = rng.choice([0, 1, 2])
        models.append(Model(f"m{n}", size, load=load, replicas=replicas, shards=shards))
    names = [model.name for model in models]
    apart = [tuple(rng.sample(names, rng.randint(2, 3))) for _ in range(rng.randint(1, 4))]
    return Problem(gpus, models, apart=apart)


@pytest.mark.parametrize("seed", batches(4, first=1))
def test_items_that_avoid_each_other_and_are_the_last_on_their_gpu(seed):
    """What was tried with an item for a moment is forgotten: its colours too."""
    rng = random.Random(seed)
    for _ in range(100):
        problem, bound = crowded(rng), rng.choice([inf, inf, 0.05, 0.1, 0.3, 1.0])
        rules = rng.choice(["tebcd", "tbd", "bd", "tebd"])
        if tree_certificate(problem, bound, rules="tec") is not None:
            assert_holds(problem, bound, False, {"rules": rules})
        else:
            lie(problem, bound, False, rng, {"rules": rules})
