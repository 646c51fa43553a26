import csv

import pytest

from colocate.errors import InputError
from colocate.inputs.huggingface import model_size, read_model_size
from tests.inputs.tiny_model import CONFIGS, LINEAR, MIXTURE, REST, TINY, config_of, write

DATA = CONFIGS.parent


def rows(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def size_of(name, **options):
    return read_model_size(CONFIGS / name, **options)


def test_a_tiny_model_worked_by_hand():
    size = model_size(TINY)
    assert size.parameters == size.active_parameters == LINEAR + REST == 1352
    assert size.weight_bytes == 2 * 1352
    assert size.kv_bytes_per_token == 2 * 2 * (2 * 2) * 2
    assert size.flops_per_token == 2 * 1352
    assert (size.layers, size.hidden_size, size.attention_heads, size.head_dim) == (2, 8, 4, 2)
    assert (size.dtype, size.kv_dtype, size.source, size.notes) == ("bf16", "bf16", "config", ())


PUBLISHED = rows("published_parameters.csv")
CLOSE_ENOUGH = {"hub": 0, "files": 1e-7, "card": 0.01}
"""Counts of files are exact, unless these hold numbers that are no weights; cards round."""


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["model"])
def test_parameters_are_the_published_ones(row):
    ours = size_of(row["model"]).parameters
    assert row["parameters"] or row["counted"]
    if row["parameters"]:
        tolerance = CLOSE_ENOUGH[row["source"]]
        assert ours == pytest.approx(int(row["parameters"]), rel=tolerance, abs=0)
    if row["counted"]:
        assert ours == pytest.approx(int(row["counted"]), rel=1e-6, abs=0)


def test_what_people_serve_is_covered():
    errors = [
        abs(size_of(row["model"]).parameters / int(row["parameters"] or row["counted"]) - 1)
        for row in PUBLISHED
    ]
    families = {config_of(row["model"])["model_type"] for row in PUBLISHED}
    assert len(errors) >= 211
    assert len(families) >= 120
    assert sum(bool(row["parameters"]) for row in PUBLISHED) >= 140
    assert sum(errors) / len(errors) < 0.0002
    assert max(errors) < 0.01


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Llama-3.1-8B", 131_072),
        ("Llama-3.1-70B", 327_680),
        ("Qwen2.5-7B", 57_344),
        ("Qwen3-30B-A3B", 98_304),
        ("Mixtral-8x7B", 131_072),
        ("DeepSeek-V2-Lite", 31_104),
        ("DeepSeek-V3", 70_272),
        ("falcon-7b", 8_192),
        ("falcon-40b", 122_880),
        ("LLaMA-65B", 2_621_440),
    ],
)
def test_bytes_of_keys_and_values_are_exact(model, expected):
    size = size_of(model)
    assert size.kv_bytes_per_token == expected
    assert (size.windowed_kv_bytes_per_token, size.sliding_window) == (0, None)
    assert size_of(model, kv_dtype="fp8").kv_bytes_per_token == expected // 2


@pytest.mark.parametrize(
    ("model", "billions"),
    [("Mixtral-8x7B", 12.88), ("Qwen3-30B-A3B", 3.353), ("DeepSeek-V3", 37.55),
     ("OLMoE-1B-7B", 1.28), ("Qwen1.5-MoE-A2.7B", 2.69), ("Phi-3.5-MoE", 6.64)],
)  # fmt: skip
def test_a_token_meets_only_the_chosen_experts(model, billions):
    assert size_of(model).active_parameters / 1e9 == pytest.approx(billions, rel=0.002)


@pytest.mark.parametrize(
    ("model", "growing", "windowed", "window"),
    [
        ("Mistral-7B-v0.1", 0, 32 * 4096, 4096),
        ("gemma-2-9b", 21 * 8192, 21 * 8192, 4096),
        ("gemma-3-4b", 5 * 4096, 29 * 4096, 1024),
        ("gpt-oss-20b", 12 * 2048, 12 * 2048, 128),
    ],
)
def test_windowed_layers_stop_growing(model, growing, windowed, window):
    size = size_of(model)
    assert size.kv_bytes_per_token == growing
    assert size.windowed_kv_bytes_per_token == windowed
    assert size.sliding_window == window
    assert size.kv_bytes(1) == growing + windowed
    assert size.kv_bytes(window + 5) == (window + 5) * growing + window * windowed


