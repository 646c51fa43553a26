import random
import time
from fractions import Fraction
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from tests.campaign import campaign
from tests.problem.test_tree import constrained
from tests.problem.tree_writer import Writer

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
        ({"x": ("a", "b"), "y": ("b",)}, "model 'x' is on 'a', 'b', must be on one GPU"),
        ({"x": "a", "y": ("b",)}, "model 'x' is on 'a', must be on one GPU"),
        ({"x": None, "y": ("b",)}, "model 'x' is on None, must be on one GPU"),
        ({"x": [["a"]], "y": ("b",)}, "model 'x' is on ['a'], which does not exist"),
        ({"x": (), "y": ("b",)}, "model 'x' is on no GPU, must be on one GPU"),
        ({"x": ("b",), "y": ("b",)}, "gpu 'b' holds 40 GB of 24 GB"),
        ({"x": ("a",), "y": ("a",)}, "gpu 'a' is busy 110% of the time, 100% at most"),
    ],
)
def test_every_broken_rule_is_named(placement, fault):
    verdict = verify(PROBLEM, placement)
    assert not verdict
    assert fault in verdict.faults
    assert verdict.pressure == inf


def test_a_lack_of_cache_is_told_with_sizes_and_caches():
    models = [
        Model("x", 50, load=1, least_cache_gb=6),
        Model("y", 40, load=1, shards=2, least_cache_gb=12),
    ]
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], models)
    verdict = verify(problem, {"x": ("a",), "y": ("a", "b")})
    assert verdict.faults == (
        "gpu 'a' needs 82 GB of 80 GB: its models hold 70 GB and must have 12 GB of cache",
    )
    larger = Problem(problem.gpus, [models[0].changed(size_gb=70), models[1]])
    assert verify(larger, {"x": ("a",), "y": ("a", "b")}).faults == (
        "gpu 'a' holds 90 GB of 80 GB",
    )


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


def judged(problem, placement):
    """Whether a placement is valid and its pressure, in rational numbers and by other code."""
    writer = Writer(problem, inf)
    number = {gpu.name: place for place, gpu in enumerate(problem.gpus)}
    together = {name: group[0] for group in problem.together for name in group}
    if any(placement[name] != placement[first] for name, first in together.items()):
        return None
    left = {name: list(places) for name, places in placement.items()}
    done, gpus = set(), []
    for model in problem.models:
        if together.get(model.name, model.name) not in done:
            done.add(together.get(model.name, model.name))
            gpus += [number[place] for place in left[model.name]]
    for item, gpu in enumerate(gpus):
        if not writer.fits(item, gpu):
            return None
        writer.put(item, gpu)
    return max(true_pressure(writer, gpu) for gpu in range(len(problem.gpus)))


def true_pressure(writer, gpu):
    items = [writer.items[n] for n in writer.on[gpu]]
    memory = Fraction(writer.problem.gpus[gpu].memory_gb)
    free = memory - sum(item.size for item in items)
    windows = range(writer.problem.windows)
    load = max((sum(item.loads[t] for item in items) for t in windows), default=0)
    if load == 0:
        return 0.0
    return inf if free <= memory / 10**11 else float(load / free)


@campaign(400)
@given(problem=constrained(), seed=st.integers(0, 10**6))
def test_rational_numbers_and_other_code_agree(problem, seed):
    rng = random.Random(seed)
    names = [gpu.name for gpu in problem.gpus]
    for _ in range(10):
        placement = {m.name: tuple(rng.sample(names, m.parts)) for m in problem.models}
        for group in problem.together:
            placement.update(dict.fromkeys(group, placement[group[0]]))
        verdict, expected = verify(problem, placement), judged(problem, placement)
        assert verdict.valid == (expected is not None), verdict.faults
        if verdict:
            assert verdict.pressure == expected


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ((26.7, 26.6, 26.7), True),
        ((80 * (1 + 9e-12),), True),
        ((80 * (1 + 1.1e-11),), False),
        ((40, 40 * (1 + 1.9e-11)), True),
        ((40, 40 * (1 + 2.1e-11)), False),
        ((79.9999999, 1e-7), True),
        ((79.9999999, 1.1e-7), False),
        ((1e300,), False),
    ],
)
def test_close_to_a_limit_it_is_exact(sizes, fits):
    models = [Model(f"m{n}", size, load=0) for n, size in enumerate(sizes)]
    placement = {model.name: ("g",) for model in models}
    assert verify(Problem([Gpu("g", 80)], models), placement).valid == fits


def test_parts_are_exact_shares():
    """Thirds of a load, on GPUs with thirds of a size: no rounding on the way."""
    model = Model("m", 10, load=1, shards=3)
    problem = Problem([Gpu(f"g{n}", 20) for n in range(3)], [model])
    verdict = verify(problem, {"m": ("g0", "g1", "g2")})
    assert verdict.pressure == float(Fraction(1, 3) / (20 - Fraction(10, 3)))


def test_faults_of_company_stand_in_the_order_of_gpus():
    models = [Model(name, 1, load=0) for name in "abcde"]
    problem = Problem(
        [Gpu("g0", 80), Gpu("g1", 80)], models, (("a", "b"), ("c", "d")), (("a", "e"),), 2
    )
    placement = {"a": ["g1"], "b": ["g1"], "c": ["g0"], "d": ["g0"], "e": ["g0"]}
    assert verify(problem, placement).faults == (
        "gpu 'g0' holds 3 models, 2 at most",
        "gpu 'g0' holds c and d, which must be apart",
        "gpu 'g0' holds e without all that must be with it",
        "gpu 'g1' holds a and b, which must be apart",
        "gpu 'g1' holds a without all that must be with it",
    )


def test_a_large_fleet_with_constraints_takes_a_moment():
    gpus, models = 4096, 16_384
    fleet = [Gpu(f"g{n}", 80, "ABC"[n % 3], {"compute": 1.0}, f"n{n // 8}") for n in range(gpus)]
    uses = {"compute": {"A": 0.2, "B": 0.1, "C": 0.15}}
    pins = [[f"g{n % gpus}", "A"] if n % 5 == 0 else [] for n in range(models)]
    served = [Model(f"m{n}", 5 + n % 7, load=1 / 3, uses=uses, only=pins[n]) for n in range(models)]
    ends = range(0, models + 1, 16)
    apart = [tuple(f"m{n}" for n in range(a, b)) for a, b in pairwise(ends)]
    problem = Problem(fleet, served, apart=apart)
    placement = {f"m{n}": (f"g{n % gpus}",) for n in range(models)}
    start = time.perf_counter()
    assert verify(problem, placement).valid
    assert time.perf_counter() - start < 2.0
