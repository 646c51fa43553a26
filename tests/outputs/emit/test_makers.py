"""GPUs of AMD, beside those of NVIDIA; and what SGLang demands of several GPUs."""

import json

import kubernetes_validate
import pytest
import yaml

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.engines.launch import launches_of
from colocate.outputs.emit.settings import (
    EmitSettings,
    Engine,
    Memory,
    Share,
    Sharing,
    Target,
    TimeSlice,
)
from tests.outputs.emit.plans import plan_of, texts
from tests.outputs.emit.test_golden import KUBERNETES

CHECK = "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK"


def mixed(kind="MI300X", **fields):
    gpus = [
        {"name": "red", "kind": kind, "node": "r", "devices": [3]},
        {"name": "green", "kind": "H100", "node": "g"},
    ]
    models = [{"name": name, "size_gb": 9, "load": 1, **fields} for name in ("a", "b")]
    return plan_of(json.dumps({"gpus": gpus, "models": models}), {"a": ["red"], "b": ["green"]})


def services(settings=None, plan=None):
    files = emit(Target.COMPOSE, *(plan or mixed()), settings).files
    return {k: v for f in files for k, v in yaml.safe_load(f.text)["services"].items()}


def manifests(share=Share.DRA, plan=None):
    (file,) = emit(Target.KUBERNETES, *(plan or mixed()), EmitSettings(share=share)).files
    documents = list(yaml.safe_load_all(file.text))
    for document in documents:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    return {(d["kind"], d["metadata"]["name"]): d["spec"] for d in documents}, file.text


def pod(found, name):
    return found["Deployment", name]["template"]["spec"]


def test_scripts_pin_each_maker_by_its_own_variable():
    texts = {file.node: file.text for file in emit(Target.VLLM, *mixed()).files}
    assert "env HIP_VISIBLE_DEVICES=3" in texts["r"]
    assert "CUDA" not in texts["r"]
    assert "CUDA_VISIBLE_DEVICES=0" in texts["g"]
    assert "HIP" not in texts["g"]


def test_compose_gives_amd_its_image_and_devices():
    found = services()
    assert found["a"]["image"] == "vllm/vllm-openai-rocm:latest"
    assert found["a"]["devices"] == ["/dev/kfd:/dev/kfd", "/dev/dri:/dev/dri"]
    assert found["a"]["group_add"] == ["video"]
    assert found["a"]["environment"]["HIP_VISIBLE_DEVICES"] == "3"
    assert "deploy" not in found["a"]
    assert found["b"]["image"] == "vllm/vllm-openai:latest"
    assert "devices" not in found["b"]


def test_images_of_sglang_are_by_generation():
    sglang = EmitSettings(engine=Engine.SGLANG)
    assert services(sglang)["a"]["image"].endswith("-mi30x")
    assert services(sglang, mixed("MI355X"))["a"]["image"].endswith("-mi35x")
    with pytest.raises(InputError, match=r"sglang has no public image.*--image"):
        services(sglang, mixed("MI210"))


def test_kvcached_has_no_image_for_amd():
    with pytest.raises(InputError, match="vllm with kvcached has no public image"):
        services(EmitSettings(memory=Memory.KVCACHED))
    own = EmitSettings(memory=Memory.KVCACHED, image="own:1")
    assert services(own)["a"]["image"] == "own:1"
    notes = texts(emit(Target.COMPOSE, *mixed(), own))
    assert any("build it from source against ROCm" in note for note in notes)
    assert any("--image own:1 is for all engines" in note for note in notes)


def test_claims_are_for_the_driver_of_the_maker():
    found, text = manifests()
    red = found["ResourceClaim", "gpu-red"]["devices"]["requests"][0]["exactly"]
    assert red["deviceClassName"] == "gpu.amd.com"
    (selector,) = red["selectors"]
    assert selector["cel"]["expression"].startswith(
        "device.attributes['gpu.amd.com'].type == 'amdgpu' && device.capacity['gpu.amd.com'].memory"
    )
    green = found["ResourceClaim", "gpu-green"]["devices"]["requests"][0]["exactly"]
    assert green["deviceClassName"] == "gpu.nvidia.com"
    assert pod(found, "a")["tolerations"] == [{"key": "amd.com/gpu", "operator": "Exists"}]
    assert "AMD's DRA driver 1.0 (k8s-gpu-dra-driver) and NVIDIA's DRA driver" in text


def test_without_claims_amd_needs_its_devices():
    found, _ = manifests(Share.ENV)
    red = pod(found, "a")
    (engine,) = red["containers"]
    assert "runtimeClassName" not in red
    assert engine["securityContext"] == {"privileged": True}
    assert {"name": "HIP_VISIBLE_DEVICES", "value": "3"} in engine["env"]
    assert {"name": "kfd", "hostPath": {"path": "/dev/kfd"}} in red["volumes"]
    assert {"name": "dri", "mountPath": "/dev/dri"} in engine["volumeMounts"]
    green = pod(found, "b")
    assert green["runtimeClassName"] == "nvidia"
    assert "securityContext" not in green["containers"][0]


