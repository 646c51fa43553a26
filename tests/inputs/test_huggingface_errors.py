from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import InputError, UnknownNameError
from colocate.inputs.huggingface import model_size, read_model_size
from tests.inputs.tiny_model import CONFIGS, TINY, config_of, write

SEEING = {"hidden_size": 2, "intermediate_size": 2, "patch_size": 2, "image_size": 4}


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", r"found \[\], must be a mapping"),
        ("{}", r"metadata\.total_size is missing, must be a whole number of bytes"),
        ('{"metadata": 3}', "metadata=3, must be a mapping"),
        ('{"metadata": {"total_size": "9"}}', r"metadata\.total_size='9', must be"),
        ('{"metadata": {"total_size": -1}}', r"metadata\.total_size=-1, must be"),
        ('{"metadata": {"total_size": true}}', r"metadata\.total_size=True, must be"),
        ('{"metadata": {"total_size": 1e308}}', r"metadata\.total_size=a number with very many"),
        ('{"metadata": {"total_size": NaN}}', r"metadata\.total_size=nan, must be"),
    ],
)
def test_an_index_that_is_none(tmp_path, index, message):
    with pytest.raises(InputError, match=r"model\.safetensors\.index\.json: " + message):
        read_model_size(write(tmp_path, index=index))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_size": "8"}, "hidden_size='8', must be a whole number from 1 to 1000000000"),
        ({"hidden_size": 8.5}, "hidden_size=8.5, must be"),
        ({"hidden_size": True}, "hidden_size=True, must be"),
        ({"hidden_size": -8}, "hidden_size=-8, must be"),
        ({"hidden_size": 10**12}, "hidden_size=1000000000000, must be"),
        ({"hidden_size": 10**400}, "hidden_size=a number with very many digits, must be"),
        ({"hidden_size": 9}, "num_attention_heads=4, must be a divisor of hidden_size=9"),
        ({"num_hidden_layers": 5000}, "num_hidden_layers=5000, must be at most 1000"),
        ({"num_key_value_heads": 3}, "num_key_value_heads=3, must be a divisor of"),
        ({"vocab_size": None}, "vocab_size is missing, must be a whole number"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings='yes', must be true or false"),
        ({"model_type": ["llama"]}, "model_type=['llama'], must be a text"),
        ({"model_type": None}, "model_type is missing, must be a text such as 'llama'"),
        ({"text_config": [1]}, "text_config=[1], must be a mapping"),
        ({"torch_dtype": "int3"}, "torch_dtype='int3', must be one of: fp32, bf16, fp16"),
        ({"layer_types": ["full_attention"]}, "must be 2 texts, one for each layer"),
        ({"layer_types": "full"}, "layer_types='full', must be a list of texts"),
        ({"model_type": "llama9"}, "'llama9' is not known, the nearest known is 'llama'; give"),
        ({"num_experts": 2, "num_experts_per_tok": 3}, "num_experts_per_tok=3, must be at most"),
        ({"num_experts": 2}, "num_experts_per_tok is missing"),
        ({"mlp_only_layers": [-1], "num_experts": 2, "num_experts_per_tok": 1},
         "mlp_only_layers=[-1], must be a list, each a whole number from 0"),
        ({"quantization_config": {"quant_method": "magic"}},
         "quantization_config.quant_method='magic', must be one of: awq, gptq"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config.bits is missing"),
        ({"quantization_config": {"quant_method": "awq", "bits": 64}},
         "quantization_config.bits=64, must be at most 16"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 0}},
         "quantization_config.group_size=0, must be a whole number from 1, or -1"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [1]}},
         "quantization_config.weight_block_size=[1], must be two whole numbers"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "load_in_4bit=None, must be"),
        ({"quantization_config": {"quant_method": "modelopt"}}, "quant_algo=None, must be one of"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}},
         "quantization_config.config_groups=None, must be a mapping"),
        ({"quantization_config": {"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 4}}},
         "quantization_config.kv_cache_scheme.num_bits=4, must be 8"),
        ({"quantization_config": {"quant_method": "fp8", "ignore": ["x"] * 100_001}},
         "quantization_config.ignore has 100001 entries, must be at most 100000"),
        ({"model_type": "gemma3", "vision_config": {"hidden_size": 2}},
         "vision_config.num_hidden_layers is missing"),
        ({"model_type": "gemma3", "vision_config": {**SEEING, "num_hidden_layers": 5000}},
         "vision_config.num_hidden_layers=5000, must be at most 1000"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_field(tmp_path, config, message):
    path = tmp_path / "config.json"
    with pytest.raises(InputError) as error:
        model_size({**TINY, **config})
    assert message in str(error.value)
    if "digits" not in message:
        with pytest.raises(InputError) as error:
            read_model_size(write(tmp_path, {**TINY, **config}))
        assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("model: llama", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[1, 2]", r"found \[1, 2\], must be a mapping"),
        ('{"a":' * 900 + "1" + "}" * 900, "model_type is missing"),
    ],
)
def test_files_that_are_no_config(tmp_path, text, message):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"config\.json: {message}"):
        read_model_size(path)


def test_a_list_meant_to_take_forever_is_read_quickly():
    kept = [f"model.layers.{number}.x" for number in range(50_000)]
    kept += [f"re:(a+)+{number}$" for number in range(50_000)]
    config = {**TINY, "num_hidden_layers": 1000}
    started = perf_counter()
    model_size({**config, "quantization_config": {"quant_method": "fp8", "ignore": kept}})
    assert perf_counter() - started < 5


def test_long_lists_about_layers_are_read_quickly():
    many = {"num_experts": 2, "num_experts_per_tok": 1, "mlp_only_layers": list(range(100_000))}
    started = perf_counter()
    model_size({**TINY, "num_hidden_layers": 1000, **many})
    with pytest.raises(InputError, match="layer_types has 100001 entries"):
        model_size({**TINY, "layer_types": ["full_attention"] * 100_001})
    assert perf_counter() - started < 5


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: cannot be read, No such file"):
        read_model_size(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"has no config\.json, must be a model's directory"):
        read_model_size(tmp_path)
    with pytest.raises(InputError, match="cannot be read, File name too long"):
        read_model_size(tmp_path / ("x" * 5000))
    (tmp_path / "config.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"config\.json: byte 0 is not UTF-8"):
        read_model_size(tmp_path)


def test_unknown_formats_are_no_fault_of_the_file(tmp_path):
    with pytest.raises(UnknownNameError, match=r"^dtype='fp9' is not known, did you mean 'fp8'"):
        read_model_size(tmp_path, dtype="fp9")
    with pytest.raises(UnknownNameError, match=r"^kv_dtype='int4' is not known"):
        read_model_size(tmp_path, kv_dtype="int4")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
EXAMPLES = [config_of(path.name) for path in sorted(CONFIGS.iterdir())]
SECTIONS = ("text_config", "vision_config", "audio_config", "ffn_config", "linear_attn_config")
NESTED = [config for config in EXAMPLES if any(name in config for name in SECTIONS)]
QUANTISED = [config for config in EXAMPLES if "quantization_config" in config]


@given(config=st.sampled_from(EXAMPLES), data=st.data())
def test_anything_in_any_field_is_a_size_or_a_sentence(config, data):
    field = data.draw(st.sampled_from(sorted(config)))
    _check({**config, field: data.draw(ANYTHING)})


@given(config=st.sampled_from(NESTED), data=st.data())
def test_anything_in_a_section_is_a_size_or_a_sentence(config, data):
    section = data.draw(st.sampled_from([name for name in SECTIONS if name in config]))
    field = data.draw(st.sampled_from(sorted(config[section])))
    _check({**config, section: {**config[section], field: data.draw(ANYTHING)}})


@given(config=st.sampled_from(QUANTISED), data=st.data())
def test_anything_in_a_quantisation_is_a_size_or_a_sentence(config, data):
    quantisation = config["quantization_config"]
    field = data.draw(st.sampled_from([*quantisation, "ignore", "config_groups", "group_size"]))
    changed = {**quantisation, field: data.draw(ANYTHING)}
    _check({**config, "quantization_config": changed})


def _check(config):
    try:
        size = model_size(config)
    except InputError as error:
        sentence = str(error)
    else:
        assert 0 < size.active_parameters <= size.parameters
        assert size.weight_bytes > 0
        assert size.kv_bytes(10) >= 0
        assert size.state_bytes >= 0
        assert size.context_limit is None or size.context_limit > 0
        sentence = "".join(size.notes)
    assert len(sentence) < 1000
    assert sentence.isprintable()