def test_windows_of_qwen_need_their_switch():
    config = {**config_of("Qwen2.5-7B"), "max_window_layers": 20, "sliding_window": 4096}
    assert model_size(config).sliding_window is None
    size = model_size({**config, "use_sliding_window": True})
    assert size.kv_bytes_per_token == 20 * 2048
    assert size.windowed_kv_bytes_per_token == 8 * 2048


def test_layers_of_a_kind_that_the_family_does_not_have():
    with pytest.raises(InputError, match=r"layer_types=.*must be a list of: attention, chunked"):
        model_size({**TINY, "layer_types": ["linear_attention", "full_attention"]})
    chunked = ["chunked_attention", "full_attention"]
    size = model_size({**TINY, "layer_types": chunked, "attention_chunk_size": 64})
    assert (size.windowed_kv_bytes_per_token, size.sliding_window) == (16, 64)


def test_a_window_as_long_as_the_context_is_none():
    config = {**TINY, "model_type": "mistral", "sliding_window": 64}
    assert model_size(config).sliding_window == 64
    size = model_size({**config, "max_position_embeddings": 64})
    assert (size.kv_bytes_per_token, size.sliding_window) == (32, None)


def test_experts_only_in_some_layers():
    layers = {**MIXTURE, "num_hidden_layers": 6, "moe_intermediate_size": 2}
    dense, sparse = 3 * 8 * 16, 4 * 3 * 8 * 2 + 4 * 8
    every = model_size(layers).parameters
    for fields, dense_layers in [
        ({"first_k_dense_replace": 2}, 2),
        ({"mlp_only_layers": [0, 5]}, 2),
        ({"decoder_sparse_step": 2}, 3),
        ({"moe_layer_freq": 3}, 4),
    ]:
        found = model_size({**layers, **fields}).parameters
        assert found - every == dense_layers * (dense - sparse)
    assert model_size({**MIXTURE, "num_local_experts": 0}).parameters == LINEAR + REST
    only_experts = {**layers, "intermediate_size": None}
    assert model_size(only_experts).parameters == every
    with pytest.raises(InputError, match="intermediate_size is missing"):
        model_size({**only_experts, "mlp_only_layers": [1]})


@pytest.mark.parametrize(
    ("config", "more"),
    [
        ({"num_key_value_heads": None}, 2 * 2 * 8 * 4),
        ({"tie_word_embeddings": True}, -80),
        ({"attention_bias": True}, 2 * (8 + 4 + 4 + 8)),
        ({"mlp_bias": True}, 2 * (16 + 16 + 8)),
        ({"model_type": "qwen2"}, 2 * (8 + 4 + 4)),
        ({"model_type": "qwen3", "head_dim": 2}, 2 * 2 * 2),
        ({"model_type": "gemma", "head_dim": 2}, -80),
        ({"model_type": "phi3"}, 0),
        ({"model_type": "cohere"}, -80 - 2 * 8),
        ({"model_type": "olmo"}, -5 * 8),
        ({"model_type": "stablelm"}, 5 * 8),
        ({"model_type": "stablelm", "qk_layernorm": True}, 5 * 8 + 2 * (8 + 4)),
        ({"architectures": ["LlamaModel"]}, -80),
        ({"architectures": ["LlamaLMHeadModel"]}, 0),
    ],
)
def test_what_a_config_leaves_out_is_as_in_the_transformers_library(config, more):
    assert model_size({**TINY, **config}).parameters == LINEAR + REST + more


def test_head_dimensions_that_a_family_fixes():
    assert model_size({**TINY, "model_type": "gemma"}).head_dim == 256
    assert model_size({**TINY, "model_type": "qwen3"}).head_dim == 128
    assert model_size({**TINY, "model_type": "mistral", "num_attention_heads": 8}).head_dim == 1


def test_embeddings_that_are_narrower_than_the_model():
    config = {**TINY, "model_type": "opt", "max_position_embeddings": 6}
    wide = model_size({**config, "word_embed_proj_dim": 8}).parameters
    assert model_size({**config, "word_embed_proj_dim": 4}).parameters - wide == 2 * 8 * 4 - 40


def test_an_unknown_family_is_refused():
    with pytest.raises(InputError) as error:
        model_size({**TINY, "model_type": "newcomer"})
    assert str(error.value) == (
        "model_type='newcomer' is not known, give size_gb instead of config, with "
        "kv_bytes_per_token, max_model_len and active_parameters"
    )
    with pytest.raises(
        InputError, match=r"'qwen9' is not known, the nearest known is 'qwen3'; give"
    ):
        model_size({**TINY, "model_type": "qwen9"})
    with pytest.raises(InputError, match=r"text_config\.model_type='newcomer' is not known"):
        model_size({"model_type": "llava", "text_config": {**TINY, "model_type": "newcomer"}})


