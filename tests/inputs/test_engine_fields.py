"""What a fleet file tells engines: arguments by engine, and whether weights are quantised."""

import json

import jsonschema
import pytest

from colocate import InputError
from colocate.inputs.fleet import fleet_of, parse_fleet
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.spec import fleet_schema
from tests.inputs.tiny_model import TINY, write

FP8 = {"quant_method": "fp8"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 8}


def data(**fields):
    model = {"name": "m", "load": 1, **({} if "config" in fields else {"size_gb": 1}), **fields}
    return {"gpus": [{"name": "g", "memory_gb": 80}], "models": [model]}


def test_arguments_are_for_all_engines_or_by_engine():
    for_all = fleet_of(data(args=["--a"])).models["m"]
    assert for_all.arguments_for("vllm") == for_all.arguments_for("sglang") == ["--a"]
    by_engine = fleet_of(data(args={"vllm": ["--a", "1"]})).models["m"]
    assert by_engine.arguments_for("vllm") == ["--a", "1"]
    assert by_engine.arguments_for("sglang") == []


def test_arguments_by_engine_survive_being_saved_and_fit_the_schema():
    fleet = fleet_of(data(args={"vllm": ["--a"], "sglang": ["--b"]}))
    saved = json.loads(json.dumps(fleet.as_dict()))
    assert fleet_of(saved).models == fleet.models
    jsonschema.validate(saved, fleet_schema())


@pytest.mark.parametrize(
    "wrong", ["{vlm: [--a]}", "{vllm: --a}", "{vllm: [1]}", "--a", "[1]", '{vllm: [""]}', "3"]
)
def test_other_arguments_are_refused_with_what_is_expected(wrong):
    text = f"gpus: [{{name: g, memory_gb: 8}}]\nmodels:\n- {{name: m, size_gb: 1, args: {wrong}}}"
    expected = r"^line 3: models\[0\] 'm': args=.*, must be a list of texts, or a mapping from vllm"
    with pytest.raises(InputError, match=expected) as caught:
        parse_fleet(text)
    assert "\n" not in str(caught.value)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data(args={"vlm": ["--a"]}), fleet_schema())


@pytest.mark.parametrize(
    ("section", "fields", "expected"),
    [
        (None, {}, None),
        (None, {"dtype": "fp8"}, None),
        (FP8, {}, True),
        (FP8, {"dtype": "fp8"}, True),
        (FP8, {"dtype": "int4"}, None),
        (AWQ, {"dtype": "gptq"}, True),
        (AWQ, {"quantised_on_disk": False}, False),
        ({"quant_method": "new"}, {"dtype": "int4"}, True),
    ],
)
def test_a_config_tells_whether_weights_are_quantised_on_disk(tmp_path, section, fields, expected):
    config = {**TINY, **({"quantization_config": section} if section else {})}
    write(tmp_path, config)
    fleet = fleet_of(data(config="config.json", **fields), ConfigLookup(tmp_path))
    assert fleet.models["m"].quantised_on_disk is expected
    assert fleet_of(fleet.as_dict()).models["m"].quantised_on_disk is expected
