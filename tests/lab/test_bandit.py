from math import inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import InputError, UnknownNameError
from colocate.lab.proposers.openai.bandit import Bandit, TrackRecord

NAMES = ("a", "b", "c")
GAINS = st.floats(-1, 1).map(lambda gain: round(gain, 12))
"""Differences of ratios: what is smaller is rounding, and vanishes when it is scaled."""
REWARDS = st.lists(
    st.tuples(st.sampled_from((*NAMES, "gone")), GAINS, st.floats(0, 10)), max_size=30
)


def rng(seed=0):
    return np.random.default_rng(seed)


def choices(bandit, gains, costs, calls, seed=0):
    """Return whom the bandit asks, when each call gains and costs what its model always does."""
    draws, asked = rng(seed), []
    for _ in range(calls):
        name = bandit.choose(draws)
        bandit.reward(name, gains[name], costs[name])
        asked.append(name)
    return asked


def test_each_is_asked_once_first():
    for seed in range(5):
        asked = choices(Bandit(NAMES), dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0), 3, seed)
        assert sorted(asked) == list(NAMES)
    assert {Bandit(NAMES).choose(rng(seed)) for seed in range(30)} == set(NAMES)


def test_the_index_by_hand():
    bandit = Bandit.replayed(("a", "b"), [("a", 0.2, 1.0), ("b", 0.1, 2.0), ("b", -5, 2.0)])
    assert bandit.records == {"a": TrackRecord(1, 0.2, 1.0), "b": TrackRecord(2, 0.1, 4.0)}
    assert bandit._indices() == {
        "a": pytest.approx(1 + sqrt(2 * log(3))),
        "b": pytest.approx((0.25 + sqrt(log(3))) / 2),
    }


def test_the_one_that_improves_is_asked_most_and_none_is_given_up():
    asked = choices(Bandit(NAMES), {"a": 0, "b": 0.01, "c": 0}, dict.fromkeys(NAMES, 0), 300)
    assert asked.count("b") > 200
    assert min(map(asked.count, NAMES)) > 5


def test_what_it_costs_counts():
    gains = {"a": 0.02, "b": 0.01, "c": 0}
    asked = choices(Bandit(NAMES), gains, {"a": 10.0, "b": 1.0, "c": 1.0}, 300)
    assert asked.count("b") > 200
    asked = choices(Bandit(NAMES), gains, {"a": 1.0, "b": 1.0, "c": 1.0}, 300)
    assert asked.count("a") > asked.count("b") > asked.count("c")


def test_a_free_model_is_as_cheap_as_the_cheapest_and_not_more():
    bandit = Bandit.replayed(NAMES, [("a", 0.1, 0.0), ("b", 0.1, 0.5), ("c", 0.1, 1.0)])
    indices = bandit._indices()
    assert indices["a"] == indices["b"] == pytest.approx(2 * indices["c"])


@given(REWARDS, st.floats(1e-3, 1e3))
def test_the_state_is_what_the_rewards_make_it(rewards, unit):
    first, second = Bandit.replayed(NAMES, rewards), Bandit(NAMES)
    for name, improvement, cost in rewards:
        if name != "gone":
            second.reward(name, improvement, cost)
    assert first.records == second.records
    assert [first.choose(rng(n)) for n in range(5)] == [second.choose(rng(n)) for n in range(5)]
    scaled = Bandit.replayed(NAMES, [(name, gain * unit, cost) for name, gain, cost in rewards])
    assert scaled._indices() == pytest.approx(first._indices())


def test_what_cannot_be_meant():
    with pytest.raises(InputError, match="the models are: none"):
        Bandit(())
    with pytest.raises(InputError, match="the models are: a, a"):
        Bandit(("a", "a"))
    bandit = Bandit(NAMES)
    with pytest.raises(UnknownNameError, match="model='d' is not known"):
        bandit.reward("d", 0.0, 0.0)
    for improvement, cost in ((nan, 0.0), (inf, 0.0), (0.0, -1.0), (0.0, nan), (0.0, inf)):
        with pytest.raises(InputError, match="must be a finite number"):
            bandit.reward("a", improvement, cost)
    assert bandit.records == dict.fromkeys(NAMES, TrackRecord())