def test_a_known_language_model_in_something_unknown_is_noted():
    size = model_size({"model_type": "newcomer", "text_config": TINY})
    assert size.parameters == LINEAR + REST
    assert size.notes == (
        "only the language model is counted: what 'newcomer' adds to it is not known",
    )


def test_nested_configs():
    inner = {key: value for key, value in TINY.items() if key != "torch_dtype"}
    outer = {"model_type": "llava", "text_config": inner, "dtype": "float16"}
    size = model_size({**outer, "vision_config": {"model_type": "newcomer", "hidden_size": 4}})
    assert (size.parameters, size.dtype) == (LINEAR + REST, "fp16")
    assert "vision_config is not counted" in size.notes[0]
    assert model_size({**outer, "tie_word_embeddings": True}).parameters == LINEAR + REST - 80
    own_head = {**outer, "tie_word_embeddings": False}
    inner_tied = {**inner, "tie_word_embeddings": True}
    assert model_size({**own_head, "text_config": inner_tied}).parameters == LINEAR + REST
    assert model_size({**outer, "text_config": {}, "model_type": "llama"}).hidden_size == 4096
    with pytest.raises(InputError, match=r"text_config\.vocab_size='x', must be a whole number"):
        model_size({**outer, "text_config": {**inner, "vocab_size": "x"}})


def test_towers_may_leave_out_what_equals_a_default():
    config = config_of("pixtral-12b")
    tower = {"model_type": "pixtral", "head_dim": 64, "image_size": 1024}
    assert model_size({**config, "vision_config": tower}) == model_size(config)
    with pytest.raises(InputError, match=r"vision_config\.hidden_size is missing"):
        model_size({**config, "vision_config": {"model_type": "clip_vision_model"}})


def test_a_dtype_that_is_left_out_or_is_wide_is_noted():
    assert model_size({**TINY, "torch_dtype": None}).notes == (
        "the config has no dtype, taken as bf16",
    )
    assert "ask for bf16" in model_size({**TINY, "torch_dtype": "float32"}).notes[0]
    assert model_size({**TINY, "torch_dtype": "float32"}, "bf16").notes == ()
    assert model_size({**TINY, "torch_dtype": "torch.float16"}).dtype == "fp16"


MEASURED = {row["model"]: row for row in rows("prism_models.csv")}


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("meta-llama/Llama-2-7b-hf", "LLaMA-7B"),
        ("meta-llama/Llama-2-13b-hf", "LLaMA-13B"),
        ("meta-llama/Llama-3.1-8B", "Llama-3.1-8B"),
        ("meta-llama/Llama-3.2-1B", "Llama-3.2-1B"),
        ("meta-llama/Llama-3.2-3B", "Llama-3.2-3B"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "Mistral-7B-v0.2"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "Mistral-Nemo-2407"),
        ("google/gemma-2b", "gemma-2b"),
        ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("microsoft/phi-1_5", "phi-1_5"),
        ("microsoft/phi-2", "phi-2"),
        ("microsoft/Phi-3-mini-4k-instruct", "Phi-3-mini-4k"),
        ("microsoft/Phi-3-mini-128k-instruct", "Phi-3-mini-128k"),
        ("ibm/PowerLM-3b", "PowerLM-3b"),
        ("allenai/OLMo-1B-hf", "OLMo-1B"),
        ("bigcode/starcoder2-3b", "starcoder2-3b"),
    ],
)
def test_measured_memory_is_near(model, config):
    size, row = size_of(config), MEASURED[model]
    assert size.weight_bytes / 2**30 == pytest.approx(float(row["weight_gib"]), rel=0.03)
    assert size.kv_bytes(1) == float(row["kv_bytes_per_token"])


def test_the_index_beside_a_config_wins(tmp_path):
    write(tmp_path, index='{"metadata": {"total_size": 2710}, "weight_map": {}}')
    size = read_model_size(tmp_path)
    assert (size.weight_bytes, size.source, size.notes) == (2710, "index", ())
    assert read_model_size(tmp_path / "config.json") == size
    asked = read_model_size(tmp_path, dtype="fp8")
    assert (asked.source, asked.dtype) == ("config", "fp8")
    write(tmp_path, index='{"metadata": {"total_size": 5408.0}}')
    size = read_model_size(tmp_path)
    assert size.weight_bytes == 5408
    assert "the index wins" in size.notes[0]
