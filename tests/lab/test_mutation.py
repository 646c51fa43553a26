from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colocate.lab.proposers.composer.choices import Draw, drawn
from colocate.lab.proposers.composer.cost_model import LONGEST, milliseconds
from colocate.lab.proposers.composer.grammar import IMPROVERS, STARTS, Composition, is_sound
from colocate.lab.proposers.composer.mutation import KINDS, crossed, mutated, mutated_often, renewed
from colocate.lab.proposers.composer.naming import name_of
from colocate.lab.proposers.composer.source import read_composition, write_program
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.orders import Order
from colocate.solver.construct.packing import Fit, Packing
from colocate.solver.improve.annealing import Annealing
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated
from colocate.solver.improve.kicks import Kick
from colocate.solver.improve.neighbourhood import LargeNeighbourhood
from colocate.solver.improve.relief import IdleRelief, WorstPairSwaps
from tests.lab.compositions import BEST_FIT, BY_LOAD, RICH, SIMPLE

FOUR = tuple(Packing(fit, order) for fit in Fit for order in (Order.SIZE, Order.LOAD))
SEEDS = st.integers(0, 2**32 - 1)


def draw_of(seed, *advice):
    return Draw(np.random.default_rng(seed), advice)


def is_new(child, *others):
    return repr(child) not in map(repr, others)


@given(SEEDS)
@settings(max_examples=15)
def test_changes_lead_from_sound_to_sound_compositions_that_can_be_written(seed):
    draw = draw_of(seed)
    composition = renewed(None, draw).child
    for turn in range(12):
        step = mutated_often if turn % 4 == 3 else mutated
        child = step(composition, draw).child
        assert is_new(child, composition)
        assert is_sound(child)
        assert milliseconds(child) <= LONGEST
        composition = child
    assert repr(read_composition(write_program(composition))) == repr(composition)
    assert is_sound(renewed(composition, draw).child)


@given(SEEDS, SEEDS)
@settings(max_examples=15)
def test_crossings_are_of_two(one, other):
    draw = draw_of(one)
    parent, inspiration = (
        mutated_often(RICH, draw).child,
        mutated_often(SIMPLE, draw_of(other)).child,
    )
    child = crossed(parent, inspiration, draw).child
    assert is_new(child, parent, inspiration)
    assert is_sound(child)
    for group in ("starts", "each", "finish"):
        known = {repr(block) for each in (parent, inspiration) for block in getattr(each, group)}
        assert {repr(block) for block in getattr(child, group)} <= known


def test_a_crossing_of_likes_is_a_small_change():
    change = crossed(SIMPLE, SIMPLE, draw_of(0))
    assert is_new(change.child, SIMPLE)
    assert not change.clause.startswith("cross")


def test_a_beginning_is_one_start():
    children = [renewed(None, draw_of(seed)).child for seed in range(50)]
    assert all(len(child.starts) == 1 and not child.each + child.finish for child in children)
    assert {type(child.starts[0]) for child in children} == set(STARTS)


def test_a_small_change_says_what_it_does():
    said = {change.clause for kind in KINDS for change in kind(RICH, draw_of(0))}
    for clause in (
        "set steps of Iterated to 300, not 100",
        "set kick of Iterated to Kick.GROWING, not Kick.BURST",
        "set halvings of Bisection to 50, not 12",
        "set recreate of Ruin to Recreate.AT_RANDOM, not Recreate.BY_SIZE",
        "leave Descent() out of EACH",
        "add WorstPairSwaps(rounds=4) to FINISH",
        "set smooth of Descent to False, not True",
    ):
        assert clause in said
    assert not any("seed" in clause for clause in said)  # luck is no improvement
    assert any(clause.startswith("replace Descent() by ") for clause in said)
    assert any(clause.startswith("add Packing(") for clause in said)
    assert not any("of VariableNeighbourhood to Descent" in clause for clause in said)


