from math import inf, isfinite, isinf

import pytest

from colocate import InputError, Problem, predict, read_fleet, solve
from colocate.inputs.fleet import parse_fleet

TWO = """
gpus: [{name: g, kind: H200, count: 2}]
models:
  - {name: a, size_gb: 16, rate: RATE, slo: 5, prompt_tokens: 512, output_tokens: TOKENS, KV,
     tpot_slo: 0.02}
  - {name: b, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 128, shards: 1}
"""


def fleet(rate="6", tokens="128", kv="kv_bytes_per_token: 131072"):
    return parse_fleet(TWO.replace("RATE", rate).replace("TOKENS", tokens).replace("KV", kv))


def test_a_plan_is_enough():
    stated = fleet()
    plan = solve(stated.problem)
    found = predict(plan)
    assert found == predict(stated, plan.placement) == predict(stated.problem, plan.placement)
    assert [(each.model, each.gpus) for each in found] == [
        (name, plan.placement[name]) for name in ("a", "b")
    ]


def test_neighbours_slow_each_other_down_and_mps_less_than_slices():
    apart = predict(fleet(), {"a": "g-0", "b": ["g-1"]})
    sliced = predict(fleet(), {"a": "g-0", "b": "g-0"})
    under_mps = predict(fleet(), {"a": "g-0", "b": "g-0"}, "mps")
    for alone, slow, less in zip(apart, sliced, under_mps, strict=True):
        assert alone.slower == 1.0
        assert alone.shared == alone.alone == slow.alone
        assert slow.slower > less.slower > 1.5
        assert slow.shared.tpot.mean < slow.shared.tpot.p95 < slow.shared.tpot.p99
        assert slow.shared.ttft.mean < slow.shared.ttft.p95 < slow.shared.ttft.p99
        assert slow.shared.in_flight < slow.shared.in_flight_p99
    assert sliced[0].shared.cache_gb < sliced[0].shared.cache_gb_p99
    assert apart[0].keeps_targets
    assert apart[0].shared.ratio == pytest.approx(apart[0].shared.tpot.mean / 0.02)


def test_a_model_that_is_not_named_is_asleep():
    (only,) = predict(fleet(), {"b": "g-0"})
    assert (only.model, only.slower) == ("b", 1.0)
    assert predict(fleet(), {"a": [], "b": "g-0"}) == (only,)


def test_more_replicas_than_the_file_states_may_be_asked_about():
    one = predict(fleet(), {"a": "g-0"})
    two = predict(fleet(), {"a": ["g-0", "g-1"]})
    assert [(each.replica, each.requests.rate) for each in two] == [(0, 3), (1, 3)]
    assert two[0].shared.in_flight < one[0].shared.in_flight


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (None, "placement is missing, give one, or a plan"),
        ({}, "places no model"),
        ({"a": []}, "places no model"),
        ({"c": "g-0"}, "model 'c': is not in the fleet"),
        ({"a": "g-2"}, "model 'a': is on 'g-2', which is no GPU, did you mean 'g-"),
        ({"a": ["g-0", "g-0"]}, "model 'a': is on one GPU more than once"),
        ({"a": [7]}, "model 'a': is on 7, which is no GPU"),
        ({"a": 7}, "model 'a': is on 7, must be on a GPU or a list of GPUs"),
        ({"a": None}, "model 'a': is on None, must be on a GPU or a list of GPUs"),
        (["a"], "placement=['a'], must be the GPUs of every model, by name"),
        (
            {"x": "g-0", "y": "g-1", "a": "g-0"},
            "is of another fleet: 2 of its 3 models, such as 'x', are not in this one; give a",
        ),
        (
            {"a": "h-0", "b": "h-1"},
            "is of another fleet: 2 of its 2 GPUs, such as 'h-0', are not in this one; give a",
        ),
    ],
)
def test_a_placement_that_cannot_be(placement, message):
    with pytest.raises(InputError) as error:
        predict(fleet(), placement)
    assert message in str(error.value)


def test_every_shard_needs_a_gpu():
    sharded = parse_fleet(
        TWO.replace("RATE", "1").replace("TOKENS", "9").replace("KV,", "shards: 2,")
    )
    with pytest.raises(
        InputError, match="'a': is on 1 GPUs, must be on a multiple of 2, its shards"
    ):
        predict(sharded, {"a": "g-0"})
    assert predict(sharded, {"a": ["g-0", "g-1"]})[0].gpus == ("g-0", "g-1")


def test_bad_questions():
    with pytest.raises(InputError, match="sharing='turns', must be alone or slices or mps"):
        predict(fleet(), {"a": "g-0"}, "turns")
    stated = fleet()
    no_requests = [model.changed(requests=None) for model in stated.problem.models]
    with pytest.raises(InputError, match="no requests to predict from"):
        predict(Problem(stated.problem.gpus, no_requests), {"a": "g-0"})


KV = ["kv_bytes_per_token: 131072", "kv_bytes_per_token: 0", "layers: 32"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", ["0", "1e-9", "1", "1e6", "1e300"])
@pytest.mark.parametrize("tokens", ["0", "1", "1.5", "2", "128", "1e9"])
@pytest.mark.parametrize("sharing", ["slices", "mps"])
@pytest.mark.parametrize("kv", KV)
def test_absurd_requests_give_finite_or_clearly_infinite_answers(rate, tokens, sharing, kv):
    longest = "" if "131072" not in kv else ", max_model_len: 4096"
    a, b = predict(fleet(rate, tokens, kv + longest), {"a": "g-0", "b": "g-0"}, sharing)
    for each in (a.shared, a.alone, b.shared):
        numbers = [*each.tpot, *each.ttft, each.busy, each.in_flight, each.cache_gb, each.ratio]
        assert all(number >= 0.0 for number in numbers)
        assert 0.0 <= each.busy <= 1.0
        assert all(map(isfinite, (*each.tpot, each.in_flight, each.in_flight_p99, each.cache_gb)))
        assert isinf(each.ttft.p99) == isinf(each.ttft.mean) == each.saturated
        assert not each.saturated or each.ratio == inf
    assert a.slower >= 1.0 or isinf(a.alone.ttft.mean)
    assert b.slower >= 1.0
    if float(rate) <= 1e-9:
        assert a.shared.busy < 1e-3 or float(tokens) > 1e6
    if float(rate) >= 1e6:
        assert a.shared.saturated
        assert a.shared.busy == pytest.approx(1.0)


def test_an_example_can_be_asked_about_by_its_file(tmp_path):
    (tmp_path / "fleet.yaml").write_text(TWO.replace("RATE", "6").replace("TOKENS, KV", "128"))
    (found,) = predict(read_fleet(tmp_path / "fleet.yaml"), {"a": "g-1"})
    assert found.gpus == ("g-1",)


def test_only_at_the_first_token_may_more_tokens_make_a_neighbour_faster():
    tokens = ["0", "1", "1.001", "1.1", "1.5", "2", "3", "10", "100"]
    tpot = [
        predict(fleet("5", each), {"a": "g-0", "b": "g-0"}, "slices")[1].shared.tpot.mean
        for each in tokens
    ]
    assert tpot[0] == tpot[1]
    assert 0.99 * tpot[1] < tpot[2]
    assert tpot[2:] == sorted(tpot[2:])
