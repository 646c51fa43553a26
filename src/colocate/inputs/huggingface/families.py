"""The families: how each `model_type` departs from the shape of Llama, one row each.

A row holds what the code of the family in the transformers library fixes, and the defaults of its
configuration class for fields that a config may leave out. The dimensions themselves have no
default: a config without its `hidden_size` is a mistake, not a model. Only configs nested in
another one are written without the values that equal a default; `NESTED_DEFAULTS` has those.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Switch = bool | str
"""Fixed by the family, or the name of the field that decides."""

NO_WINDOW, EVERY_LAYER = 0, 1
"""Patterns of windows: no layer has one, or each has; with n, all but every n-th layer have."""


@dataclass(frozen=True)
class Family:
    """What is particular about a family; the values of a plain row are those of Llama.

    Parameters
    ----------
    tied
        Whether the head is the embedding where `tie_word_embeddings` is left out.
    qkv_bias, output_bias, mlp_bias, norm_bias, head_bias, router_bias, expert_bias
        Which weights come with a bias.
    gated
        Whether the feed-forward block has a gate, so three matrices instead of two.
    norms, single_norm
        Norms in a layer; only one where attention and feed-forward run side by side.
    qk_norm, qk_norm_of_all_heads
        Norms of queries and keys, one for each head or one weight for all of them.
    window_pattern
        With a `sliding_window`: 1 applies it to every layer, n to all but each n-th.
    window_switch
        The field that must be true for windows to apply at all.
    positions
        Whether positions are learned, so that they have an embedding.
    spare_positions
        Its rows beyond `max_position_embeddings`.
    default_width
        Width of the feed-forward block in hidden sizes where none is given.
    """

    tied: bool = False
    qkv_bias: Switch = "attention_bias"
    output_bias: Switch = "attention_bias"
    mlp_bias: Switch = "mlp_bias"
    norm_bias: bool = False
    head_bias: Switch = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_expert_gate: bool = False
    gated: bool = True
    norms: int = 2
    single_norm: Switch = False
    qk_norm: Switch = False
    qk_norm_of_all_heads: bool = False
    attention_sinks: bool = False
    embedding_norm: bool = False
    positions: bool = False
    spare_positions: int = 0
    window_pattern: int = NO_WINDOW
    window_switch: str | None = None
    default_width: int | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


LLAMA = Family()
MISTRAL = Family(
    window_pattern=EVERY_LAYER, defaults={"num_key_value_heads": 8, "sliding_window": 4096}
)
QWEN2 = Family(
    qkv_bias="qkv_bias",
    output_bias=False,
    window_pattern=EVERY_LAYER,
    window_switch="use_sliding_window",
    defaults={"qkv_bias": True, "sliding_window": 4096, "max_window_layers": 28},
)
QWEN3 = replace(
    QWEN2,
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    qk_norm=True,
    defaults={"head_dim": 128, "sliding_window": 4096, "max_window_layers": 28},
)
QWEN3_MOE = replace(QWEN3, defaults={"num_key_value_heads": 4, "sliding_window": 4096})
GEMMA = Family(tied=True, defaults={"head_dim": 256, "num_key_value_heads": 16})
GEMMA2 = Family(
    tied=True,
    norms=4,
    window_pattern=2,
    defaults={"head_dim": 256, "num_key_value_heads": 4, "sliding_window": 4096},
)
GEMMA3 = replace(GEMMA2, qk_norm=True, window_pattern=6)
COHERE = Family(tied=True, single_norm=True, qk_norm="use_qk_norm", qk_norm_of_all_heads=True)
GPT2 = Family(
    tied=True,
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    norm_bias=True,
    gated=False,
    positions=True,
    default_width=4,
)
GPT_NEOX = replace(
    GPT2,
    tied=False,
    qkv_bias="attention_bias",
    output_bias="attention_bias",
    positions=False,
    defaults={"attention_bias": True},
)
PHI = replace(
    GPT2, tied=False, positions=False, single_norm=True, head_bias=True, qk_norm="qk_layernorm"
)
DEEPSEEK_V2 = Family(
    defaults={
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    }
)
DEEPSEEK_V3 = replace(
    DEEPSEEK_V2,
    router_bias=True,
    defaults={**DEEPSEEK_V2.defaults, "first_k_dense_replace": 3, "n_shared_experts": 1},
)
GLM = Family(output_bias=False, defaults={"head_dim": 128, "attention_bias": True})

FAMILIES = {
    "llama": LLAMA,
    "granite": LLAMA,
    "granitemoe": LLAMA,
    "internlm2": LLAMA,
    "baichuan": LLAMA,
    "smollm3": Family(tied=True),
    "mistral": MISTRAL,
    "mixtral": Family(window_pattern=EVERY_LAYER, defaults={"num_key_value_heads": 8}),
    "qwen2": QWEN2,
    "qwen2_vl": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_moe": replace(QWEN2, shared_expert_gate=True),
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3": GEMMA3,
    "gemma3_text": GEMMA3,
    "phi": PHI,
    "phi3": Family(window_pattern=EVERY_LAYER),
    "phimoe": Family(norm_bias=True, head_bias="lm_head_bias"),
    "deepseek_v2": DEEPSEEK_V2,
    "deepseek_v3": DEEPSEEK_V3,
    "kimi_k2": DEEPSEEK_V3,
    "gpt_oss": Family(
        router_bias=True,
        expert_bias=True,
        attention_sinks=True,
        window_pattern=2,
        defaults={"head_dim": 64, "attention_bias": True, "sliding_window": 128},
    ),
    "falcon": replace(
        GPT2,
        qkv_bias="bias",
        output_bias="bias",
        mlp_bias="bias",
        positions=False,
        single_norm="parallel_attn",
        defaults={"multi_query": True, "parallel_attn": True},
    ),
    "gpt2": GPT2,
    "gpt_bigcode": replace(GPT2, defaults={"multi_query": True}),
    "gpt_neox": GPT_NEOX,
    "gptj": replace(PHI, qkv_bias=False, output_bias=False),
    "opt": replace(
        GPT2,
        qkv_bias="enable_bias",
        output_bias="enable_bias",
        mlp_bias="enable_bias",
        spare_positions=2,
        defaults={"enable_bias": True},
    ),
    "bloom": replace(GPT2, positions=False, embedding_norm=True),
    "mpt": Family(tied=True, gated=False, default_width=4),
    "nemotron": Family(gated=False, norm_bias=True),
    "starcoder2": Family(
        tied=True,
        qkv_bias="use_bias",
        output_bias="use_bias",
        mlp_bias="use_bias",
        norm_bias=True,
        gated=False,
        window_pattern=EVERY_LAYER,
        defaults={"use_bias": True, "num_key_value_heads": 2},
    ),
    "cohere": COHERE,
    "cohere2": replace(COHERE, window_pattern=4, defaults={"sliding_window": 4096}),
    "olmo": Family(norms=0),
    "olmo2": Family(qk_norm=True, qk_norm_of_all_heads=True),
    "olmoe": Family(qk_norm=True, qk_norm_of_all_heads=True),
    "stablelm": Family(
        qkv_bias="use_qkv_bias",
        output_bias=False,
        norm_bias=True,
        single_norm="use_parallel_residual",
        qk_norm="qk_layernorm",
        qk_norm_of_all_heads=True,
    ),
    "glm": GLM,
    "glm4": replace(GLM, norms=4),
    "glm4_moe": replace(
        GLM,
        router_bias=True,
        qk_norm="use_qk_norm",
        defaults={"head_dim": 128, "first_k_dense_replace": 1, "n_shared_experts": 1},
    ),
}

LLAMA_7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
GEMMA_2B = {
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
}

NESTED_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "llama": LLAMA_7B,
    "mistral": {**LLAMA_7B, "intermediate_size": 14336},
    "qwen2": {**LLAMA_7B, "vocab_size": 151936, "intermediate_size": 22016},
    "qwen3": {**LLAMA_7B, "vocab_size": 151936, "intermediate_size": 22016},
    "gemma": {
        "vocab_size": 256000,
        "hidden_size": 3072,
        "intermediate_size": 24576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
    },
    "gemma2": {**GEMMA_2B, "vocab_size": 256000},
    "gemma3": {**GEMMA_2B, "vocab_size": 262208},
    "gemma3_text": {**GEMMA_2B, "vocab_size": 262208},
}
