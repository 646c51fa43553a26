from dataclasses import replace
from pathlib import Path

import pytest

from colocate.inputs.fleet import parse_fleet
from colocate.inputs.huggingface import read_model_size
from colocate.inputs.overheads import (
    CONTEXT_GB,
    GRAPHS_GIB,
    REQUESTS,
    overhead_gb,
    stated_requests,
)

CONFIGS = Path(__file__).parents[1] / "data" / "configs"
GIB = 2**30 / 1e9
PLANNER = "llm-d-planner, docs/empirical-vllm-memory-results.md: vLLM 0.11.0, H100"

MEASURED = [
    # config, hidden size, shards, requests, GiB of activations and other libraries, source
    ("Llama-3.1-8B", 4096, 1, 1024, 4.76 + 0.13, PLANNER),
    ("Llama-3.1-70B", 8192, 2, 1024, 4.84 + 0.55, PLANNER),
    ("Qwen3-8B", 1024, 1, 1024, 5.56 + 0.13, f"{PLANNER}, Qwen3-0.6B"),
    ("Qwen3-8B", 5120, 1, 1024, 5.64 + 0.14, f"{PLANNER}, Qwen3-32B"),
    ("Qwen3-8B", 5120, 2, 1024, 5.64 + 0.54, f"{PLANNER}, Qwen3-32B"),
    ("gpt-oss-20b", 2880, 1, 1024, 7.38 + 0.13, PLANNER),
    ("gpt-oss-120b", 2880, 1, 1024, 7.38 + 0.13, PLANNER),
    ("Qwen3-30B-A3B", 2048, 2, 1024, 5.58 + 0.61, "log of vLLM 0.13 with two engines"),
    ("Llama-3.1-8B", 4096, 1, 256, 1.19 + 0.12, "log of vLLM 0.6.6, H100"),
    ("Qwen2.5-7B", 2048, 1, 256, 1.45 + 0.20, "log of vLLM 0.8, Qwen3, batches of 8192"),
    ("Qwen2.5-7B", 1536, 1, 256, 1.42 + 0.06, "log of vLLM 0.7.3, 6 GB card"),
]


@pytest.mark.parametrize(("config", "hidden", "shards", "requests", "gib", "source"), MEASURED)
def test_the_estimate_is_what_engines_report(config, hidden, shards, requests, gib, source):
    size = replace(read_model_size(CONFIGS / config), hidden_size=hidden)
    found = overhead_gb(size, shards, [f"--max-num-seqs={requests}"])
    assert (found - CONTEXT_GB) / GIB - GRAPHS_GIB == pytest.approx(gib, abs=0.25), source


def test_the_setting_is_that_of_emitted_engines():
    size = read_model_size(CONFIGS / "Qwen2.5-7B")
    assert overhead_gb(size) == overhead_gb(size, args=[f"--max-num-seqs={REQUESTS}"])
    assert 2 <= overhead_gb(size) <= 3


def test_more_requests_or_tokens_hold_more():
    size = read_model_size(CONFIGS / "Llama-3.1-8B")
    usual = overhead_gb(size)
    assert overhead_gb(size, args=["--max-num-seqs", "16"]) < usual
    assert overhead_gb(size, args=["--max-num-seqs", "1024"]) > usual + 3
    assert overhead_gb(size, args=["--max-num-batched-tokens=65536"]) > usual + 5
    assert overhead_gb(size, at_once=512) == overhead_gb(size, args=["--max-num-seqs=512"])
    assert overhead_gb(size, at_once=20) == usual


@pytest.mark.parametrize(
    "args", [["--runner=pooling"], ["--task", "embed"], ["--is-embedding"], ["--convert=embed"]]
)
def test_a_model_that_does_not_sample_holds_less(args):
    size = replace(read_model_size(CONFIGS / "Qwen2.5-0.5B"), hidden_size=1024)
    assert overhead_gb(size, args=args) < overhead_gb(size) - 1
    assert 1.2 < overhead_gb(size, args=args) < 1.6
    assert overhead_gb(replace(size, model_type="xlm-roberta")) == overhead_gb(size, args=args)


def test_experts_shards_and_images_count():
    size = read_model_size(CONFIGS / "Mixtral-8x7B")
    dense = replace(size, active_parameters=size.parameters)
    assert overhead_gb(size) > overhead_gb(dense)
    small = read_model_size(CONFIGS / "Llama-3.2-1B")
    assert overhead_gb(small, 2) == pytest.approx(overhead_gb(small, 1) + 0.45 * GIB)
    for seeing in ("qwen2_vl", "qwen3_vl_text", "mllama_text_model"):
        assert overhead_gb(replace(small, model_type=seeing)) > overhead_gb(small) + 1


@pytest.mark.parametrize(
    ("args", "requests"),
    [
        ([], None),
        (["--max-num-seqs", "64"], 64),
        (["--max-running-requests=8"], 8),
        (["--max-num-seqs"], None),
        (["--max-num-seqs=many"], None),
        (["--max-num-seqs=0"], None),
        (["--max-num-seqs", "9" * 5000], None),
    ],
)
def test_requests_that_arguments_state(args, requests):
    assert stated_requests(args) == requests


def test_a_fleet_file_takes_the_estimate_unless_it_says_otherwise():
    text = f"""
gpus: [{{kind: L4}}]
models:
  - {{name: a, config: "{CONFIGS / "Qwen2.5-0.5B"}", rate: 1, slo: 1}}
  - {{name: b, config: "{CONFIGS / "Qwen2.5-0.5B"}", rate: 1, slo: 1, args: [--max-num-seqs=32]}}
  - {{name: c, config: "{CONFIGS / "Qwen2.5-0.5B"}", rate: 1, slo: 1, overhead_gb: 0.3}}
  - {{name: d, size_gb: 3, rate: 1, slo: 1}}
"""
    models = parse_fleet(text).models
    size = read_model_size(CONFIGS / "Qwen2.5-0.5B")
    assert models["a"].overhead_gb == overhead_gb(size)
    assert models["b"].overhead_gb == overhead_gb(size, args=["--max-num-seqs=32"])
    assert (models["c"].overhead_gb, models["d"].overhead_gb) == (0.3, 0.0)
    assert sum(m.size_gb + m.overhead_gb for m in models.values()) < 0.95 * 23.65
