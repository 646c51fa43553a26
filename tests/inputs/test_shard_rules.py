"""Which numbers of shards engines accept, and what repeated keys and values cost."""

import json

import pytest

from colocate import InputError
from colocate.inputs.fleet import fleet_of, parse_fleet
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.least_cache import cache_repeats, least_cache_gb, request_gb, tokens_in
from colocate.inputs.shard_rules import accepted_shards, shards_fault
from colocate.inputs.spec import ModelSpec
from tests.inputs.tiny_model import CONFIGS


def of_config(name, **fields):
    spec = ModelSpec.model_validate({"name": name, "config": str(CONFIGS / name), **fields})
    return spec.resolved(ConfigLookup(CONFIGS).find)


def made(**fields):
    return ModelSpec.model_validate({"name": "m", "size_gb": 10, "load": 1, **fields})


def test_nothing_known_accepts_any_number():
    assert accepted_shards(made(), 8) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("config", "accepted"),
    [
        ("Qwen2.5-7B", [1, 2, 4]),  # 28 heads, 4 of keys and values; 18944 wide
        ("Qwen2.5-14B", [1, 2, 4, 8]),  # 40 heads, 8 of keys and values; 13824 wide
        ("Llama-3.1-70B", [1, 2, 4, 8, 16, 32, 64]),
        ("falcon-7b", [1, 71]),  # 71 heads
        ("Phi-3-mini-4k", [1, 2, 4, 8, 16, 32]),
        ("DeepSeek-V2-Lite", [1, 2, 4, 8, 16]),  # MLA: any number of shards repeats the vector
    ],
)
def test_heads_and_widths_decide(config, accepted):
    assert accepted_shards(of_config(config), 71) == accepted


def test_shards_are_a_divisor_or_a_multiple_of_kv_heads():
    model = made(attention_heads=24, kv_heads=4)
    assert accepted_shards(model, 24) == [1, 2, 4, 8, 12, 24]
    assert shards_fault(model, 3) == "a divisor or a multiple of 4 KV heads"
    assert shards_fault(model, 5) == "a divisor of 24 attention heads"


def test_blocks_of_fp8_stay_whole():
    """Qwen3-235B-A22B-FP8: experts are 1536 wide, and 1536 / 8 is no multiple of 128."""
    model = made(
        attention_heads=64,
        kv_heads=4,
        dtype="fp8",
        weight_group=128,
        shard_widths={"experts": 1536},
    )
    assert accepted_shards(model, 8) == [1, 2, 4]
    assert "the experts width 1536 into multiples of 128" in shards_fault(model, 8)


def test_groups_of_awq_stay_whole_but_for_experts():
    """Qwen2.5-72B is 29568 wide: groups of 128 do not survive a cut in two."""
    dense = made(dtype="int4", weight_group=128, shard_widths={"feed_forward": 29568})
    assert accepted_shards(dense, 4) == [1, 3]
    experts = made(dtype="int4", weight_group=128, shard_widths={"experts": 768})
    assert accepted_shards(experts, 8) == [1, 2, 3, 4, 6, 8]


def test_groups_come_from_the_config_or_the_format():
    assert of_config("Meta-Llama-3.1-8B-Instruct-AWQ-INT4").weight_group == 128
    assert of_config("DeepSeek-V3").weight_group == 128
    assert of_config("Qwen2.5-72B").weight_group is None
    quantised = of_config("Qwen2.5-72B", dtype="awq")
    assert quantised.weight_group == 128
    assert accepted_shards(quantised, 8) == [1]
    assert accepted_shards(of_config("DeepSeek-V3"), 64) == [1, 2, 4, 8, 16]


def test_a_fleet_with_impossible_shards_is_refused_with_numbers_that_work():
    text = f"""
gpus: [{{kind: H100-80GB, node: n, count: 8}}]
models:
  - {{name: q, config: {CONFIGS / "Qwen2.5-7B"}, load: 1, shards: 8}}
  - {{name: l, size_gb: 16, load: 1, attention_heads: 32, kv_heads: 8, shards: 3}}
"""
    with pytest.raises(InputError) as caught:
        parse_fleet(text)
    assert str(caught.value).splitlines() == [
        "line 4: models[0] 'q': shards=8, must be a divisor of 28 attention heads; "
        "engines accept 1, 2, 4",
        "line 5: models[1] 'l': shards=3, must be a divisor of 32 attention heads; "
        "engines accept 1, 2, 4, 8, 16, 32",
    ]


