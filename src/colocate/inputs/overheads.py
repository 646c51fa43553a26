"""What an engine holds on each of its GPUs besides weights and KV cache.

Before vLLM serves, it runs the largest batch that it would accept, and keeps as much memory free as
that took. Two steps of this run are large, and the larger one counts:

- The sampler holds about ten tables of requests x vocabulary in 32 bits. This is why Qwen takes
  more than Llama, and a model of 0.6 billion parameters as much as one of 32 billion.
- The layers hold the hidden states of all tokens of a batch, and those between the two halves of
  the feed-forward network, which shards divide among themselves.

So the figures belong to a setting: `REQUESTS` at once and `TOKENS` in a batch. Left alone, vLLM
takes 1,024 requests on GPUs of 70 GiB and more (256 on A100 and on smaller ones), and holds four
times as much for the sampler. `colocate emit` therefore states the number of requests.
"""

from collections.abc import Sequence
from itertools import pairwise

from colocate.inputs.accelerator import GIB
from colocate.inputs.huggingface import ModelSize

REQUESTS = 256
"""Requests at once: vLLM's default on most GPUs, and more than the cache of a shared GPU holds."""
TOKENS = 8192
"""Tokens of one batch: vLLM's default on H100 and H200. It is 2,048 on smaller GPUs and 16,384 on
those of 160 GiB and more."""
SAMPLER_BYTES = 9.7 * 4
"""For each request and word of the vocabulary. Measured: 4.76 GiB for Llama-3.1-8B, 5.56 for
Qwen3-0.6B, 5.64 for Qwen3-32B and 7.38 for gpt-oss at 1,024 requests (llm-d-planner, vLLM 0.11 on
H100); 1.19 GiB for Llama-3.1-8B and 1.40 for Qwen2.5 at 256 (logs of vLLM 0.6.6 and 0.7.3)."""
WHOLE_BYTES, DIVIDED_BYTES = 4, 30
"""For each token and hidden value: the states in 16 bits twice, and the feed-forward network, up to
five times as wide, three times. An estimate; Qwen3-Embedding-0.6B was measured to take 0.22 GiB."""
EXPERTS = 1.5
"""How much more the layers of a mixture of experts hold: each token is there once for every expert
that it meets. An estimate from the shapes of Mixtral, GLM-4.5 and DeepSeek-V3."""
SEEING_GIB = 2.5
"""The least for a model that takes images, which has the run of its vision tower besides; 2.12 were
measured for Mistral-Small-3.2-24B (llm-d-planner)."""
NON_TORCH_GIB, NON_TORCH_OF_SHARDS_GIB = 0.15, 0.6
"""Buffers of libraries, of one GPU and of each shard: measured 0.13 to 0.14 and 0.54 to 0.55
(llm-d-planner)."""
GRAPHS_GIB = 0.5
"""CUDA graphs: measured -0.9 to 1.0 (llm-d-planner), where less than 0 is memory that was freed;
0.23 for Llama-3.1-8B and 0.4 for Qwen2.5-0.5B with newer versions."""
CONTEXT_GB = 0.5
"""The context of a process on a GPU, which engines do not count as theirs: vLLM finds 78.6 to 78.8
GiB free of 79.2 before it has loaded anything."""
SGLANG_GB = 4.0
"""What SGLang keeps for itself where nobody says how much an engine holds: 512 MiB, 1.5 MiB for
each of 2,048 tokens and 2 MiB for each request of its largest graph are 3.9 GB on a GPU of 24 GiB
(its `server_args.py`)."""

SEEING = frozenset({
    "aya_vision", "gemma3", "gemma3n", "glm4v", "glm4v_moe", "idefics3", "internvl",
    "internvl_chat", "kimi_vl", "llama4", "llava", "llava_next", "llava_onevision", "minicpmv",
    "mistral3", "mllama", "paligemma", "phi3_v", "phi4mm", "pixtral", "qwen2_5_omni",
    "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "qwen3_vl_moe",
})  # fmt: skip
"""Types of models that take images."""
ENCODERS = frozenset({
    "albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "gte",
    "modernbert", "mpnet", "new", "nomic_bert", "roberta", "xlm-roberta", "xlm-roberta-xl",
})  # fmt: skip
"""Types of models that encode and never sample."""
POOLING = (
    *("--runner=pooling", "--convert=embed", "--convert=classify", "--is-embedding"),
    *(f"--task={task}" for task in ("embed", "embedding", "score", "classify", "reward")),
)
"""Arguments with which engines make a model an embedder or a classifier."""
REQUEST_OPTIONS = ("--max-num-seqs", "--max-running-requests")
TOKEN_OPTIONS = ("--max-num-batched-tokens", "--chunked-prefill-size")


def overhead_gb(
    size: ModelSize, shards: int = 1, args: Sequence[str] = (), at_once: int = 1
) -> float:
    """Return the GB that an engine holds on each GPU besides weights and KV cache.

    Parameters
    ----------
    size
        The model: its type, hidden size and vocabulary.
    shards
        The GPUs that a replica is on.
    args
        The engine's arguments: how many requests and tokens it takes, and whether it samples.
    at_once
        The requests that it has to take at the least.
    """
    words = _words(args)
    requests = stated_requests(args) or most_requests(at_once)
    tokens = _stated(words, TOKEN_OPTIONS) or TOKENS
    layers = (WHOLE_BYTES + DIVIDED_BYTES / shards) * tokens * size.hidden_size
    if size.active_parameters < size.parameters:
        layers *= EXPERTS
    samples = size.model_type not in ENCODERS and not _pools(words)
    sampler = SAMPLER_BYTES * requests * size.vocab_size if samples else 0.0
    family = size.model_type.removesuffix("_model").removesuffix("_text")
    seeing = SEEING_GIB * GIB if family in SEEING else 0.0
    libraries = (NON_TORCH_GIB if shards == 1 else NON_TORCH_OF_SHARDS_GIB) * GIB
    return (max(layers, sampler, seeing) + libraries + GRAPHS_GIB * GIB) / 1e9 + CONTEXT_GB


def most_requests(at_once: int) -> int:
    """Return how many requests an engine is told to take, where it has to take so many."""
    return max(REQUESTS, at_once)


def stated_requests(args: Sequence[str]) -> int | None:
    """Return how many requests an engine takes if its arguments say so."""
    return _stated(_words(args), REQUEST_OPTIONS)


def _words(args: Sequence[str]) -> list[str]:
    return [word for arg in args for word in arg.split("=", 1)]


def _stated(words: Sequence[str], options: Sequence[str]) -> int | None:
    """Return the whole number that follows one of some options."""
    for option, value in pairwise(words):
        if option in options and value.isascii() and value.isdigit() and 0 < len(value) < 10:
            return int(value) or None
    return None


def is_pooling(args: Sequence[str]) -> bool:
    """Say whether the arguments of an engine make its model an embedder or a classifier."""
    return _pools(_words(args))


def _pools(words: Sequence[str]) -> bool:
    pairs = {f"{option}={value}" for option, value in pairwise(words)}
    return not pairs.isdisjoint(POOLING) or not set(words).isdisjoint(POOLING)
