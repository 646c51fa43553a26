from dataclasses import replace
from math import inf

import pytest

from colocate.problem.tolerance import PROVEN
from colocate.solver.budget import SolveBudget
from colocate.solver.deadline import Deadline

ASKED = SolveBudget(Deadline(60.0))


@pytest.mark.parametrize(
    ("asked", "value", "bound", "enough"),
    [
        ({}, 1.0, 1.0, True),
        ({}, 1.0 + PROVEN / 2, 1.0, True),
        ({}, 1.001, 1.0, False),
        ({}, inf, 0.0, False),
        ({"gap": 0.01}, 1.001, 1.0, True),
        ({"gap": 0.01}, 1.02, 1.0, False),
        ({"gap": lambda seconds: 0.05 if seconds >= 0.0 else 0.0}, 1.02, 1.0, True),
        ({"target": 2.0}, 1.9, 1.0, True),
        ({"target": 2.0}, 3.0, 2.1, True),
        ({"target": 2.0}, 3.0, 1.0, False),
        ({"ceiling": 2.0, "gap": inf}, 2.1, 1.0, False),
        ({"ceiling": 2.0}, 3.0, 2.1, True),
        ({"ceiling": 2.0, "gap": 0.5}, 1.4, 1.0, True),
    ],
)
def test_what_is_enough(asked, value, bound, enough):
    assert replace(ASKED, **asked).enough(value, bound) is enough


def test_an_attempt_is_asked_for_the_optimum_and_reported_to_nobody():
    told = replace(ASKED, gap=0.1, target=3.0, ceiling=4.0, seed=7, on_improvement=print)
    attempt = told.attempt(5.0)
    assert (attempt.gap, attempt.target, attempt.ceiling) == (0.0, None, inf)
    assert (attempt.seed, attempt.workers, attempt.on_improvement) == (7, told.workers, None)
    assert attempt.deadline.left <= 5.0


def test_time_is_kept_for_what_comes_after():
    rest = replace(ASKED, gap=0.1).keeping(50.0)
    assert rest.deadline.left <= 10.0
    assert rest.gap == 0.1
