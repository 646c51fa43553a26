from math import inf

import pytest

from colocate import Gpu, Model, Problem, verify

PROBLEM = Problem(
    [Gpu("a", 80, "H100", {"compute": 1.0}), Gpu("b", 24, "T4")],
    [
        Model("x", 20, 4, 8, uses={"compute": {"H100": 0.6, "T4": 0.9}}),
        Model("y", 20, 6, 8, uses={"compute": 0.5}),
    ],
)


def test_a_valid_placement_and_its_pressures_by_hand():
    verdict = verify(PROBLEM, {"x": ("a",), "y": ("b",)})
    assert verdict
    assert verdict.valid
    assert verdict.pressures == {"a": 0.5 / 60, "b": 0.75 / 4}
    assert verdict.pressure == 0.75 / 4


@pytest.mark.parametrize(
    ("placement", "fault"),
    [
        ({"x": ("a",)}, "model 'y' is not placed"),
        ({"x": ("a",), "y": ("b",), "w": ("a",)}, "model 'w' is not in the problem"),
        ({"x": ("a",), "y": ("c",)}, "model 'y' is on 'c', which does not exist"),
        ({"x": ("a", "b"), "y": ("b",)}, "model 'x' is on ('a', 'b'), must be on one GPU"),
        ({"x": "a", "y": ("b",)}, "model 'x' is on 'a', must be on one GPU"),
        ({"x": None, "y": ("b",)}, "model 'x' is on None, must be on one GPU"),
        ({"x": [["a"]], "y": ("b",)}, "model 'x' is on ['a'], which does not exist"),
        ({"x": (), "y": ("b",)}, "model 'x' is on (), must be on one GPU"),
        ({"x": ("b",), "y": ("b",)}, "gpu 'b' holds 40 GB of 24 GB"),
        ({"x": ("a",), "y": ("a",)}, "gpu 'a' uses 1.1 compute of 1"),
    ],
)
def test_every_broken_rule_is_named(placement, fault):
    verdict = verify(PROBLEM, placement)
    assert not verdict
    assert fault in verdict.faults
    assert verdict.pressure == inf


def test_full_with_load_is_infinite_and_full_without_is_not():
    full = Problem([Gpu("a", 20)], [Model("x", 20, 1, 1)])
    idle = Problem([Gpu("a", 20)], [Model("x", 20, 0, 1)])
    assert verify(full, {"x": ("a",)}).pressures == {"a": inf}
    assert verify(idle, {"x": ("a",)}).pressures == {"a": 0.0}


def test_windows_of_different_length_are_matched():
    problem = Problem([Gpu("a", 80)], [Model("x", 10, load=[1, 7]), Model("y", 20, load=4)])
    assert verify(problem, {"x": ("a",), "y": ("a",)}).pressures == {"a": 11 / 50}


def test_a_pressure_too_large_for_a_float_is_infinite():
    problem = Problem([Gpu("a", 1e-5)], [Model("x", 0, load=1e305)])
    assert verify(problem, {"x": ("a",)}).pressures == {"a": inf}
