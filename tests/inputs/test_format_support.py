import pytest

from colocate.errors import InputError
from colocate.inputs.fleet import fleet_of
from colocate.inputs.format_support import (
    Capability,
    Maker,
    Runs,
    capability_of,
    closed_kinds,
    limits_of,
    maker_of,
)
from colocate.inputs.gpu_catalogue import ACCELERATORS
from colocate.inputs.spec import ModelSpec
from colocate.outputs.text.format_notes import format_notes


def model(**fields):
    return {"name": "m", "size_gb": 10, "load": 1, **fields}


def fleet(*kinds, **fields):
    gpus = [{"kind": kind, "node": f"node-{number}"} for number, kind in enumerate(kinds)]
    return fleet_of({"gpus": gpus, "models": [model(**fields)]})


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("V100", 70),
        ("Tesla T4", 75),
        ("A100-SXM4-40GB", 80),
        ("NVIDIA A10", 86),
        ("A10G", 86),
        ("A2", 86),
        ("RTX-3090", 86),
        ("L4", 89),
        ("L40S", 89),
        ("L20", 89),
        ("RTX-6000-Ada", 89),
        ("H20", 90),
        ("H200", 90),
        ("GH200", 90),
        ("A100-40GB-MIG-1g.5gb", 80),
        ("B300", 103),
        ("RTX-PRO-6000", 120),
        ("MI210", 2),
        ("AMD Instinct MI300X", 3),
        ("MI355X", 4),
    ],
)
def test_generations_are_known_by_how_names_begin(kind, number):
    assert capability_of(kind).number == number


def test_every_kind_of_the_catalogue_has_a_generation():
    assert [kind for kind in ACCELERATORS if capability_of(kind) is None] == []


@pytest.mark.parametrize("kind", ["", "TPU-v5e", "my-card", "X100"])
def test_an_unknown_kind_has_no_limits(kind):
    assert capability_of(kind) is None
    assert closed_kinds("mxfp4", "fp8", [kind]) == {}
    assert maker_of(kind) is Maker.NVIDIA


def test_makers():
    assert maker_of("MI300X") is maker_of("amd-whatever") is maker_of("MI999") is Maker.AMD
    assert capability_of("MI999") is None
    assert capability_of("MI300X") == Capability(Maker.AMD, 3)


@pytest.mark.parametrize(
    ("dtype", "runs"),
    [
        # V100, T4, A100, L4, H100, B200, MI210, MI300X, MI355X: native, weight-only, not
        ("fp8", ". w w n n n . n n"),
        ("float8_e4m3fn", ". w w n n n . n n"),
        ("mxfp4", ". . w w w n . w n"),
        ("nvfp4", ". w w w w n w w w"),
        ("int4", "w n n n n n n n n"),
        ("awq", ". n n n n n n n n"),
        ("gptq", "n n n n n n n n n"),
        ("int8", "w n n n n n n n n"),
        ("bf16", "n n n n n n n n n"),
        ("fp16", "n n n n n n n n n"),
        ("q5_k_m", "n n n n n n n n n"),
        (None, "n n n n n n n n n"),
    ],
)
def test_formats_of_weights(dtype, runs):
    kinds = ["V100", "T4", "A100", "L4", "H100", "B200", "MI210", "MI300X", "MI355X"]
    found = {limit.kind: limit.runs for limit in limits_of(ModelSpec(**model(dtype=dtype)), kinds)}
    letters = {Runs.NOT: ".", Runs.FALLBACK: "w", Runs.NATIVE: "n"}
    assert " ".join(letters[found.get(kind, Runs.NATIVE)] for kind in kinds) == runs


def test_formats_of_keys_and_values():
    assert set(closed_kinds("bf16", "fp8", ["V100", "T4", "A100", "H100", "MI300X"])) == {
        "V100",
        "T4",
    }
    (limit,) = limits_of(ModelSpec(**model(kv_dtype="fp8_e5m2")), ["A100"])
    assert (limit.field, limit.runs) == ("kv_dtype", Runs.FALLBACK)


def test_engines_differ():
    spec = ModelSpec(**model(dtype="fp8"))
    (either,) = limits_of(spec, ["T4"])
    assert (either.runs, either.engine) == (Runs.FALLBACK, "vllm")
    (limit,) = limits_of(spec, ["T4"], "sglang")
    assert limit.runs is Runs.NOT
    (limit,) = limits_of(ModelSpec(**model(dtype="nf4")), ["MI300X"])
    assert (limit.runs, limit.engine) == (Runs.NATIVE, "sglang")


def test_kinds_that_cannot_run_a_format_are_closed_to_the_model():
    found = fleet("V100", "H100", dtype="mxfp4")
    (planned,) = found.problem.models
    assert planned.never == ("V100",)
    assert not planned.may_be_on(found.problem.gpus[0])
    assert planned.may_be_on(found.problem.gpus[1])
    assert found.spec.models[0].never == [], "the file says what it said"


def test_what_the_user_closed_is_closed_once():
    assert fleet("V100", "H100", dtype="mxfp4", never=["V100"]).problem.models[0].never == ("V100",)


@pytest.mark.parametrize(
    "pins",
    [{}, {"only": ["V100"]}, {"only": ["node-0"]}, {"never": ["H100"]}, {"never": ["node-1"]}],
)
def test_a_model_whose_gpus_all_cannot_run_it_is_refused(pins):
    kinds = ["V100", "H100"] if pins else ["V100", "T4"]
    with pytest.raises(InputError, match=r"models\[0\] 'm': dtype='mxfp4' cannot run on") as error:
        fleet(*kinds, dtype="mxfp4", **pins)
    assert "or let the model be on other kinds of GPU" in str(error.value)


def test_one_of_several_gpus_can_be_named():
    gpus = [{"kind": "V100", "count": 2, "name": "old"}, {"kind": "H100", "count": 2}]
    stated = {"gpus": gpus, "models": [model(kv_dtype="fp8", only=["old-1"])]}
    with pytest.raises(InputError, match="kv_dtype='fp8' cannot run on V100"):
        fleet_of(stated)
    stated["models"][0]["only"] = ["old-1", "H100-1"]
    assert fleet_of(stated).problem.models[0].never == ("V100",)


def test_notes_say_which_models_and_why():
    found = fleet("V100", "A100-80GB", "H100", dtype="fp8", kv_dtype="fp8")
    limits = [(name, limit) for name, all_of in found.format_limits.items() for limit in all_of]
    assert {about for _, about in format_notes(limits)} == {("m",)}
    assert [text for text, _ in format_notes(limits)] == [
        "A100-80GB does not calculate in fp8: weights are widened to 16 bits before use, which "
        "saves memory but no time (dtype of 'm')",
        "A100-80GB runs keys and values in fp8 only with the FlashInfer attention backend "
        "(kv_dtype of 'm')",
        "V100 cannot run fp8, so the plan uses other GPUs (dtype of 'm')",
        "V100 cannot run keys and values in fp8, so the plan uses other GPUs (kv_dtype of 'm')",
    ]
