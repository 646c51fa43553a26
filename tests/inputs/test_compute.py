import csv
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import InputError, solve
from colocate.inputs.compute import BusyShare, busy_shares
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.gpu_rows import ROWS
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.spec import ModelSpec
from colocate.problem.model import COMPUTE

DATA = Path(__file__).parents[1] / "data"
KINDS = [row.kind for row in ROWS]


def model(**fields):
    stated = {"size_gb": 16.0, "rate": 1.0, "slo": 1.0, "prompt_tokens": 0.0, "output_tokens": 0.0}
    return ModelSpec(name="m", **{**stated, **fields})


def share(kind="A100-80GB", **fields) -> BusyShare:
    return busy_shares(model(**fields), [kind])[kind]


def test_prompts_cost_two_operations_for_each_parameter_and_token():
    # 16 GB in 16 bits are 8e9 parameters, 16e9 operations a token. An A100 has 312e12 a second and
    # reaches 0.6 of them: 187.2e12, so 11,700 tokens a second.
    assert share(rate=11.7, prompt_tokens=1000.0) == pytest.approx((0.0, 1.0))
    # An H100 has 1979e12 in fp8 and reaches 0.5 of them. 16 GB in fp8 are 16e9 parameters.
    expected = 1000 * 32e9 / (1979e12 * 0.5)
    assert share("H100-80GB", prompt_tokens=1000.0, dtype="fp8").shared == pytest.approx(expected)


def test_answers_read_the_weights_once_a_step():
    # 0.8 of 2,039 GB/s is 1,631.2 GB/s: 16 GB ten times a second take 0.0981 of it.
    reading = 10 * 16 / 1631.2
    assert share(rate=1.0, output_tokens=10.0).own == pytest.approx(reading)
    # More tokens make larger steps, not more of them; slower steps read less.
    assert share(rate=2.0, output_tokens=10.0).own == pytest.approx(reading)
    assert share(rate=2.0, output_tokens=10.0, tpot_slo=0.05).own == pytest.approx(2 * reading)
    # A model with fewer tokens than steps takes a step for each.
    assert share(rate=1.0, output_tokens=4.0).own == pytest.approx(0.4 * reading)


def test_large_batches_are_bound_by_operations():
    # 11,700 tokens a second keep the A100 busy, as those of prompts do; reading is part of it.
    busy = share(rate=11.7, output_tokens=1000.0)
    assert sum(busy) == pytest.approx(1.0)
    assert busy.own == pytest.approx(10 * 16 / 1631.2)


def test_attention_reads_keys_and_values_of_the_whole_context():
    # 2 requests a second of 50 output tokens, each looking back on 100 + 25 tokens of 1 MB:
    # 100 x 125 MB = 12.5 GB a second.
    with_cache = share(
        rate=2.0, prompt_tokens=100.0, output_tokens=50.0, kv_bytes_per_token=1e6
    )  # fmt: skip
    without = share(rate=2.0, prompt_tokens=100.0, output_tokens=50.0)
    assert with_cache.shared - without.shared == pytest.approx(12.5 / 1631.2)
    assert with_cache.own == without.own


def test_a_mixture_reads_the_experts_that_its_batch_meets():
    # A quarter of the weights for a token; of a batch of two, 1 - 0.75^2 = 0.4375.
    whole = share(rate=1.0, output_tokens=10.0).own
    assert share(output_tokens=10.0, active_parameters=2e9).own == pytest.approx(0.25 * whole)
    assert share(output_tokens=20.0, active_parameters=2e9).own == pytest.approx(0.4375 * whole)


def test_shards_lose_a_tenth_with_each_doubling():
    one = share(prompt_tokens=100.0, output_tokens=100.0)
    two = share(prompt_tokens=100.0, output_tokens=100.0, shards=2)
    eight = share(prompt_tokens=100.0, output_tokens=100.0, shards=8)
    assert two == pytest.approx([part / 0.9 for part in one])
    assert eight == pytest.approx([part / 0.729 for part in one])


