"""What a sequence takes: keys and values of attention layers, states of the others, once or not."""

import pytest

from colocate.errors import InputError
from colocate.inputs.huggingface import model_size, read_model_size
from tests.inputs.tiny_model import CONFIGS, TINY, config_of


def size_of(name, dtype=None, kv_dtype=None):
    return read_model_size(CONFIGS / name, dtype, kv_dtype)


BF16, FP32 = 2, 4
MAMBA2 = (4 - 1) * (8192 + 2 * 128) + 8192 * 128
"""granite-4.0-h-small: a convolution over 8192 channels, inputs and outputs; 128 heads of 64."""
MAMBA = (4 - 1) * 8192 + 8192 * 16
"""Jamba: 8192 channels of 16 values."""
DELTA = (4 - 1) * (2 * 16 * 128 + 32 * 128) + 32 * 128 * 128
"""Qwen3-Next: 16 key heads and 32 value heads of 128."""


@pytest.mark.parametrize(
    ("model", "attention_bytes", "state_bytes"),
    [
        ("Qwen3-Next-80B-A3B", 12 * 2 * 2 * 256 * BF16, 36 * DELTA * BF16),
        ("granite-4.0-h-small", 4 * 2 * 8 * 128 * BF16, 36 * MAMBA2 * BF16),
        ("granite-4.0-micro", 40 * 2 * 8 * 64 * BF16, 0),
        ("Jamba-v0.1", 4 * 2 * 8 * 128 * BF16, 28 * MAMBA * BF16),
        ("Nemotron-H-8B", 4 * 2 * 8 * 128 * BF16,
         24 * (3 * (8192 + 2 * 8 * 128) * BF16 + 8192 * 128 * FP32)),
        ("Nemotron-3-Nano-30B-A3B", 6 * 2 * 2 * 128 * BF16,
         23 * (3 * (4096 + 2 * 8 * 128) * BF16 + 4096 * 128 * FP32)),
        ("Bamba-9B-v1", 3 * 2 * 8 * 128 * BF16, 29 * MAMBA2 * BF16),
        ("Falcon-H1-7B", 44 * 2 * 2 * 128 * BF16, 44 * (3 * 3584 + 3072 * 256) * BF16),
        ("LFM2-1.2B", 6 * 2 * 8 * 64 * BF16, 10 * 2 * 2048 * BF16),
        ("MiniMax-Text-01", 10 * 2 * 8 * 128 * BF16, 70 * 64 * 128 * 128 * BF16),
        ("Kimi-Linear-48B-A3B", 7 * (512 + 64) * BF16,
         20 * (3 * 3 * 4096 * BF16 + 4096 * 128 * FP32)),
        ("Zamba2-2.7B", 9 * 2 * 32 * 160 * BF16, 54 * (3 * (5120 + 128) + 5120 * 64) * BF16),
        ("Mamba-Codestral-7B-v0.1", 0, 64 * (3 * (8192 + 2 * 8 * 128) + 8192 * 128) * BF16),
        ("falcon-mamba-7b", 0, 64 * MAMBA * BF16),
    ],
)  # fmt: skip
def test_only_attention_grows_and_states_are_fixed(model, attention_bytes, state_bytes):
    size = size_of(model)
    assert size.kv_bytes_per_token == attention_bytes
    assert size.state_bytes == state_bytes
    assert size.kv_bytes(1000) == 1000 * attention_bytes


@pytest.mark.parametrize(
    "model",
    ["bge-m3", "bge-reranker-v2-m3", "all-MiniLM-L6-v2", "ModernBERT-base", "deberta-v3-base",
     "nomic-embed-text-v1.5", "gte-multilingual-base", "clip-vit-large-patch14"],
)  # fmt: skip
def test_encoders_keep_nothing(model):
    size = size_of(model)
    assert (size.kv_bytes(1), size.kv_bytes(5000), size.state_bytes) == (0, 0, 0)
    assert size.kv_heads == size.attention_heads > 0


