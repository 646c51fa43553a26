"""Disturbed changes of random fleets: all recover, or say why not."""

import pytest

from tests.campaign import examples
from tests.replan.recovery.story import recovery_of

pytestmark = pytest.mark.campaign

BATCH = 20


def check(seed):
    found = recovery_of(seed)
    assert found.outcome in ("reached", "recovered", "refused"), found
    assert found.refuted == 0, found
    assert found.reason if found.outcome == "refused" else not found.reason


@pytest.mark.parametrize("first", range(0, examples(1000), BATCH))
def test_random_fleets_recover_or_say_why_not(first):
    for seed in range(first, first + BATCH):
        check(seed)
