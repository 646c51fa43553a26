"""A search that found nothing holds until something changes."""

import pytest

from colocate.replan.policy.decision import PolicyDecision, PolicyReason
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.search_record import REPEATED, SearchRecord
from colocate.replan.policy.settings import PolicySettings

SETTINGS, FLEET = PolicySettings(), ("places",)
NOTHING = PolicyDecision(PolicyReason.NOTHING_BETTER)


def rates(seconds=3600.0, waiting=0.0):
    return [RateEstimate("a", 2.0, 1.9, 2.1, 1.0, seconds, waiting=waiting)]


def searched(decision=NOTHING):
    last = SearchRecord()
    assert last.remember(decision, FLEET, 1000.0) is decision
    return last


@pytest.mark.parametrize(
    "reason", [PolicyReason.NOTHING_BETTER, PolicyReason.DOES_NOT_PAY, PolicyReason.NOT_SURE]
)
def test_what_moved_nothing_holds_for_a_while(reason):
    decision = PolicyDecision(reason)
    last = searched(decision)
    assert last.still_holds(FLEET, rates(), 1030.0, SETTINGS) is decision
    assert last.still_holds(FLEET, rates(), 1000.0 + REPEATED, SETTINGS) is None


@pytest.mark.parametrize("reason", [PolicyReason.PAYS, PolicyReason.TARGETS_HOLD])
def test_any_other_decision_is_made_anew(reason):
    assert searched(PolicyDecision(reason)).still_holds(FLEET, rates(), 1030.0, SETTINGS) is None


def test_a_change_is_looked_at_also_if_it_began_just_before_the_last_search():
    last = searched()
    assert last.still_holds(FLEET, rates(seconds=30.0), 1060.0, SETTINGS) is None
    assert last.still_holds(FLEET, rates(seconds=80.0), 1060.0, SETTINGS) is None
    assert last.still_holds(FLEET, rates(seconds=120.0), 1060.0, SETTINGS) is NOTHING


def test_a_queue_and_another_fleet_are_looked_at():
    last = searched()
    assert last.still_holds(FLEET, rates(waiting=2.0), 1030.0, SETTINGS) is NOTHING
    assert last.still_holds(FLEET, rates(waiting=3.0), 1030.0, SETTINGS) is None
    assert last.still_holds(("other",), rates(), 1030.0, SETTINGS) is None


def test_nothing_holds_before_the_first_search():
    assert SearchRecord().still_holds(None, rates(), 0.0, SETTINGS) is None


def test_a_clock_that_was_set_back_ends_it():
    assert searched().still_holds(FLEET, rates(), 999.0, SETTINGS) is None