@pytest.mark.parametrize(
    ("model", "by_token", "once"),
    [
        ("whisper-large-v3", 32 * 2 * 1280 * 2, 1500 * 32 * 2 * 1280 * 2),
        ("flan-t5-base", 12 * 2 * 768 * 2, 512 * 12 * 2 * 768 * 2),
        ("bart-large-cnn", 12 * 2 * 1024 * 4, 1024 * 12 * 2 * 1024 * 4),
        ("Llama-3.2-11B-Vision", 32 * 2 * 1024 * 2, 4 * 1601 * 8 * 2 * 1024 * 2),
    ],
)
def test_what_a_decoder_looks_at_is_kept_once(model, by_token, once):
    size = size_of(model)
    assert (size.kv_bytes_per_token, size.state_bytes) == (by_token, once)
    assert any("longest input that the decoder looks at" in note for note in size.notes)
    assert size_of(model, kv_dtype="fp8").state_bytes == size_of(model, "bf16").state_bytes // 2


def test_chunks_shared_layers_and_indexes():
    scout = size_of("Llama-4-Scout-17B-16E")
    assert scout.kv_bytes_per_token == 12 * 4096
    assert (scout.windowed_kv_bytes_per_token, scout.sliding_window) == (36 * 4096, 8192)
    small = size_of("gemma-3n-E4B")
    assert (small.kv_bytes_per_token, small.windowed_kv_bytes_per_token) == (4 * 2048, 16 * 2048)
    assert size_of("DeepSeek-V3.2").kv_bytes_per_token == 61 * ((512 + 64) * 2 + 128 + 4)


GEMMA4 = {**config_of("gemma4-default")["text_config"], "num_hidden_layers": 12}
GEMMA4["layer_types"] = GEMMA4["layer_types"][:12]


@pytest.mark.parametrize(
    ("change", "counted", "growing", "windowed"),
    [
        ({"num_kv_shared_layers": 4, "use_double_wide_mlp": True}, 2_624_470_272,
         2 * 4 * 512 * 2, 7 * 2 * 4 * 256 * 2),
        ({"hidden_size_per_layer_input": 0, "enable_moe_block": True, "num_experts": 16,
          "top_k_experts": 4, "moe_intermediate_size": 512, "attention_k_eq_v": True,
          "num_global_key_value_heads": 2}, 2_232_567_232,
         2 * 2 * 2 * 512 * 2, 10 * 2 * 4 * 256 * 2),
    ],
)  # fmt: skip
def test_gemma4_shares_keys_or_has_experts(change, counted, growing, windowed):
    size = model_size({**GEMMA4, **change})
    assert size.parameters == counted
    assert (size.kv_bytes_per_token, size.windowed_kv_bytes_per_token) == (growing, windowed)


@pytest.mark.parametrize(
    ("model", "heads", "kv_heads"),
    [("Llama-3.1-8B", 32, 8), ("DeepSeek-V3", 128, 1), ("Kimi-Linear-48B-A3B", 32, 1),
     ("falcon-7b", 71, 1), ("mamba-130m", 0, 0), ("granite-4.0-h-small", 32, 8)],
)  # fmt: skip
def test_heads(model, heads, kv_heads):
    size = size_of(model)
    assert (size.attention_heads, size.kv_heads) == (heads, kv_heads)


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("Llama-4-Scout-17B-16E", 10_485_760),
        ("Llama-3.2-11B-Vision", 131_072),
        ("DeepSeek-V3.2", 163_840),
        ("Kimi-K2", 131_072),
        ("Olmo-3-7B", 65_536),
        ("gemma-3-12b", 131_072),
        ("whisper-large-v3", 448),
        ("bge-m3", 8192),
        ("multilingual-e5-large", 512),
        ("glm-4-9b-chat", 131_072),
        ("Kimi-Linear-48B-A3B", 1_048_576),
        ("Ministral-3-8B-2512", 262_144),
        ("internlm3-8b-instruct", 196_608),
        ("mamba-2.8b", None),
    ],
)
def test_the_longest_context(model, limit):
    assert size_of(model).context_limit == limit


