"""What is said, aside and in the files, of a plan that may not start as it stands."""

import json

import pytest
import yaml

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.emission import NoteKind
from colocate.outputs.emit.settings import EmitSettings, Engine, Target
from tests.outputs.emit.plans import plan_of, texts


def plan(models, memory=80, **gpu):
    """Return a plan with all models on one GPU."""
    models = [{"name": f"org/m{n}", "load": 1, **model} for n, model in enumerate(models)]
    text = json.dumps({"gpus": [{"name": "g", "memory_gb": memory, **gpu}], "models": models})
    return plan_of(text, {model["name"]: ["g"] for model in models})


def notes(models, target=Target.VLLM, **gpu):
    return texts(emit(target, *plan(models, **gpu)))


def file_text(models, target=Target.VLLM, settings=None, **gpu):
    return "".join(file.text for file in emit(target, *plan(models, **gpu), settings).files)


@pytest.mark.parametrize("target", Target)
def test_what_is_said_aside_is_in_the_file_too(target):
    models = [{"dtype": "awq", "size_gb": 36}]
    (note,) = (note for note in notes(models, target) if "checkpoint" in note)
    lines = file_text(models, target).splitlines()
    assert f"# NOTE: {note}" in lines


def test_a_format_that_engines_cannot_make_must_be_that_of_the_checkpoint():
    (note,) = notes([{"dtype": "int4", "size_gb": 36, "overhead_gb": 2}])
    assert note == (
        "model 'org/m0' needs a checkpoint that is already 'int4', since engines cannot make "
        "'int4' while loading. Nothing shows that 'org/m0' is one; if it is not, its engine takes "
        "up to 146 GB on each GPU instead of 38. Set source to such a checkpoint, or set "
        "quantised_on_disk: true if it is one."
    )


@pytest.mark.parametrize("dtype", ["int4", "awq", "GPTQ", "mxfp4", "nvfp4", "int8", "w4a16"])
def test_formats_that_are_not_made_while_loading(dtype):
    assert "needs a checkpoint that is already" in notes([{"dtype": dtype, "size_gb": 9}])[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"dtype": "awq", "source": "Qwen/Qwen2.5-7B-Instruct-AWQ"},
        {"dtype": "int4", "source": "RedHatAI/Llama-quantized.w4a16"},
        {"dtype": "int8", "source": "RedHatAI/Llama-quantized.w8a8"},
        {"dtype": "mxfp4", "source": "openai/gpt-oss-20b"},
        {"dtype": "w4a16", "source": "org/m-W4A16"},
        {"dtype": "int4", "quantised_on_disk": True},
        {"dtype": "int4", "args": ["--quantization=awq"]},
        {"dtype": "nf4"},
        {"dtype": "fp8"},
        {"dtype": "fp16"},
        {"dtype": "auto"},
        {},
    ],
)
def test_nothing_is_said_where_the_format_is_known_to_be_there(fields):
    assert not notes([{"size_gb": 9, **fields}])


def test_a_checkpoint_that_is_stated_not_to_be_quantised_is_refused():
    with pytest.raises(InputError, match="engines cannot make it while loading, must be a dtype"):
        notes([{"dtype": "int4", "quantised_on_disk": False, "size_gb": 9}])


def test_fp8_made_while_loading_may_need_the_room_of_16_bits():
    models = [{"dtype": "fp8", "size_gb": 47, "overhead_gb": 4}]
    (note,) = notes(models)
    assert note == (
        "model 'org/m0' is quantised to fp8 while it loads. That may take up to 98 GB on each GPU, "
        "and only 80 GB are free then. Use vLLM 0.16 or newer, which needs less, or a source that "
        "is fp8 on disk."
    )
    (note,) = notes(models, Target.SGLANG)
    assert note.endswith("free then. Use a source that is fp8 on disk.")


def test_fp8_that_fits_in_16_bits_or_is_on_disk_is_no_matter():
    assert not notes([{"dtype": "fp8", "size_gb": 36, "overhead_gb": 4}])
    assert not notes([{"dtype": "fp8", "size_gb": 47, "source": "org/m-FP8"}])


def test_the_second_that_is_made_fp8_has_only_what_the_first_leaves():
    (note,) = notes([{"dtype": "fp8", "size_gb": 24}, {"dtype": "fp8", "size_gb": 25}])
    assert note.startswith("model 'org/m0' is quantised to fp8")


@pytest.mark.parametrize(
    ("gpu", "said"),
    [({}, False), ({"reserve_gb": 4}, False), ({"reserve_gb": 3.9}, True)],
)
def test_a_gpu_with_too_small_a_reserve_is_named(gpu, said):
    found = notes([{"size_gb": 40}], **gpu)
    told = (
        "gpu 'g' keeps only 3.9 GB free (advised: 4), so engines may run out of memory. Raise its "
        "reserve_gb."
    )
    assert found == ((told,) if said else ())