def shared(*kinds):
    """Return a plan with two models on each GPU, which is alone on its node."""
    gpus = [{"name": f"g{n}", "kind": kind, "node": f"n{n}"} for n, kind in enumerate(kinds)]
    names = {f"m{n}{half}": [f"g{n}"] for n in range(len(kinds)) for half in "ab"}
    models = [{"name": name, "size_gb": 9, "load": 1} for name in names]
    return plan_of(json.dumps({"gpus": gpus, "models": models}), names)


def test_engines_of_a_pod_have_the_image_and_the_claim_of_their_maker():
    found, text = manifests(Share.POD, plan=shared("MI300X", "H100"))
    red, green = pod(found, "m0a"), pod(found, "m1a")
    assert [c["image"] for c in red["containers"]] == ["vllm/vllm-openai-rocm:latest"] * 2
    assert [c["image"] for c in green["containers"]] == ["vllm/vllm-openai:latest"] * 2
    assert red["tolerations"] == [{"key": "amd.com/gpu", "operator": "Exists"}]
    claim = found["ResourceClaim", red["resourceClaims"][0]["resourceClaimName"]]
    assert claim["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu.amd.com"
    assert "AMD's DRA driver 1.0 (k8s-gpu-dra-driver) and NVIDIA's DRA driver" in text


def test_the_plugin_of_amd_gives_whole_gpus_only():
    found, text = manifests(Share.PLUGIN)
    (engine,) = pod(found, "a")["containers"]
    assert engine["resources"]["limits"]["amd.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in engine["resources"]["limits"]
    assert "AMD's device plugin and NVIDIA's device plugin" in text
    with pytest.raises(InputError, match=r"plugin.*cannot share GPUs of AMD"):
        manifests(Share.PLUGIN, plan=shared("MI300X"))


def test_units_give_engines_the_devices_of_their_maker():
    units = {file.name: file.text for file in emit(Target.SYSTEMD, *mixed()).files}
    red, green = units["colocate-a.service"], units["colocate-b.service"]
    assert 'Environment="HIP_VISIBLE_DEVICES=3"' in red
    assert "SupplementaryGroups=video render" in red
    assert "nvidia" not in red
    assert "CUDA" not in red
    assert "nvidia-modprobe" in green
    assert "HIP" not in green


@pytest.mark.parametrize("target", [Target.SGLANG, Target.SYSTEMD])
def test_only_engines_on_nvidia_ask_nvidia_smi_what_is_free(target):
    files = emit(target, *mixed(), EmitSettings(engine=Engine.SGLANG)).files
    texts = {node: "".join(f.text for f in files if f.node == node) for node in "rg"}
    assert "nvidia-smi" not in texts["r"]
    assert "SHARE_OF_FREE" not in texts["r"]
    assert "nvidia-smi" in texts["g"]


@pytest.mark.parametrize("turns", [{"sharing": Sharing.MPS}, {"time_slice": TimeSlice.LONG}])
def test_gpus_of_amd_take_turns_by_themselves(turns):
    with pytest.raises(InputError, match="only for GPUs of NVIDIA, and 'red' is one of AMD"):
        emit(Target.KUBERNETES, *mixed(), EmitSettings(**turns))


def test_sglang_needs_aiter_for_mxfp4_on_amd():
    texts = {file.node: file.text for file in emit(Target.SGLANG, *mixed(dtype="mxfp4")).files}
    assert "SGLANG_USE_AITER=1" in texts["r"]
    assert "SGLANG_USE_AITER" not in texts["g"]


def sharded(*more, memories=(80, 80)):
    """Return a plan with a small model that is listed first, and one with two shards."""
    gpus = [{"name": f"g{n}", "memory_gb": gb, "node": "n"} for n, gb in enumerate(memories)]
    models = [{"name": name, "size_gb": 9, "load": 1} for name in more]
    models.append({"name": "wide", "size_gb": 20, "load": 1, "shards": 2})
    where = {name: ["g0"] for name in more}
    return plan_of(json.dumps({"gpus": gpus, "models": models}), {**where, "wide": ["g0", "g1"]})


def test_engines_with_shards_are_first_on_their_gpus():
    plan = sharded("small")
    waves = {la.name: la.wave for la in launches_of(*plan, EmitSettings(), 8000).launches}
    assert waves == {"small": 1, "wide": 0}


def test_sglang_does_not_compare_gpus_that_others_share():
    emission = emit(Target.SGLANG, *sharded("small"))
    assert emission.files[0].text.count(f" {CHECK}=0 ") == 1
    assert any("The GPUs of 'wide' differ, so that check is off" in n for n in texts(emission))


def test_sglang_compares_gpus_that_it_has_alone():
    assert CHECK not in emit(Target.SGLANG, *sharded()).files[0].text
    assert CHECK in emit(Target.SGLANG, *sharded(memories=(80, 96))).files[0].text
    assert CHECK not in emit(Target.VLLM, *sharded("small")).files[0].text


def test_a_format_that_an_engine_cannot_run_on_its_gpu_is_said():
    gpus = [{"name": "g", "kind": "T4"}]
    model = {"name": "m", "size_gb": 5, "load": 1, "dtype": "fp8"}
    plan = plan_of(json.dumps({"gpus": gpus, "models": [model]}), {"m": ["g"]})
    assert any(
        "T4 cannot run fp8 in SGLang (dtype of 'm')" in n for n in texts(emit(Target.SGLANG, *plan))
    )
    assert any("T4 does not calculate in fp8" in n for n in texts(emit(Target.VLLM, *plan)))