def test_small_formats_are_read_as_they_are_and_used_in_16_bits():
    # 4 GB in 4 bits are the same 8e9 parameters as 16 GB in 16 bits.
    for dtype in ("int4", "awq", "GPTQ", "nf4", "mxfp4"):
        small = share(size_gb=4.0, dtype=dtype, prompt_tokens=100.0, output_tokens=5.0)
        usual = share(prompt_tokens=100.0, output_tokens=5.0)
        assert small.own == pytest.approx(usual.own / 4)
        assert small.shared == pytest.approx(usual.shared)
    for unknown in ("auto", "9" * 5000, "fp0"):
        assert share(dtype=unknown, prompt_tokens=100.0) == share(prompt_tokens=100.0)


def test_without_token_rates_or_for_unknown_kinds_there_is_no_estimate():
    assert busy_shares(ModelSpec(name="m", size_gb=1.0, rate=1.0, slo=1.0), ["T4"]) == {}
    known = busy_shares(model(prompt_tokens=10.0), ["T4", "homemade", ""])
    assert known["homemade"] == known[""] == (0.0, 0.0)
    assert sum(known["T4"]) > 0


amounts = st.floats(0.0, 1e4)
fields = st.fixed_dictionaries(
    {
        "size_gb": st.floats(0.0, 500.0),
        "rate": st.floats(0.0, 1e3),
        "prompt_tokens": amounts,
        "output_tokens": amounts,
        "tpot_slo": st.floats(0.005, 1.0),
        "kv_bytes_per_token": st.floats(0.0, 1e6),
        "shards": st.sampled_from([1, 2, 3, 4, 8]),
        "dtype": st.sampled_from([None, "bf16", "fp8", "int4"]),
    }
)


def no_more(first, second):
    """Say whether the first is at most the second, but for rounding."""
    return first <= second * (1 + 1e-9) + 1e-12


@given(fields, st.sampled_from(KINDS), st.sampled_from(["rate", "prompt_tokens", "output_tokens"]))
def test_more_tokens_never_keep_a_gpu_less_busy(stated, kind, field):
    more = {**stated, field: stated[field] * 1.5 + 1}
    assert no_more(sum(share(kind, **stated)), sum(share(kind, **more)))


@given(fields)
def test_a_faster_gpu_is_never_busier(stated):
    shares = busy_shares(model(**stated), KINDS)
    for slow in ROWS:
        for fast in ROWS:
            if (
                fast.bandwidth_gb_s >= slow.bandwidth_gb_s
                and fast.tflops_16bit >= slow.tflops_16bit
                and (fast.tflops_8bit or 0) >= (slow.tflops_8bit or 0)
            ):
                assert no_more(sum(shares[fast.kind]), sum(shares[slow.kind]))


@given(fields, st.sampled_from(KINDS), st.integers(2, 8))
def test_of_more_replicas_none_is_busier_than_one_alone(stated, kind, replicas):
    own, shared = share(kind, **stated)
    assert own >= 0
    assert shared >= 0
    assert own + shared / replicas <= own + shared


@given(fields, st.sampled_from(KINDS), st.floats(0.05, 1.0))
def test_a_mixture_is_never_busier_than_a_dense_model_of_its_size(stated, kind, active):
    bits = {"fp8": 8, "int4": 4}.get(stated["dtype"], 16)
    parameters = max(stated["size_gb"], 1e-3) * 8e9 / bits
    mixture = {**stated, "active_parameters": parameters * active}
    dense = {**stated, "active_parameters": parameters}
    assert no_more(sum(share(kind, **mixture)), sum(share(kind, **dense)))


@given(fields, st.sampled_from(KINDS))
def test_fp8_is_never_busier_than_bf16(stated, kind):
    half = {**stated, "dtype": "fp8", "size_gb": stated["size_gb"] / 2}
    assert no_more(sum(share(kind, **half)), sum(share(kind, **{**stated, "dtype": "bf16"})))