@pytest.mark.parametrize(
    ("rope", "limit"),
    [
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 16}, 64),
        ({"type": "longrope", "factor": 8.0}, 64),
        ({"type": "linear", "factor": 4}, 256),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}, 128),
        ({"rope_type": "yarn", "factor": 4.0}, 256),
        ({"rope_type": "default"}, 64),
        ({"rope_type": "linear", "factor": None}, 64),
        ({"rope_type": "linear", "factor": "9"}, 64),
        ({"rope_type": "linear", "factor": float("inf")}, 64),
        ({"full_attention": {"rope_type": "yarn", "factor": 2}, "other": {}}, 128),
    ],
)
def test_stretched_positions(rope, limit):
    config = {**TINY, "max_position_embeddings": 64}
    assert model_size(config).context_limit == 64
    assert model_size({**config, "rope_scaling": rope}).context_limit == limit
    assert model_size({**config, "rope_parameters": rope}).context_limit == limit


def test_a_decoder_that_embeds_or_ranks_has_no_head():
    whole = model_size(TINY).parameters
    bare = model_size({**TINY, "architectures": ["LlamaModel"]})
    assert bare.parameters == whole - 80
    assert bare.kv_bytes_per_token == 32
    ranks = {**TINY, "architectures": ["LlamaForSequenceClassification"], "num_labels": 1}
    assert model_size(ranks).parameters == whole - 80 + 8


def test_an_encoder_of_t5_alone_keeps_nothing():
    both = config_of("flan-t5-base")
    alone = model_size({**both, "architectures": ["T5EncoderModel"]})
    assert (alone.kv_bytes_per_token, alone.state_bytes) == (0, 0)
    assert alone.parameters < model_size(both).parameters / 2


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("Nemotron-H-8B", {"hybrid_override_pattern": "M" * 99}, "one letter for each layer"),
        ("Nemotron-H-8B", {"hybrid_override_pattern": "X" * 52}, "of M \\* - E"),
        ("Nemotron-H-8B", {"hybrid_override_pattern": 7}, "must be a text"),
        ("MiniMax-Text-01", {"attn_type_list": [2] * 80}, "80 numbers, each 1 or 0"),
        ("Jamba-v0.1", {"attn_layer_period": 0}, "attn_layer_period=0, must be a whole number"),
        ("Jamba-v0.1", {"mamba_d_state": "big"}, "mamba_d_state='big', must be"),
        ("dbrx", {"ffn_config": 3}, "intermediate_size is missing"),
        ("dbrx", {"attn_config": {"kv_n_heads": 7}}, "attn_config.kv_n_heads=7, must be a divisor"),
        ("Kimi-Linear-48B-A3B", {"linear_attn_config": {"full_attn_layers": "all"}},
         "linear_attn_config.full_attn_layers='all', must be a list"),
        ("whisper-large-v3", {"decoder_layers": 10**6}, "decoder_layers=1000000, must be at most"),
        ("gemma-3n-E4B", {"text_config": {}}, "model_type='gemma3n' is not known"),
        ("Qwen3-VL-8B", {"vision_config": {"depth": 10**7, "hidden_size": 2}},
         "vision_config.depth=10000000, must be at most 1000"),
        ("Llama-4-Scout-17B-16E", {"vision_config": []}, "vision_config=\\[\\], must be a mapping"),
        ("bge-m3", {"rope_scaling": 3}, "rope_scaling=3, must be a mapping"),
    ],
)  # fmt: skip
def test_mistakes_in_hybrids_and_towers_are_named(model, change, message):
    with pytest.raises(InputError, match=message):
        model_size({**config_of(model), **change})