def load_on_each_gpu(config, shards, **fields):
    text = f"""
gpus: [{{name: g, memory_gb: 1000, node: n, count: {shards}}}]
models: [{{name: m, config: {CONFIGS / config}, load: 8, shards: {shards}}}]
"""
    return parse_fleet(text).problem.models[0].part().load[0]


def test_a_latent_vector_is_whole_on_every_shard():
    """DeepSeek-V3 on 8 GPUs has 8 times the load per GPU that a divided cache would have."""
    split = 8 / 8
    assert load_on_each_gpu("DeepSeek-V3", 8) == 8 * split
    model = of_config("DeepSeek-V3", shards=8)
    assert cache_repeats(model) == 8
    assert request_gb(model, 4096) == pytest.approx(8 * request_gb(of_config("DeepSeek-V3"), 4096))


def test_fewer_kv_heads_than_shards_are_repeated():
    """Llama-3.1-70B has 8 of them: 16 shards hold each one twice. So do 8 shards with 4 heads."""
    assert load_on_each_gpu("Llama-3.1-70B", 8) == 1.0
    assert load_on_each_gpu("Llama-3.1-70B", 16) == 2 * 8 / 16
    assert cache_repeats(made(attention_heads=32, kv_heads=4, shards=8)) == 2
    assert cache_repeats(made(attention_heads=32, kv_heads=4, shards=2)) == 1


def test_the_state_of_a_sequence_is_divided_not_repeated():
    fields = {"kv_bytes_per_token": 1e6, "state_bytes": 5e8, "kv_heads": 2, "max_model_len": 1000}
    one, eight = made(**fields), made(**fields, shards=8)
    tokens = (1000 // 16 + 2) * 16
    assert least_cache_gb(one) == pytest.approx(tokens / 1e3 + 2 * 0.5)
    assert least_cache_gb(eight) == pytest.approx(4 * tokens / 1e3 + 2 * 0.5)
    assert tokens_in(eight, least_cache_gb(eight)) >= 1000


def notes_of(**fields):
    text = {"gpus": [{"name": "g", "memory_gb": 100, "node": "n", "count": 8}]}
    model = {"name": "m", "size_gb": 10, "load": 1, **fields}
    fleet = fleet_of({**text, "models": [model]})
    assert fleet_of(fleet.as_dict()).as_dict() == fleet.as_dict()
    return fleet.models["m"].notes


def test_what_shards_cost_is_noted_once():
    (note,) = notes_of(kv_heads=2, attention_heads=16, shards=8)
    assert note.startswith("its 8 shards hold every key and value 4 times")
    (note,) = notes_of(shards=4, dtype="int4", weight_group=128, shard_widths={"experts": 768})
    assert "moe_wna16" in note
    assert notes_of(kv_heads=8, attention_heads=16, shards=8) == []


def plain_configs():
    """Configs that state their heads and whose weights are in no groups."""
    for path in sorted(CONFIGS.iterdir()):
        config = json.loads((path / "config.json").read_text())
        config = config.get("text_config", config)
        if "num_attention_heads" in config and "quantization_config" not in config:
            yield pytest.param(path.name, config, id=path.name)


@pytest.mark.parametrize(("name", "config"), list(plain_configs()))
def test_plain_weights_are_cut_by_heads_and_widths_alone(name, config):
    """Worked out from the config's own fields, with no code of the product."""
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_kv_heads") or config.get("num_key_value_heads") or heads
    if "kv_lora_rank" in config or (config.get("multi_query") and "num_kv_heads" not in config):
        kv_heads = 1
    model = of_config(name)
    for shards in range(1, 65):
        even = heads % shards == 0 and (kv_heads % shards == 0 or shards % kv_heads == 0)
        if not even:
            assert shards_fault(model, shards) is not None
        elif shards in (1, 2, 4, 8):  # widths of real models are multiples of 8
            assert shards_fault(model, shards) is None