@pytest.mark.parametrize("kind", ["T4", "V100", "nvidia tesla t4"])
def test_where_there_is_no_bf16_models_run_in_float16(kind):
    models = [{"size_gb": 3, "dtype": "bf16"}, {"size_gb": 3}, {"size_gb": 3, "dtype": "fp16"}]
    assert notes(models, memory=16, kind=kind) == (
        f"'{kind}' has no bf16, so 'org/m0' and 'org/m1' run in float16 there",
    )
    text = file_text(models, memory=16, kind=kind)
    assert text.count("--dtype=float16") == 3
    assert "bfloat16" not in text


def test_other_gpus_and_other_wishes_keep_their_format():
    bf16 = {"size_gb": 3, "dtype": "bf16"}
    assert not notes([bf16], memory=24, kind="L4")
    assert "--dtype=bfloat16" in file_text([bf16], memory=24, kind="L4")
    asked = {**bf16, "args": ["--dtype=float32"]}
    assert not notes([asked], memory=16, kind="T4")
    assert "float16" not in file_text([asked], memory=16, kind="T4")


def test_replicas_of_ray_are_in_float16_if_one_of_them_must_be():
    gpus = [{"name": kind, "kind": kind} for kind in ("L4", "T4")]
    model = {"name": "o/m", "size_gb": 3, "load": 1, "dtype": "bf16", "replicas": 2}
    both = plan_of(json.dumps({"gpus": gpus, "models": [model]}), {"o/m": ["L4", "T4"]})
    document = yaml.safe_load(emit(Target.RAY, *both).files[0].text)
    (config,) = document["applications"][0]["args"]["llm_configs"]
    assert config["engine_kwargs"]["dtype"] == "float16"


def test_models_without_a_source_are_named_unless_they_can_be_loaded():
    models = [
        {"name": "llama-3.1-8b", "size_gb": 9},
        {"name": "Qwen/Qwen2.5-7B", "size_gb": 9},
        {"name": "/models/m", "size_gb": 9},
        {"name": "m", "source": "org/m", "size_gb": 9},
    ]
    assert notes(models) == (
        "'llama-3.1-8b' has no source, so its engine loads that name, which is neither a path nor "
        "a name of the Hugging Face hub (org/model). Set source in the fleet file.",
    )


def test_of_many_names_a_few_are_told():
    (note,) = notes([{"name": f"m{n}", "size_gb": 1} for n in range(9)])
    assert "'m4' and 4 more have no source, so their engines load these names" in note


@pytest.mark.parametrize("target", sorted(set(Target) - {Target.KUBERNETES, Target.KVCACHED}))
def test_an_open_door_is_said_and_a_closed_one_is_not(target):
    open_to_all = file_text([{"size_gb": 9}], target)
    assert " on 0.0.0.0 without a key: anyone who reaches that address" in open_to_all
    local = file_text([{"size_gb": 9}], target, EmitSettings(host="127.0.0.1"))
    assert "without a key" not in local
    locked = file_text([{"size_gb": 9, "args": ["--api-key=k"]}], target)
    assert "without a key" not in locked


def test_in_a_cluster_the_door_is_open_whatever_the_host():
    text = file_text([{"size_gb": 9}], Target.KUBERNETES, EmitSettings(host="127.0.0.1"))
    assert "# Engines ask for no key" in text


@pytest.mark.parametrize("target", sorted(set(Target) - {Target.RAY}))
def test_engines_get_their_own_arguments(target):
    engine = Engine.SGLANG
    models = [{"size_gb": 9, "args": {"vllm": ["--of-vllm"], "sglang": ["--of-sglang"]}}]
    text = file_text(models, target, EmitSettings(engine=engine))
    other = "--of-sglang" if target is Target.VLLM else "--of-vllm"
    assert other not in text
    assert {"--of-vllm": "--of-sglang", "--of-sglang": "--of-vllm"}[other] in text


def test_arguments_of_any_engine_may_not_be_what_the_plan_decides():
    with pytest.raises(InputError, match="args has --port, which is decided by --base-port"):
        notes([{"size_gb": 9, "args": {"sglang": ["--port=1"]}}])


def test_files_of_a_machine_have_only_what_is_about_it():
    gpus = [{"name": node, "node": node, "memory_gb": 80} for node in ("a", "b")]
    models = [{"name": "o/x", "size_gb": 9, "load": 1, "dtype": "int4"}]
    models.append({"name": "o/y", "size_gb": 9, "load": 1})
    text = json.dumps({"gpus": gpus, "models": models})
    first, second = emit(Target.VLLM, *plan_of(text, {"o/x": ["a"], "o/y": ["b"]})).files
    assert "# NOTE: model 'o/x'" in first.text
    assert "NOTE" not in second.text


def test_notes_are_data_about_models_and_gpus():
    found = emit(Target.VLLM, *plan([{"size_gb": 40, "notes": ["half is assumed"]}], reserve_gb=1))
    assert [(note.kind, note.about) for note in found.notes] == [
        (NoteKind.MEMORY, ("g",)),
        (NoteKind.SIZE, ("org/m0",)),
    ]
    assert found.notes[1].text == "'org/m0': half is assumed"
    assert "# NOTE: 'org/m0': half is assumed" in found.files[0].text.splitlines()