def test_more_time_is_given_more_often_than_less():
    said = Counter(mutated(RICH, draw_of(seed)).clause for seed in range(300))
    more, less = (said[f"set steps of Iterated to {steps}, not 100"] for steps in (300, 25))
    assert more > 2 * less


def test_what_has_no_effect_does_not_change():
    blind = Composition((BY_LOAD,), (Iterated(Descent(swap=False), steps=50), Annealing(steps=250)))
    said = {mutated(blind, draw_of(seed)).clause for seed in range(300)}
    assert not [clause for clause in said if "of Ruin" in clause or "of Accept" in clause]
    assert not [clause for clause in said if "guard of Descent" in clause]


def test_named_tuples_of_two_kinds_are_two_blocks():
    assert WorstPairSwaps(40) == IdleRelief(40)
    assert is_sound(Composition((BY_LOAD,), (WorstPairSwaps(40), IdleRelief(40))))


def test_a_composition_that_is_too_much_shrinks_or_is_left():
    huge = Composition((BEST_FIT,), (Iterated(Descent(best=True), steps=100_000),))
    for seed in range(20):
        child = mutated(huge, draw_of(seed)).child
        assert milliseconds(child) <= milliseconds(huge)
    unsound = Composition((BY_LOAD,), (Descent(),) * 5)
    assert is_sound(mutated(unsound, draw_of(0)).child)


@pytest.mark.parametrize("words", ["Annealing", "`Annealing(steps=250)`", "some annealing"])
def test_what_is_recommended_is_drawn_more_often(words):
    advice = f"Try {words}, which no program has."
    plain, steered = (
        sum("add Annealing" in mutated(SIMPLE, draw_of(seed, *said)).clause for seed in range(400))
        for said in ((), (advice,))
    )
    assert steered > 1.8 * plain > 0


def test_a_recommended_way_is_drawn_more_often():
    def kicks(*advice):
        return Counter(drawn(Iterated, draw_of(seed, *advice)).kick for seed in range(300))

    assert kicks("Keep `Iterated(kick=Kick.BURST)`.")[Kick.BURST] > 2 * kicks()[Kick.BURST]
    assert kicks("Burst kicks got furthest.")[Kick.BURST] > 2 * kicks()[Kick.BURST]


def test_the_name_of_a_program_recommends_nothing():
    draw = draw_of(0, "Go on from `best_fit_virtual_then_annealing`, the fittest so far.")
    assert draw.favour(Annealing(), Packing(*BEST_FIT.packings[0])) == 1.0
    assert draw_of(0, "Take best fit.").favour(BEST_FIT) > 1.0


def test_a_new_block_begins_with_little_effort():
    assert {drawn(Annealing, draw_of(seed)).steps for seed in range(20)} == {250}
    assert {drawn(Bisection, draw_of(seed)).halvings for seed in range(20)} == {3}


@pytest.mark.parametrize(
    ("composition", "name"),
    [
        (SIMPLE, "greedy_by_load"),
        (Composition((BEST_FIT,), (Descent(),)), "best_fit_virtual_then_descent"),
        (Composition((BEST_FIT._replace(packings=FOUR),)), "four_packings"),
        (
            Composition((Greedy(Order.SIZE, Look.RESULTING),), finish=(LargeNeighbourhood(),)),
            "greedy_by_size_looking_ahead_finished_by_large_neighbourhood",
        ),
        (
            RICH,
            "two_starts_then_steepest_smooth_descent_with_ruin_then_descent_and_more",
        ),
    ],
)
def test_names(composition, name):
    assert name_of(composition) == name


@given(SEEDS)
@settings(max_examples=30)
def test_names_are_short(seed):
    draw = draw_of(seed)
    blocks = tuple(drawn(kind, draw) for kind in IMPROVERS)
    name = name_of(Composition((BEST_FIT, BY_LOAD), blocks, blocks))
    assert len(name) <= 80
    assert name.strip("_") == name
