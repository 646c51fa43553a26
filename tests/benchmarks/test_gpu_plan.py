"""Plans of measurements on a GPU are checked before any engine starts."""

import pytest
from benchmarks.gpu.plan import Member, parse_plan

EIGHT = {"model": "llama-3.1-8b", "rate": 6}
BURST = {"closed": "burst", "ms": 2.0}


def plan_of(*members, **more):
    return {"readings": [{"name": "group", "members": list(members)}], **more}


def test_as_many_engines_start_as_the_largest_group_needs():
    data = {
        "readings": [
            {"name": "two", "members": [EIGHT, EIGHT]},
            {"name": "mixed", "members": [EIGHT, {"model": "llama-3.2-1b", "closed": "decode"}]},
        ],
        "lone": ["qwen2.5-14b"],
    }
    assert parse_plan(data).engines == {"llama-3.1-8b": 2, "llama-3.2-1b": 1, "qwen2.5-14b": 1}


def test_what_is_left_out_is_as_it_was_in_earlier_readings():
    reading = parse_plan(plan_of(EIGHT)).readings[0]
    member = reading.members[0]
    assert (reading.seconds, reading.modes) == (12.0, ("slices", "mps"))
    assert (member.slots, member.prompt_tokens, member.output_tokens) == (64, 512, 128)
    assert member.said() == EIGHT


def test_a_burst_runs_in_any_engine():
    assert parse_plan(plan_of(BURST, BURST, engines={"tiny": 2})).readings[0].needs() == {}
    with pytest.raises(ValueError, match="needs 2 engines"):
        parse_plan(plan_of(BURST, BURST, engines={"tiny": 1}))


def test_every_reading_has_a_seed_of_its_own_that_stays():
    names = {"readings": [{"name": name, "members": [EIGHT]} for name in ("a", "b")]}
    seeds = [reading.drawn_from for reading in parse_plan(names).readings]
    assert seeds == [3904355907, 1908338681]


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ({"model": "llama-3.1-8b"}, "either rate or closed"),
        ({**EIGHT, "closed": "decode"}, "either rate or closed"),
        (
            {"model": "llama-3.1-8b", "closed": "dance"},
            "expected one of decode, prefill, mixed, burst",
        ),
        ({"model": "llama-9", "rate": 6}, "'llama-9' is unknown"),
        ({"rate": 6}, "only a burst needs no model"),
        ({**EIGHT, "slots": 65}, "slots is 65, expected 1 to 64"),
        ({**EIGHT, "rate": 0}, "rate is 0"),
        ({**EIGHT, "token_budget": 512}, "a token_budget needs blocks"),
        ({**EIGHT, "blocks": -1}, "blocks is -1"),
        ({**EIGHT, "speed": 1}, "a member has \\['speed'\\]"),
    ],
)
def test_a_member_that_makes_no_sense_is_refused(member, message):
    with pytest.raises(ValueError, match=message):
        parse_plan(plan_of(member))


def test_a_group_needs_its_engines():
    with pytest.raises(ValueError, match=r"needs 2 engines of llama-3\.1-8b"):
        parse_plan(plan_of(EIGHT, EIGHT, engines={"llama-3.1-8b": 1}))


def test_defaults_are_in_range():
    assert Member(model="tiny", rate=1).closed is None
