"""How engines share a GPU: what the fleet file says, what overrides it, and what is said of MPS."""

import json

import pytest
import yaml

from colocate.errors import InputError, UnknownNameError
from colocate.inputs.fleet import fleet_of, parse_fleet
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.emission import NoteKind
from colocate.outputs.emit.settings import EmitSettings, Sharing, Target, TimeSlice
from tests.outputs.emit.plans import plan_of, realistic_plan, texts


def two_on_one(models=2, **fleet):
    made = [{"name": f"m{n}", "size_gb": 1, "load": 1} for n in range(models)]
    text = json.dumps({"gpus": [{"name": "g", "kind": "H200"}], "models": made, **fleet})
    return plan_of(text, {model["name"]: ["g"] for model in made})


@pytest.mark.parametrize("target", Target)
def test_the_fleet_file_says_how_engines_share(target):
    stated = emit(target, *two_on_one(sharing="mps"))
    assert stated == emit(target, *two_on_one(), sharing="mps")
    assert stated == emit(target, *two_on_one(), EmitSettings(sharing=Sharing.MPS))
    assert stated != emit(target, *two_on_one())
    assert emit(target, *two_on_one(sharing="mps"), sharing="slices") == emit(target, *two_on_one())


def test_a_plan_keeps_what_the_fleet_file_says():
    fleet = two_on_one(sharing="mps")[1]
    assert fleet_of(fleet.as_dict()).spec.sharing == "mps"
    assert "sharing" not in two_on_one()[1].as_dict()
    with pytest.raises(InputError, match="sharing='mig'"):
        parse_fleet("sharing: mig\ngpus: [{kind: H100}]\nmodels: [{name: m, size_gb: 1, load: 1}]")


def test_an_unknown_way_is_refused():
    with pytest.raises(UnknownNameError, match="mig"):
        emit(Target.VLLM, *two_on_one(), sharing="mig")


def test_slices_have_no_length_under_mps_of_the_fleet_file():
    settings = EmitSettings(time_slice=TimeSlice.LONG)
    with pytest.raises(InputError, match="means nothing under MPS"):
        emit(Target.VLLM, *two_on_one(sharing="mps"), settings)


def test_more_engines_than_mps_takes_are_refused():
    emit(Target.VLLM, *two_on_one(48), sharing="mps")
    with pytest.raises(InputError, match=r"49 engines.* at most 48 under MPS"):
        emit(Target.VLLM, *two_on_one(49), sharing="mps")


def test_who_runs_without_mps_is_said():
    notes = emit(Target.VLLM, *realistic_plan(), sharing="mps").notes
    (alone,) = [note for note in notes if note.kind is NoteKind.SHARING]
    assert alone.about == ("canary",)
    assert alone.text == "'canary' has its GPUs to itself and runs without MPS"
    (lost,) = [note for note in notes if note.kind is NoteKind.ISOLATION]
    assert lost.about == ("a-0", "a-2", "b-0")
    lone = emit(Target.VLLM, *two_on_one(1), sharing="mps")
    assert "no GPU here has two engines, so none runs under MPS" in texts(lone)


def test_what_was_not_tried_under_mps_is_said():
    elastic = texts(emit(Target.KVCACHED, *two_on_one(), sharing="mps"))
    assert any(note.startswith("kvcached was not tried under MPS") for note in elastic)
    plan, fleet = two_on_one()
    assert not any("not tried" in note for note in texts(emit("vllm", plan, fleet, sharing="mps")))


@pytest.mark.parametrize("target", [Target.KVCACHED, Target.RAY])
def test_targets_that_start_no_daemon_bring_a_script_that_does(target):
    emission = emit(target, *realistic_plan(), sharing="mps")
    scripts = [file for file in emission.companions if file.name.startswith("mps")]
    assert [file.name for file in scripts] == ["mps-alpha.sh", "mps-beta.sh"]
    assert all(file.executable for file in scripts)
    assert any("mps.sh start" in note for note in texts(emission)) or "mps.sh start" in (
        emission.files[0].text
    )


def test_kvcached_puts_each_group_under_its_daemon():
    files = emit(Target.KVCACHED, *realistic_plan(), sharing="mps").files
    found = {
        instance["name"]: [v for v in instance["engine_env"] if "MPS" in v]
        for file in files
        for instance in yaml.safe_load(file.text)["instances"]
    }
    assert found["llama-3-1-70b"] == found["llama-3-1-8b-2"]
    assert found["llama-3-1-70b"] == ["CUDA_MPS_PIPE_DIRECTORY=/tmp/colocate-mps/gpu-0"]
    assert found["canary"] == []


def test_ray_has_one_daemon_a_machine_since_it_chooses_gpus():
    (file,) = emit(Target.RAY, *realistic_plan(), sharing="mps").files
    models = yaml.safe_load(file.text)["applications"][0]["args"]["llm_configs"]
    found = {
        model["model_loading_config"]["model_id"]: model.get("runtime_env", {})
        .get("env_vars", {})
        .get("CUDA_MPS_PIPE_DIRECTORY")
        for model in models
    }
    assert found["canary"] is None, "it has a GPU to itself"
    assert set(found.values()) == {None, "/tmp/colocate-mps/node"}


def test_compose_has_a_daemon_for_each_group():
    files = emit(Target.COMPOSE, *realistic_plan(), sharing="mps").files
    services = {k: v for f in files for k, v in yaml.safe_load(f.text)["services"].items()}
    daemons = {name: s for name, s in services.items() if name.startswith("nvidia-mps.")}
    devices = {
        name: s["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
        for name, s in daemons.items()
    }
    assert devices == {
        "nvidia-mps.gpu-0": ["0", "1"],
        "nvidia-mps.gpu-2": ["2"],
        "nvidia-mps.gpu-1": ["1"],
    }
    wide, alone = services["llama-3-1-70b"], services["canary"]
    assert wide["depends_on"] == {"nvidia-mps.gpu-0": {"condition": "service_healthy"}}
    assert wide["stop_grace_period"] == "70s"
    assert "depends_on" not in alone
    assert (
        alone
        == {
            k: v
            for f in emit(Target.COMPOSE, *realistic_plan()).files
            for k, v in yaml.safe_load(f.text)["services"].items()
        }["canary"]
    )
