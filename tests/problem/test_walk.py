"""The walk: what it refuses by name, its limits, and that the compiler changes nothing."""

import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.tree import TOO_LARGE_TO_CHECK, refuted_tree
from colocate.problem.checker.walk import walk
from colocate.problem.verify_bound import refuted
from tests.problem.tree_writer import tree_certificate

ROOT = Path(__file__).parents[2]

# Each GPU takes one of five models at 0.0999; the second GPU and all that follow are twins.
FIVE = Problem([Gpu(f"g{n}", 80) for n in range(4)], [Model(f"m{n}", 30, load=1) for n in range(5)])
PROOF = tree_certificate(FIVE, 0.0999, rules="te")


def crowd(seed=3, gpus=5, models=12, slack=1.03):
    """GPUs that would have to be filled all but perfectly."""
    rng = random.Random(seed)
    sizes = [rng.randint(200, 500) for _ in range(models)]
    memory = int(sum(sizes) / gpus * slack)
    return Problem(
        [Gpu(f"g{n}", memory) for n in range(gpus)],
        [Model(f"m{n}", size, load=1) for n, size in enumerate(sizes)],
    )


@pytest.mark.parametrize(
    ("symbols", "fault"),
    [
        ([], "ends too early"),
        ([1], "ends too early"),
        ([0], "leaves out a GPU that the next item fits on"),
        ([5], "names a GPU or an item that does not exist"),
        ([1, 7], "names a GPU or an item that does not exist"),
        ([1, 2], "places an item twice"),
        ([1, 1, 1], "fills a GPU twice"),
        ([1, 0], "does not try to close a GPU that may stay as it is"),
        ([1, 1, 2, 1, 3, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0], "ends too early"),
        ([1, 1, 2, 1, 3, 1, 4, 1, 0, 1], "goes on with a GPU that it closed"),
        ([*PROOF.tree, 0], "goes on after its end"),
        ([1, 3, 3], "ends too early"),
        ([1, 3, *[3] * 40], "goes deeper than there are items"),
    ],
)
def test_what_is_wrong_with_a_tree_is_told(symbols, fault):
    assert refuted(FIVE, replace(PROOF, tree=bytes(symbols))).startswith(f"the tree {fault}")


def test_items_that_could_be_added_must_not_be_left_out():
    proof = replace(PROOF, bound=0.1001)
    assert "leaves out an item that may be added" in refuted(FIVE, proof)
    one = Problem([Gpu("g", 80)], [Model("x", 30, load=1), Model("y", 30, load=1)])
    tree = bytes([1, 3, 1, 0, 0, 0])
    proof = Certificate(Proof.TREE, 1.0, order=(0, 1), tree=tree)
    assert "places every item" in refuted(one, proof)


@pytest.mark.parametrize(
    "order", [(), (0, 1, 2, 3), (0, 1, 2, 3, 3), (0, 1, 2, 3, 5), (-1, 0, 1, 2, 3), tuple(range(6))]
)
def test_an_order_is_one_of_all_items(order):
    assert "not one of the 5 items" in refuted(FIVE, replace(PROOF, order=order))


def test_what_does_not_fit_may_be_tried_all_the_same():
    """A search that sees room where there is none by a hair has only looked at too much."""
    tried = bytes([1, 3, 4, 1, 2, 0, 0, 0, 0, *PROOF.tree[1:]])
    assert refuted(FIVE, replace(PROOF, tree=tried)) is None


def test_a_volume_that_is_exceeded_needs_no_tree():
    crowded = Problem([Gpu("g", 80)], [Model(f"m{n}", 30, load=1) for n in range(3)])
    assert refuted(crowded, Certificate(Proof.TREE, inf, order=(0, 1, 2))) is None


def test_open_numbers_of_replicas_have_a_tree_for_memory_alone():
    models = [Model("x", 50, load=1, most_replicas=2), Model("y", 50, load=1, replicas=2)]
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], models)
    proof = tree_certificate(problem, inf)
    assert refuted(problem, proof) is None
    assert "numbers of replicas are open" in refuted(problem, replace(proof, bound=1.0))
    shared = replace(models[0], shared_uses={"r": 1})
    assert "share a use" in refuted(replace(problem, models=(shared, models[1])), proof)


def test_symbols_have_two_bytes_where_one_is_too_small():
    gpus = [Gpu(f"g{n}", 80) for n in range(300)]
    models = [Model("a", 70, load=1), Model("b", 70, load=1, only=["g299"])]
    models.append(Model("c", 70, load=1, only=["g299"]))
    problem = Problem(gpus, models)
    proof = tree_certificate(problem, 0.5, order=[1, 2, 0])
    assert len(proof.tree) % 2 == 0
    assert refuted(problem, proof) is None
    assert refuted(problem, replace(proof, tree=proof.tree[:-1])) == "the tree ends within a symbol"


def test_a_walk_that_takes_too_long_is_not_gone_on_with():
    problem = crowd()
    proof = tree_certificate(problem, inf, rules="te")
    assert refuted_tree(problem, proof) is None
    assert refuted_tree(problem, proof, budget=100) == TOO_LARGE_TO_CHECK


def test_there_is_one_kind_of_array_so_that_the_walk_is_compiled_once():
    pinned = Problem([Gpu("a", 80, "A"), Gpu("b", 80)], [Model("x", 90, load=1, only=["A"])])
    for problem, bound in ((FIVE, 0.05), (crowd(), inf), (pinned, 0.5)):
        refuted(problem, tree_certificate(problem, bound))
    assert len(walk.kinds) == 1


def test_junk_is_refused_at_once():
    rng = np.random.default_rng(0)
    problem = crowd(gpus=20, models=60)
    order = tuple(range(60))
    start = time.perf_counter()
    for _ in range(50):
        junk = rng.integers(0, 64, 10**5, dtype=np.uint8).tobytes()
        assert refuted(problem, Certificate(Proof.TREE, inf, order=order, tree=junk)) is not None
    deep = bytes([1, *[61] * 10**6])
    assert refuted(problem, Certificate(Proof.TREE, inf, order=order, tree=deep)) is not None
    assert time.perf_counter() - start < 5.0


def test_a_large_fleet_is_no_matter():
    """20,000 items on 4,096 GPUs: one model that fits nowhere, which a tree of two symbols says."""
    gpus = [Gpu(f"g{n}", 80, f"k{n % 5}", node=f"n{n // 8}") for n in range(4096)]
    models = [Model(f"m{n}", 10, load=1, only=[f"g{n % 4096}"]) for n in range(19_999)]
    problem = Problem(gpus, [*models, Model("huge", 81, load=1)], apart=[("m0", "m1", "m2")])
    order = (19_999, *range(19_999))
    start = time.perf_counter()
    assert refuted(problem, Certificate(Proof.TREE, inf, order=order, tree=b"\0\0")) is None
    wrong = Certificate(Proof.TREE, inf, order=tuple(range(20_000)), tree=b"\1\0\0\0\0\0")
    assert refuted(problem, wrong) is not None
    assert time.perf_counter() - start < 30.0


def test_the_walk_runs_uncompiled_too():
    code = (
        "from tests.problem.test_walk import FIVE, PROOF, crowd, refuted, tree_certificate\n"
        "from math import inf\n"
        "assert refuted(FIVE, PROOF) is None\n"
        "assert refuted(crowd(), tree_certificate(crowd(), inf)) is None\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
