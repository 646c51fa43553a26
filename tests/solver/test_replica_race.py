"""Races between numbers of replicas: planted fleets, whose optimum is known."""

from math import inf

import pytest
from numpy.random import RandomState

from colocate import Gpu, Model, Placement, Problem, verify
from colocate.arena.tasks.fleets.copies import copies_case
from colocate.problem.layout import empty_layout
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import search_fit
from colocate.solver.construct.scarcest import search_scarcest
from colocate.solver.deadline import Deadline
from colocate.solver.decide.replica_race import Contender, race
from colocate.solver.decide.replica_starts import places_nearby

NODES = 20_000
TIGHT = 4
"""The seed of a planted fleet on which bin completion by size alone goes astray."""


def planted(seed):
    """A planted fleet with the numbers of copies that its optimum has."""
    case = copies_case(RandomState(seed))
    return case, case.problem.with_replicas({m: len(gpus) for m, gpus in case.placement.items()})


def some_placement(problem):
    reduction = reduction_of(problem)
    layout = empty_layout(reduction.instance)
    assert search_scarcest(reduction.instance, layout, NODES)
    return reduction.placement(layout.gpu_of)


def never():
    return False


@pytest.mark.parametrize("seed", range(4))
def test_the_winner_has_the_numbers_that_are_best(seed):
    case, fixed = planted(seed)
    hot = max(case.problem.models, key=lambda m: max(m.load))
    counts = {model: len(gpus) for model, gpus in case.placement.items()}
    fewer = case.problem.with_replicas({**counts, hot.name: counts[hot.name] - 1})
    budget = SolveBudget(Deadline())
    contenders = [Contender(each, some_placement(each), budget) for each in (fewer, fixed)]
    told = []
    best = race(contenders, never, lambda contender: told.append(contender.value))
    for _ in range(10):
        best = race([best], never, lambda contender: told.append(contender.value))
    assert best is contenders[1]
    assert min(told) == best.value
    assert verify(case.problem, best.placement).pressure == pytest.approx(best.value)
    assert best.value < 1.05 * case.value


def test_a_race_that_is_over_is_not_run():
    _, fixed = planted(0)
    contender = Contender(fixed, some_placement(fixed), SolveBudget(Deadline()))
    before = contender.value
    assert race([contender], lambda: True, pytest.fail) is contender
    assert contender.value == before
    assert race([], never, pytest.fail) is None


def test_a_nearly_full_resource_takes_the_place_of_memory():
    case, fixed = planted(TIGHT)
    instance = reduction_of(fixed).instance
    layout = empty_layout(instance)
    assert search_fit(instance, layout, inf, NODES).outcome is Outcome.UNDECIDED
    assert verify(case.problem, some_placement(fixed)).valid


def test_memory_that_is_scarcer_is_no_task_of_the_other_search():
    gpus = [Gpu(f"g{n}", 80, limits={"compute": 1.0}) for n in range(2)]
    models = [Model(f"m{n}", 30, load=1, uses={"compute": 0.1}) for n in range(4)]
    instance = reduction_of(Problem(gpus, models)).instance
    assert not search_scarcest(instance, empty_layout(instance), NODES)


def test_what_fits_by_the_scarcest_resource_alone_is_no_placement():
    """By compute, the busy models fill a GPU and the large ones share the other: too large."""
    gpus = [Gpu(f"g{n}", 80, limits={"compute": 1.0}) for n in range(2)]
    models = [Model(f"large{n}", 50, load=1, uses={"compute": 0.4}) for n in range(2)]
    models += [Model(f"busy{n}", 1, load=1, uses={"compute": 0.5}) for n in range(2)]
    instance = reduction_of(Problem(gpus, models)).instance
    assert not search_scarcest(instance, empty_layout(instance), NODES)


GPUS = [Gpu("idle", 80), Gpu("busy", 80), Gpu("full", 80)]
MODELS = (Model("hot", 20, load=6, most_replicas=3), Model("large", 70, load=0))
PRESSURES = {"idle": 0.0, "busy": 0.2, "full": 0.1}


def test_one_replica_more_goes_to_the_idlest_gpu_with_room():
    two = Problem(GPUS, MODELS).with_replicas({"hot": 2, "large": 1})
    best = Placement({"hot": ("busy",), "large": ("full",)})
    assert places_nearby(two, best, PRESSURES)["hot"] == ("busy", "idle")
    three = Problem(GPUS, MODELS).with_replicas({"hot": 3, "large": 1})
    best = Placement({"hot": ("busy", "idle"), "large": ("full",)})
    assert places_nearby(three, best, PRESSURES) is None


def test_one_replica_fewer_leaves_the_gpu_under_the_highest_pressure():
    one = Problem(GPUS, MODELS).with_replicas({"hot": 1, "large": 1})
    best = Placement({"hot": ("busy", "idle"), "large": ("full",)})
    assert places_nearby(one, best, PRESSURES)["hot"] == ("idle",)