def published():
    lines = (DATA / "published_throughput.csv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def share_at_the_most(row):
    """Return how busy the estimate takes a GPU to be at the highest throughput measured on it."""
    shards, output = int(row["shards"]), float(row["output_tokens"])
    stated = ModelSpec(
        name="m",
        config=row["model"],
        dtype=row["dtype"],
        kv_dtype=row["dtype"],
        rate=float(row["tokens_per_second"]) / output,
        prompt_tokens=float(row["prompt_tokens"]),
        output_tokens=output,
        shards=shards,
    ).resolved(ConfigLookup(DATA / "configs").find)
    return sum(busy_shares(stated, [row["gpu"]])[row["gpu"]]) / shards


def test_published_throughput_is_where_the_estimate_says_a_gpu_is_busy_all_the_time():
    shares = {}
    for row in published():
        group = (row["model"], row["gpu"], row["shards"])
        shares.setdefault(group, []).append(share_at_the_most(row))
    assert sum(map(len, shares.values())) == 112
    assert 0.9 < fmean(value for group in shares.values() for value in group) < 1.0
    for group, values in shares.items():
        assert 0.7 < fmean(values) < 1.15, group
        assert min(values) > 0.5, group
        assert max(values) < 1.55, group


TWO_HOT = """
objective: pressure
gpus: [{name: h100, kind: H100-80GB, count: 2}]
models:
  - {name: hot-a, size_gb: 3, rate: 90, slo: 100, prompt_tokens: 1000, output_tokens: 100}
  - {name: hot-b, size_gb: 3, rate: 90, slo: 100, prompt_tokens: 1000, output_tokens: 100}
  - {name: large, size_gb: 60, rate: 0.2, slo: 1, prompt_tokens: 100, output_tokens: 10}
"""


def test_two_hot_models_share_a_gpu_by_pressure_but_not_by_compute():
    # Each has 90 x 1,100 tokens of 3e9 operations a second, half of what an H100 reaches.
    pure = solve(parse_fleet(TWO_HOT).problem)
    assert pure.placement["hot-a"] == pure.placement["hot-b"] != pure.placement["large"]
    limited = solve(parse_fleet("compute_limit: 0.8\n" + TWO_HOT).problem)
    assert limited.placement["hot-a"] != limited.placement["hot-b"]
    assert limited.pressure > pure.pressure


def test_the_share_reaches_the_problem_for_each_kind_and_part():
    text = """
gpus:
  - {name: a, kind: A100-80GB, node: n, count: 2}
  - {name: odd, kind: homemade, memory_gb: 80, node: n}
models:
  - {name: m, size_gb: 16, rate: 11.7, slo: 1, prompt_tokens: 1000, output_tokens: 0, shards: 2}
"""
    problem = parse_fleet("compute_limit: 0.8\n" + text).problem
    part = dict(dict(problem.models[0].part().uses)["compute"])
    assert part == pytest.approx({"A100-80GB": 0.5 / 0.9, "homemade": 0.0})
    assert [gpu.limit_on(COMPUTE) for gpu in problem.gpus] == [0.8, 0.8, None]
    for without in (text, "compute_limit: null\n" + text):
        problem = parse_fleet(without).problem
        assert COMPUTE not in dict(problem.models[0].uses)
        assert problem.gpus[0].limit_on(COMPUTE) is None


def test_a_stated_use_and_limit_win_over_the_estimate():
    text = """
gpus: [{name: a, kind: A100-80GB, limits: {compute: 0.5}}]
models:
  - {name: m, size_gb: 16, rate: 9, slo: 1, prompt_tokens: 100, output_tokens: 9,
     uses: {compute: 0.4}}
"""
    problem = parse_fleet(text).problem
    assert problem.gpus[0].limit_on(COMPUTE) == 0.5
    assert dict(problem.models[0].uses)[COMPUTE] == (("", 0.4),)
    assert not problem.models[0].shared_uses


def test_a_limit_must_be_positive():
    with pytest.raises(InputError, match="compute_limit"):
        parse_fleet("compute_limit: 0\n" + TWO_HOT)
