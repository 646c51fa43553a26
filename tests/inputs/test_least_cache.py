import pytest

from colocate import InputError, Status, solve
from colocate.inputs.fleet import fleet_of
from colocate.inputs.least_cache import (
    cache_repeats,
    least_cache_gb,
    longest_context,
    longest_request,
    request_gb,
    requests_at_once,
    tokens_in,
    typical_request,
)
from colocate.inputs.spec import ModelSpec

QWEN_14B = 48 * 2 * 8 * 128 * 2
"""Bytes of a token: 48 layers with 8 heads of keys and values."""


def spec(**fields):
    return ModelSpec.model_validate({"name": "m", "size_gb": 20.0, **fields})


def known(**fields):
    return spec(**{"kv_bytes_per_token": float(QWEN_14B), **fields})


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({}, 4096),
        ({"context_limit": 2048}, 2048),
        ({"prompt_tokens": 700, "output_tokens": 300.2}, 2001),
        ({"prompt_tokens": 20_000, "output_tokens": 500, "context_limit": 32_768}, 32_768),
        ({"prompt_tokens": 700, "output_tokens": 300, "max_model_len": 9000}, 9000),
        ({"prompt_tokens": 0, "output_tokens": 0}, 1),
        ({"prompt_tokens": 5000}, 10_000),
        ({"output_tokens": 100}, 4096),
        ({"prompt_tokens": 5000, "context_limit": 8192}, 8192),
    ],
)
def test_the_longest_request(fields, tokens):
    assert longest_request(spec(**fields)) == tokens


def test_a_typical_request_is_the_mean_or_the_longest():
    assert typical_request(spec(prompt_tokens=700, output_tokens=300)) == 1000
    assert typical_request(spec()) == 4096


def test_a_request_beyond_what_the_model_knows_is_refused():
    data = {
        "gpus": [{"name": "g", "memory_gb": 80}],
        "models": [
            {"name": "m", "size_gb": 20, "load": 1, "max_model_len": 9000, "context_limit": 8192}
        ],
    }
    told = r"models\[0\] 'm': max_model_len=9000, must be at most 8192, the longest context"
    with pytest.raises(InputError, match=told):
        fleet_of(data)


def test_a_request_takes_whole_blocks_and_one_more():
    assert request_gb(known(), 4096) == pytest.approx((4096 + 16) * QWEN_14B / 1e9)
    assert request_gb(known(), 4097) == pytest.approx((4112 + 16) * QWEN_14B / 1e9)
    assert request_gb(spec(), 10**6) == 1.0


def test_windows_and_states_stop_growing():
    gemma = spec(kv_bytes_per_token=100.0, windowed_kv_bytes_per_token=80.0, kv_window=1024)
    assert request_gb(gemma, 1000) * 1e9 == pytest.approx(1024 * 100)
    held = 1024 + 8192
    assert request_gb(gemma, 100_000) * 1e9 == pytest.approx(100_016 * 20 + held * 80)
    hybrid = spec(kv_bytes_per_token=10.0, state_bytes=5e6)
    assert request_gb(hybrid, 1000) * 1e9 == pytest.approx(1024 * 10 + 2 * 5e6)
    assert least_cache_gb(spec(kv_bytes_per_token=0.0, state_bytes=5e8)) == pytest.approx(0.5)


def test_the_least_cache():
    assert least_cache_gb(known(max_model_len=20_000)) == pytest.approx(3.935, abs=1e-3)
    assert least_cache_gb(known(max_model_len=20_000, min_concurrency=3)) == pytest.approx(
        3 * least_cache_gb(known(max_model_len=20_000))
    )
    assert least_cache_gb(known(max_model_len=16)) == 0.1
    assert least_cache_gb(known(max_model_len=16, shards=4, kv_heads=8)) == pytest.approx(0.4)
    assert least_cache_gb(spec()) == 1.0
    assert least_cache_gb(spec(kv_bytes_per_token=0.0)) == 0.0


@pytest.mark.parametrize(
    ("kv_heads", "shards", "repeats"), [(8, 1, 1), (8, 8, 1), (4, 8, 2), (1, 8, 8), (None, 8, 1)]
)
def test_shards_beyond_the_heads_repeat_the_cache(kv_heads, shards, repeats):
    model = known(kv_heads=kv_heads, shards=shards)
    assert cache_repeats(model) == repeats
    alone = known()
    assert request_gb(model, 4096) == pytest.approx(repeats * request_gb(alone, 4096))
    fleet = fleet_of(
        {
            "gpus": [{"name": "g", "memory_gb": 80, "count": 8}],
            "models": [model.model_dump(exclude_none=True) | {"rate": 8.0, "slo": 1.0}],
        }
    )
    (placed,) = fleet.problem.models
    assert placed.part().load == (8.0 * repeats / shards,)


