"""Decoders with a mixture of experts."""

from dataclasses import replace

from colocate.inputs.huggingface.families.dense import GLM, LLAMA, QWEN2, QWEN3
from colocate.inputs.huggingface.family import CHUNKED, EVERY_LAYER, FULL, Family
from colocate.inputs.huggingface.reading.attention import read_attention
from colocate.inputs.huggingface.reading.kinds import last_of_each

QWEN3_MOE = replace(QWEN3, defaults={"num_key_value_heads": 4, "sliding_window": 4096})
LATENT = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
DEEPSEEK_V2 = Family(defaults=LATENT)
DEEPSEEK_V3 = Family(
    router_bias=True, defaults={**LATENT, "first_k_dense_replace": 3, "n_shared_experts": 1}
)
DEEPSEEK_V32 = replace(
    DEEPSEEK_V3,
    mixers={"indexed_attention": read_attention},
    defaults={**DEEPSEEK_V3.defaults, "index_n_heads": 64, "index_head_dim": 128},
)
GLM4_MOE = replace(
    GLM,
    router_bias=True,
    qk_norm="use_qk_norm",
    defaults={"head_dim": 128, "first_k_dense_replace": 1, "n_shared_experts": 1},
)

MIXTURES = {
    "bailing_moe": Family(qkv_bias="use_qkv_bias", output_bias="use_bias", mlp_bias=False),
    "dbrx": Family(
        spellings={
            "num_key_value_heads": "attn_config.kv_n_heads",
            "num_experts": "ffn_config.moe_num_experts",
            "num_experts_per_tok": "ffn_config.moe_top_k",
            "moe_intermediate_size": "ffn_config.ffn_hidden_size",
        }
    ),
    "deepseek_v2": DEEPSEEK_V2,
    "deepseek_v3": DEEPSEEK_V3,
    "deepseek_v32": DEEPSEEK_V32,
    "dots1": Family(router_bias=True, qk_norm=True),
    "ernie4_5_moe": Family(
        tied=True,
        qkv_bias="use_bias",
        output_bias="use_bias",
        mlp_bias="use_bias",
        router_bias=True,
    ),
    "exaone_moe": Family(router_bias=True, qk_norm=True, window_pattern=4),
    "flex_olmo": Family(qk_norm=True, qk_norm_of_all_heads=True),
    "glm4_moe": GLM4_MOE,
    "glm4_moe_lite": DEEPSEEK_V3,
    "glm_moe_dsa": DEEPSEEK_V32,
    "glm4v_moe_text": replace(GLM4_MOE, qk_norm=False),
    "gpt_oss": Family(
        router_bias=True,
        expert_bias=True,
        attention_sinks=True,
        window_pattern=2,
        defaults={"head_dim": 64, "attention_bias": True, "sliding_window": 128},
    ),
    "granitemoe": LLAMA,
    "granitemoeshared": Family(
        spellings={"shared_expert_intermediate_size": "shared_intermediate_size"}
    ),
    "hunyuan_v1_moe": Family(qk_norm="use_qk_norm", defaults={"use_qk_norm": True}),
    "kimi_k2": DEEPSEEK_V3,
    "llama4_text": Family(
        kinds=last_of_each("no_rope_layer_interval", FULL, CHUNKED),
        spellings={
            "intermediate_size": "intermediate_size_mlp",
            "moe_intermediate_size": "intermediate_size",
        },
        defaults={
            "head_dim": 128,
            "n_shared_experts": 1,
            "no_rope_layer_interval": 4,
            "attention_chunk_size": 8192,
        },
    ),
    "minimax_m2": Family(
        router_bias=True,
        qk_norm="use_qk_norm",
        qk_norm_of_all_heads=True,
        defaults={"use_qk_norm": True},
    ),
    "mistral4": replace(DEEPSEEK_V2, defaults={"n_shared_experts": 1}),
    "mixtral": Family(window_pattern=EVERY_LAYER, defaults={"num_key_value_heads": 8}),
    "olmoe": Family(qk_norm=True, qk_norm_of_all_heads=True),
    "phimoe": Family(norm_bias=True, head_bias="lm_head_bias"),
    "qwen2_moe": replace(QWEN2, shared_expert_gate=True),
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "solar_open": Family(
        output_bias=False,
        router_bias=True,
        defaults={"head_dim": 128, "n_shared_experts": 1},
    ),
}
