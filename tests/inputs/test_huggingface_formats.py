import pytest

from colocate.inputs.huggingface import model_size, read_model_size
from tests.inputs.tiny_model import CONFIGS, LINEAR, MIXTURE, REST, TINY


def quantised(**quantisation):
    return model_size({**TINY, "quantization_config": quantisation})


@pytest.mark.parametrize(
    ("model", "total_size"),
    [("Llama-3.1-8B", 16_060_522_496), ("Qwen2.5-32B", 65_527_752_704),
     ("gpt-oss-20b", 13_761_264_768), ("gpt-oss-120b", 65_248_815_744)],
)  # fmt: skip
def test_bytes_are_those_of_the_published_files(model, total_size):
    assert read_model_size(CONFIGS / model).weight_bytes == total_size


def test_an_awq_model_is_as_large_as_its_files():
    size = read_model_size(CONFIGS / "Meta-Llama-3.1-8B-Instruct-AWQ-INT4")
    assert size.weight_bytes / 1e9 == pytest.approx(5.73, abs=0.005)
    assert (size.dtype, size.kv_dtype) == ("int4", "fp16")


@pytest.mark.parametrize(
    ("dtype", "linear_bytes"),
    [
        ("fp32", None),
        ("FP16", 2 * LINEAR),
        ("fp8", LINEAR + 2 * 7 * 4),
        ("int8", LINEAR + 2 * (8 + 4 + 4 + 8 + 16 + 16 + 8) * 2),
        ("mxfp4", LINEAR // 2 + 2 * 64),
        ("nvfp4", LINEAR // 2 + 2 * 64),
        ("awq", LINEAR // 2 + 2 * (20 + 10 + 10 + 20 + 40 + 40 + 20)),
    ],
)
def test_formats_that_are_asked_for(dtype, linear_bytes):
    expected = 4 * (LINEAR + REST) if linear_bytes is None else linear_bytes + 2 * REST
    assert model_size(TINY, dtype).weight_bytes == expected


@pytest.mark.parametrize(
    ("quantisation", "matrix_bytes", "dtype"),
    [
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 64 + 8 * 3, "int8"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 4}, 32 + 16 * 20 // 8, "int4"),
        ({"quant_method": "fp8", "weight_block_size": [4, 4]}, 64 + 4 * 4, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, 64 + 8 * 4, "fp8"),
        ({"load_in_8bit": True}, 64 + 8 * 4, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 32 + 8 * 4, "nf4"),
        ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 32 + 8, "nf4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 32 + 8, "nvfp4"),
    ],
)
def test_quantisation_configs(quantisation, matrix_bytes, dtype):
    one = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8}
    square = {**TINY, **one, "num_key_value_heads": 1, "intermediate_size": 8}
    size = model_size({**square, "quantization_config": quantisation})
    assert size.weight_bytes == 7 * matrix_bytes + 2 * (2 * 80 + 3 * 8)
    assert size.dtype == dtype


@pytest.mark.parametrize(
    ("weights", "bits", "scale_bytes"),
    [
        ({"num_bits": 4, "strategy": "group", "group_size": 8, "symmetric": True}, 4, 2 * 2 * 72),
        ({"num_bits": 8, "strategy": "channel", "symmetric": True}, 8, 2 * 2 * 64),
        ({"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}, 8, 2 * 2 * 7),
        ({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [8, 8]}, 8,
         2 * 4 * 10),
        ({"num_bits": 4, "type": "float", "strategy": "tensor_group"}, 4, 2 * 64),
        (None, 16, 0),
    ],
)  # fmt: skip
def test_compressed_tensors(weights, bits, scale_bytes):
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    size = quantised(quant_method="compressed-tensors", config_groups=groups, ignore=["lm_head"])
    assert size.weight_bytes == LINEAR * bits // 8 + scale_bytes + 2 * REST


def test_the_cache_is_kept_as_the_quantisation_says():
    scheme = {"num_bits": 8, "type": "float"}
    size = quantised(quant_method="fp8", kv_cache_scheme=scheme)
    assert (size.kv_dtype, size.kv_bytes_per_token) == ("fp8", 16)


@pytest.mark.parametrize(
    ("kept", "plain_weights"),
    [
        (["lm_head"], 0),
        (["model.layers.*.self_attn"], 2 * 192),
        (["model.layers.1.self_attn"], 192),
        (["model.layers.0.self_attn.q_proj", "o_proj"], 64 + 2 * 64),
        (["re:.*self_attn.*"], 2 * 192),
        ([r"re:model\.layers\.\d+\.mlp\.down_proj$"], 2 * 128),
        (["re:.*mlp.gate$", "gate", "vision_tower", "", "re:.*(a|b)+$"], 0),
        (["model.layers.1"], 192 + 384),
    ],
)
def test_modules_that_are_left_as_they_are(kept, plain_weights):
    size = quantised(quant_method="fbgemm_fp8", modules_to_not_convert=kept)
    everything = quantised(quant_method="fbgemm_fp8")
    scales = everything.weight_bytes - LINEAR - 2 * REST
    low = LINEAR + plain_weights + 2 * REST
    assert low <= size.weight_bytes <= low + scales
    assert (size.weight_bytes == everything.weight_bytes) == (plain_weights == 0)


def test_mxfp4_is_for_experts_only():
    plain, packed = model_size(MIXTURE), model_size(MIXTURE, "mxfp4")
    experts = 2 * 4 * 3 * 8 * 16
    assert plain.weight_bytes - packed.weight_bytes == 2 * experts - (experts // 2 + 2 * 4 * 40)