@pytest.mark.parametrize("tokens", [1, 16, 4096, 9000, 9300, 50_000, 131_072])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"windowed_kv_bytes_per_token": 0.8 * QWEN_14B, "kv_window": 1024},
        {"state_bytes": 3e8},
        {"shards": 8, "kv_heads": 1},
    ],
)
def test_what_a_request_takes_is_enough_for_it(tokens, fields):
    model = known(**fields)
    found = tokens_in(model, request_gb(model, tokens) * (1 + 1e-12))
    assert tokens <= found <= tokens + 32
    assert requests_at_once(model, 3.5 * request_gb(model, longest_request(model))) == 3


def test_the_longest_context_is_limited_by_the_model_and_by_what_is_asked():
    assert longest_context(known(context_limit=8192), 40.0) == 8192
    assert longest_context(known(max_model_len=1000, context_limit=8192), 40.0) == 1000
    assert longest_context(known(context_limit=8192), 0.5) == 2512
    assert longest_context(spec(), 40.0) is None
    assert longest_context(spec(kv_bytes_per_token=0.0, context_limit=512), 0.0) == 512


def test_a_long_prompt_finds_no_room_beside_a_large_model():
    """It had 0.4 GB of cache beside a model of 44 GB; one request of 20,000 tokens needs 4 GB."""
    models = [
        {"name": "large", "size_gb": 44, "rate": 1, "slo": 10},
        {
            "name": "qwen2.5-14b", "size_gb": 29.5, "overhead_gb": 5, "rate": 0.01, "slo": 10,
            "prompt_tokens": 20_000, "output_tokens": 200, "kv_bytes_per_token": QWEN_14B,
        },
    ]  # fmt: skip
    one = fleet_of({"gpus": [{"name": "g", "memory_gb": 84}], "models": models})
    plan = solve(one.problem)
    assert plan.status is Status.INFEASIBLE
    assert "size_gb adds up to 78.5, with the least cache of all models to 87.45" in plan.reason
    two = fleet_of({"gpus": [{"name": "g", "memory_gb": 84, "count": 2}], "models": models})
    plan = solve(two.problem)
    assert plan.placement["large"] != plan.placement["qwen2.5-14b"]


HUGE = 10**400


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_model_len": HUGE}, "max_model_len"),
        ({"min_concurrency": HUGE}, "min_concurrency"),
        ({"shards": HUGE, "kv_heads": 1}, "shards"),
        ({"prompt_tokens": 1e308, "output_tokens": 1e308}, "prompt_tokens=1e[+]308, must be at"),
        ({"kv_bytes_per_token": 1e-308}, "kv_bytes_per_token=1e-308, must be 0, or at least 1"),
        ({"kv_bytes_per_token": 1e308}, "least_cache_gb=inf"),
        (
            {"kv_bytes_per_token": 1e3, "windowed_kv_bytes_per_token": 5e4, "kv_window": 16},
            "windowed_kv_bytes_per_token=50000.0, must be at most 1000",
        ),
        (
            {"kv_bytes_per_token": None, "windowed_kv_bytes_per_token": 5e4},
            "kv_bytes_per_token is missing",
        ),
        ({"uses": {"memory": 1}}, "uses has memory, which size_gb"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields, told):
    stated = {"name": "m", "size_gb": 10, "load": 1, "kv_bytes_per_token": 1e5, **fields}
    model = {name: value for name, value in stated.items() if value is not None}
    with pytest.raises(InputError, match=told):
        fleet_of({"gpus": [{"kind": "H100-80GB", "count": 2}], "models": [model]})


def test_no_limit_on_memory_makes_room_for_a_cache_that_a_gpu_has_not():
    gpu = {"name": "g", "memory_gb": 80, "limits": {"memory": 1000}}
    model = {"name": "m", "size_gb": 10, "load": 1}
    with pytest.raises(InputError, match="limits has memory, which memory_gb and reserve_gb"):
        fleet_of({"gpus": [gpu], "models": [model]})
