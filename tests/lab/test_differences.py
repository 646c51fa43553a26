"""A change as a reader would tell it."""

import pytest

from colocate.lab.review.differences import ConstantChange, difference, named_constants
from colocate.lab.review.pairs import Pair
from colocate.lab.review.step_words import step_words
from tests.lab.archives import composed, program

PARENT = """
import random

SEED = 3


def solve(x, restarts=10):
    rng = random.Random(SEED)
    best = None
    for _ in range(50):
        y = minimise(x, options={"maxiter": 100}, tol=1e-9)
        if best is None or y < best - 1e-7:
            best = y
    return best


def minimise(x, options, tol):
    return sorted(x, key=lambda m: m.size)
"""


def words(*changes, parent=PARENT, entry="solve"):
    """What is said of a child that has these replacements."""
    child = parent
    for old, new in changes:
        assert old in child
        child = child.replace(old, new)
    return step_words(Pair(program(0, parent, 0.5), program(1, child, 0.6, 0), entry))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("restarts=10", "restarts=40"), "changes `restarts` of `solve` from 10 to 40"),
        (("range(50)", "range(80)"), "changes `rounds` of `solve` from 50 to 80"),
        (('"maxiter": 100', '"maxiter": 300'), "changes `maxiter` of `solve` from 100 to 300"),
        (("tol=1e-9", "tol=1e-6"), "changes `tol` of `solve` from 1e-09 to 1e-06"),
        (("1e-7", "1e-8"), "changes a constant of `solve` from 1e-07 to 1e-08"),
        (("SEED = 3", "SEED = 4"), "changes the seed alone: `SEED` from 3 to 4"),
        (("m.size", "m.load"), "turns `sort(size, ascending)` into `sort(load, ascending)` and "
         "turns `return sorted(x, key=lambda m: m.size)` into `return sorted(x, key=lambda m: "
         "m.load)` in `minimise`"),
        (("            best = y\n", "            best = y\n            x.pop()\n"),
         "adds `x.pop()` to `solve`"),
        (("            best = y\n", "            pass\n"),
         "turns `best = y` into `pass` in `solve`"),
    ],
)  # fmt: skip
def test_a_change_in_words(change, told):
    assert words(change) == told


def test_several_changes_are_told_together():
    told = words(("restarts=10", "restarts=40"), ("range(50)", "range(80)"), ("m.size", "-m.size"))
    assert told == (
        "turns `sort(size, ascending)` into `sort(size, descending)`, changes `restarts` of "
        "`solve` from 10 to 40 and `rounds` of `solve` from 50 to 80 and turns `return sorted(x, "
        "key=lambda m: m.size)` into `return sorted(x, key=lambda m: -m.size)` in `minimise`"
    )


def test_a_new_function_is_named():
    more = "def relieve(x):\n    return x\n\n\ndef minimise("
    told = words(("def minimise(", more), ("return best", "return relieve(best)"))
    assert (
        told == "brings in `relieve` and turns `return best` into `return relieve(best)` in `solve`"
    )


def test_settings_of_blocks_are_constants_too():
    old = composed(each="Iterated(steps=300, patience=20),")
    new = old.replace("300", "1000")
    pair = Pair(program(0, old, 0.5), program(1, new, 0.6, 0))
    assert pair.difference.constants == (ConstantChange("steps", "Iterated", "300", "1000"),)
    assert step_words(pair) == "changes `steps` of `Iterated` from 300 to 1000"


def test_one_of_two_equal_blocks_is_told():
    old = composed("Bisection(halvings=3), Bisection(halvings=3)")
    new = composed("Bisection(halvings=3), Bisection(halvings=6)")
    pair = Pair(program(0, old, 0.5), program(1, new, 0.6, 0))
    assert step_words(pair) == "changes `halvings` of `Bisection` from 3 to 6"


def test_a_seed_is_no_other_program():
    old = composed(more="SEED = 0")
    pair = Pair(program(0, old, 0.5), program(1, old.replace("SEED = 0", "SEED = 5"), 0.6, 0))
    assert pair.only_seeds
    assert step_words(pair) == "changes the seed alone: `SEED` from 0 to 5"
    both = composed(more="SEED = 5", each="Descent(),")
    assert not Pair(program(0, old, 0.5), program(1, both, 0.6, 0)).only_seeds


def test_a_composition_in_place_of_code_is_told_so():
    pair = Pair(program(0, PARENT, 0.5), program(1, composed(), 0.6, 0), "solve")
    assert step_words(pair) == (
        "writes the program anew as a composition with `Greedy(Order.LOAD)`"
    )


def test_words_for_readers_are_no_change():
    child = PARENT.replace("    best = None", '    "A note."  # and another\n    best = None')
    assert difference(PARENT, child).constants == ()
    assert difference(PARENT, child).changed == ()


def test_what_does_not_compile_differs_in_nothing():
    assert difference(PARENT, "x = (") == difference("x = (", PARENT)
    assert named_constants("x = (") == {}


def test_constants_have_one_value_in_a_place():
    source = "A = 3\n\n\ndef f(n=4):\n    x = 5\n    x = 6\n"
    assert named_constants(source) == {("A", ""): "3", ("n", "f"): "4"}
