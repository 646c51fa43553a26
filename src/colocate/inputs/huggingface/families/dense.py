"""Decoders with one feed-forward block a layer."""

from dataclasses import replace

from colocate.inputs.huggingface.family import BIASED, CROSS, EVERY_LAYER, FULL, Family
from colocate.inputs.huggingface.reading.attention import read_picture_attention
from colocate.inputs.huggingface.reading.gemma3n import read_gemma3n
from colocate.inputs.huggingface.reading.gemma4 import read_gemma4, read_wide_attention
from colocate.inputs.huggingface.reading.kinds import crossed

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
GEMMA = Family(tied=True, defaults={"head_dim": 256, "num_key_value_heads": 16})
GEMMA2 = Family(
    tied=True,
    norms=4,
    window_pattern=2,
    defaults={"head_dim": 256, "num_key_value_heads": 4, "sliding_window": 4096},
)
GEMMA3 = replace(GEMMA2, qk_norm=True, window_pattern=6)
COHERE = Family(tied=True, single_norm=True, qk_norm="use_qk_norm", qk_norm_of_all_heads=True)
GPT2 = replace(BIASED, tied=True, positions=True, default_width=4)
PHI = replace(
    GPT2, tied=False, positions=False, single_norm=True, head_bias=True, qk_norm="qk_layernorm"
)
GLM = Family(output_bias=False, defaults={"head_dim": 128, "attention_bias": True})
GLM4 = replace(GLM, norms=4)
OLMO2 = Family(qk_norm=True, qk_norm_of_all_heads=True)
MLLAMA = Family(
    kinds=crossed, mixers={CROSS: read_picture_attention}, defaults={"spare_embeddings": 8}
)

DENSE = {
    "llama": LLAMA,
    "apertus": Family(gated=False, qk_norm=True),
    "arcee": Family(gated=False),
    "baichuan": LLAMA,
    "bloom": replace(GPT2, positions=False, embedding_norm=True),
    "chatglm": Family(
        qkv_bias="add_qkv_bias",
        output_bias="add_bias_linear",
        mlp_bias="add_bias_linear",
        headed=True,
        spellings={
            "num_key_value_heads": "multi_query_group_num",
            "head_dim": "kv_channels",
            "vocab_size": "padded_vocab_size",
        },
    ),
    "cohere": COHERE,
    "cohere2": replace(COHERE, window_pattern=4, defaults={"sliding_window": 4096}),
    "ernie4_5": Family(tied=True, qkv_bias="use_bias", output_bias="use_bias", mlp_bias="use_bias"),
    "exaone4": Family(qk_norm=True, window_pattern=4),
    "falcon": replace(
        GPT2,
        qkv_bias="bias",
        output_bias="bias",
        mlp_bias="bias",
        positions=False,
        single_norm="parallel_attn",
        defaults={"multi_query": True, "parallel_attn": True},
    ),
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3": GEMMA3,
    "gemma3_text": GEMMA3,
    "gemma3n_text": replace(
        GEMMA3,
        window_pattern=5,
        read=read_gemma3n,
        defaults={
            **GEMMA3.defaults,
            "sliding_window": 512,
            "altup_num_inputs": 4,
            "laurel_rank": 64,
            "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
            "num_kv_shared_layers": 15,
        },
    ),
    "gemma4_text": replace(
        GEMMA3,
        router_bias=True,
        read=read_gemma4,
        mixers={FULL: read_wide_attention},
        spellings={
            "num_experts_per_tok": "top_k_experts",
            "shared_expert_intermediate_size": "intermediate_size",
        },
        defaults={
            **GEMMA3.defaults,
            "sliding_window": 512,
            "global_head_dim": 512,
            "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
            "num_kv_shared_layers": 0,
        },
    ),
    "glm": GLM,
    "glm4": GLM4,
    "glm4v_text": GLM4,
    "gpt2": GPT2,
    "gpt_bigcode": replace(GPT2, defaults={"multi_query": True}),
    "gpt_neox": replace(
        GPT2,
        tied=False,
        qkv_bias="attention_bias",
        output_bias="attention_bias",
        positions=False,
        defaults={"attention_bias": True},
    ),
    "gptj": replace(PHI, qkv_bias=False, output_bias=False),
    "granite": LLAMA,
    "helium": Family(output_bias=False),
    "hunyuan_v1_dense": Family(qk_norm="use_qk_norm", defaults={"use_qk_norm": True}),
    "internlm2": LLAMA,
    "internlm3": Family(qkv_bias="qkv_bias", output_bias="bias", mlp_bias="bias"),
    "mimo": QWEN2,
    "minicpm3": Family(tied=True),
    "ministral": MISTRAL,
    "ministral3": MISTRAL,
    "mistral": MISTRAL,
    "mllama_text_model": MLLAMA,
    "mpt": Family(tied=True, gated=False, default_width=4),
    "nemotron": Family(gated=False, norm_bias=True),
    "olmo": Family(norms=0),
    "olmo2": OLMO2,
    "olmo3": replace(OLMO2, window_pattern=4),
    "opt": replace(
        GPT2,
        qkv_bias="enable_bias",
        output_bias="enable_bias",
        mlp_bias="enable_bias",
        spare_positions=2,
        defaults={"enable_bias": True},
    ),
    "phi": PHI,
    "phi3": Family(window_pattern=EVERY_LAYER),
    "phi4mm": Family(tied=True, window_pattern=EVERY_LAYER),
    "phi4_multimodal": Family(tied=True, window_pattern=EVERY_LAYER),
    "qwen2": QWEN2,
    "qwen2_vl": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "seed_oss": Family(output_bias="attention_out_bias", defaults={"attention_bias": True}),
    "smollm3": Family(tied=True),
    "stablelm": Family(
        qkv_bias="use_qkv_bias",
        output_bias=False,
        norm_bias=True,
        single_norm="use_parallel_residual",
        qk_norm="qk_layernorm",
        qk_norm_of_all_heads=True,
        qk_norm_bias=False,
    ),
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
}
