"""Volumes, probes, sharing and resources in the manifests of Kubernetes."""

import json

import kubernetes_validate
import pytest
import yaml

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.cluster import KubernetesSettings, parse_weights
from colocate.outputs.emit.settings import EmitSettings, Share, Sharing, Target, TimeSlice
from tests.outputs.emit.plans import plan_of, realistic_plan, texts
from tests.outputs.emit.test_golden import KUBERNETES
from tests.outputs.emit.test_targets import documents, of_kind, one_gpu


def manifests(plan=None, **settings):
    found = documents(Target.KUBERNETES, EmitSettings(**settings), plan)
    for document in found:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    return found


def pods(found):
    deployments = of_kind(found, "Deployment")
    return {name: spec["template"]["spec"] for name, spec in deployments.items()}


def kept_in(text):
    return KubernetesSettings(weights=parse_weights(text))


def weights_of(pod):
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "weights"]
    (mount,) = [m for m in pod["containers"][0]["volumeMounts"] if m["name"] == "weights"]
    return {key: value for key, value in volume.items() if key != "name"}, mount


def variables(container):
    return {entry["name"]: entry.get("value") for entry in container["env"]}


def test_without_a_volume_weights_live_as_long_as_the_pod():
    pod = pods(manifests())["llama-3-1-8b"]
    volume, mount = weights_of(pod)
    assert volume == {"emptyDir": {"sizeLimit": "34G"}}, "20 GB, a fifth more, and 10"
    assert mount["mountPath"] == variables(pod["containers"][0])["HF_HOME"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("claim:hub", {"persistentVolumeClaim": {"claimName": "hub"}}),
        ("claim:hub:ro", {"persistentVolumeClaim": {"claimName": "hub", "readOnly": True}}),
        ("new-claim", {"persistentVolumeClaim": {"claimName": "colocate-weights"}}),
        ("host:/srv/hub", {"hostPath": {"path": "/srv/hub", "type": "DirectoryOrCreate"}}),
        ("host:/srv/hub:ro", {"hostPath": {"path": "/srv/hub", "type": "Directory"}}),
    ],
)
def test_weights_are_kept_where_the_user_says(text, expected):
    pod = pods(manifests(cluster=kept_in(text)))["llama-3-1-8b"]
    volume, mount = weights_of(pod)
    assert volume == expected
    read_only = text.endswith(":ro")
    assert mount.get("readOnly", False) is read_only
    offline = variables(pod["containers"][0]).get("HF_HUB_OFFLINE")
    assert offline == ("1" if read_only else None)


def test_a_model_on_the_disk_of_its_machine_needs_no_volume_for_weights():
    pod = pods(manifests(cluster=kept_in("claim:hub")))["canary"]
    assert [volume["name"] for volume in pod["volumes"]] == ["shm", "model"]
    assert "HF_HOME" not in variables(pod["containers"][0])


def test_a_new_claim_has_room_for_each_source_once():
    (claim,) = of_kind(manifests(cluster=kept_in("new-claim")), "PersistentVolumeClaim").values()
    # 142 GB of 16 bits that become fp8, 20 of one model with three replicas, and 19.
    assert (
        claim["resources"]["requests"]["storage"] == f"{round(1.2 * (142 + 20 + 19) + 10 + 0.3)}G"
    )
    assert claim["accessModes"] == ["ReadWriteMany"]
    assert "storageClassName" not in claim
    stated = manifests(one_gpu(node="n"), cluster=kept_in("new-claim:500Gi:fast.disk"))
    (claim,) = of_kind(stated, "PersistentVolumeClaim").values()
    assert claim["resources"]["requests"]["storage"] == "500Gi"
    assert claim["accessModes"] == ["ReadWriteOnce"], "all pods are on one machine"
    assert claim["storageClassName"] == "fast.disk"


def test_a_namespace_is_in_every_manifest():
    for manifest in manifests(cluster=KubernetesSettings("models")):
        assert manifest["metadata"]["namespace"] == "models"


def threshold(pod, container=0):
    probe = pod["containers"][container]["startupProbe"]
    return probe["failureThreshold"] * probe["periodSeconds"]


def test_a_start_may_take_as_long_as_the_weights_need():
    slow = pods(manifests(load_gb_per_second=0.1))
    assert threshold(slow["llama-3-1-70b"]) == 600 + 1420, "fp8 is made from 142 GB of 16 bits"
    assert threshold(slow["llama-3-1-8b"]) == 600 + 200
    assert threshold(pods(manifests(load_gb_per_second=10))["llama-3-1-8b"]) == 610
    waiting = slow["llama-3-1-8b-2"]["initContainers"][0]["command"]
    assert waiting[3] == str(600 + 1420)


def test_engines_ask_for_host_memory_by_their_size():
    resources = pods(manifests())["llama-3-1-70b"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "1500m", "memory": "10G"}
    assert resources["limits"] == {"memory": f"{10 + 142 + 5}G"}, "no limit for cores"
    awake = manifests(one_gpu(may_sleep=True))
    resources = pods(awake)["m"]["containers"][0]["resources"]
    assert resources["requests"]["memory"] == f"{6 + 10}G", "asleep, it keeps its weights there"


def test_engines_that_share_gpus_are_containers_of_one_pod():
    found = manifests(share=Share.POD)
    together = {name: [c["name"] for c in pod["containers"]] for name, pod in pods(found).items()}
    assert together == {
        "llama-3-1-70b": ["llama-3-1-70b", "llama-3-1-8b-2"],
        "llama-3-1-8b": ["llama-3-1-8b", "qwen-qwen2-5-7b-instruct"],
        "llama-3-1-8b-3": ["llama-3-1-8b-3", "embedder"],
        "canary": ["canary"],
    }
    first, second = pods(found)["llama-3-1-70b"]["containers"]
    assert first["command"] == ["vllm", "serve"]
    assert second["command"][-3:] == ["http://127.0.0.1:8000/health", "vllm", "serve"]
    assert threshold(pods(found)["llama-3-1-70b"], 1) == 1310 + 700, "it waits for the first"
    local = pods(found)["llama-3-1-70b"]["resourceClaims"]
    names = {claim["name"]: claim["resourceClaimName"] for claim in local}
    claimed = [[names[c["name"]] for c in e["resources"]["claims"]] for e in (first, second)]
    assert claimed == [["gpu-a-1", "gpu-a-0"], ["gpu-a-0"]]


def test_services_reach_engines_in_shared_pods_by_the_ports_of_their_models():
    found = manifests(share=Share.POD)
    services, deployments = of_kind(found, "Service"), of_kind(found, "Deployment")

    def reached(service):
        (port,) = services[service]["ports"]
        wanted = services[service]["selector"].items()
        return {
            (name, container["name"])
            for name, spec in deployments.items()
            if wanted <= spec["template"]["metadata"]["labels"].items()
            for container in spec["template"]["spec"]["containers"]
            if container["ports"][0]["name"] == port["targetPort"]
        }

    assert reached("embedder") == {("llama-3-1-8b-3", "embedder")}
    assert {engine for _, engine in reached("llama-3-1-8b-all")} == {
        "llama-3-1-8b",
        "llama-3-1-8b-2",
        "llama-3-1-8b-3",
    }


def two_replicas_in_one_pod():
    gpus = [{"name": "g", "memory_gb": 80, "node": "n", "count": 2}]
    models = [
        {"name": "wide", "size_gb": 20, "load": 1, "shards": 2},
        {"name": "twice", "size_gb": 20, "load": 1, "replicas": 2},
    ]
    where = {"wide": ["g-0", "g-1"], "twice": ["g-0", "g-1"]}
    return plan_of(json.dumps({"gpus": gpus, "models": models}), where)


def test_a_replica_that_the_service_of_its_model_cannot_reach_is_said():
    found = manifests(two_replicas_in_one_pod(), share=Share.POD)
    (pod,) = pods(found).values()
    ports = [container["ports"][0] for container in pod["containers"]]
    assert len({port["name"] for port in ports}) == len({p["containerPort"] for p in ports}) == 3
    settings = EmitSettings(share=Share.POD)
    notes = texts(emit(Target.KUBERNETES, *two_replicas_in_one_pod(), settings))
    assert any("replica twice-2 of twice is in one pod with another one" in note for note in notes)


def config_of(claim):
    (config,) = claim["devices"].get("config", [{"requests": [], "opaque": {"parameters": {}}}])
    return config["requests"], config["opaque"]["parameters"].get("sharing")


def test_claims_say_how_engines_take_turns_where_they_share():
    sliced = of_kind(manifests(time_slice=TimeSlice.SHORT), "ResourceClaim")
    slices = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}}
    assert config_of(sliced["gpu-a-0"]) == (["gpu"], slices)
    assert config_of(sliced["gpu-b-1"]) == ([], None), "one engine has it for itself"
    assert not any("config" in c["devices"] for c in of_kind(manifests(), "ResourceClaim").values())


@pytest.mark.parametrize("share", [Share.DRA, Share.POD])
def test_under_mps_an_engine_has_one_claim(share):
    """The driver starts a daemon for each claim, and a process can talk to one only."""
    found = manifests(share=share, sharing=Sharing.MPS)
    claims = of_kind(found, "ResourceClaim")
    assert set(claims) == {"gpu-a-0", "gpu-a-2", "gpu-b-0", "gpu-b-1"}
    assert config_of(claims["gpu-a-0"]) == (["gpu-0", "gpu-1"], {"strategy": "MPS"})
    pod = pods(found)["llama-3-1-70b"]
    assert len(pod["resourceClaims"]) == 1
    requests = [entry["request"] for entry in pod["containers"][0]["resources"]["claims"]]
    assert requests == ["gpu-1", "gpu-0"], "a-1 is its first"
    assert not [v for v in pod["volumes"] if v["name"] == "shm"], "the driver mounts /dev/shm"
    assert [v for v in pods(found)["canary"]["volumes"] if v["name"] == "shm"]


def test_without_claims_pods_join_the_mps_of_their_machine():
    found = manifests(share=Share.ENV, sharing=Sharing.MPS)
    assert "hostIPC" not in pods(found)["canary"], "it has its GPU to itself"
    assert "CUDA_MPS_PIPE_DIRECTORY" not in variables(pods(found)["canary"]["containers"][0])
    pod = pods(found)["embedder"]
    assert pod["hostIPC"] is True
    folder = variables(pod["containers"][0])["CUDA_MPS_PIPE_DIRECTORY"]
    assert {"name": "mps", "mountPath": folder} in pod["containers"][0]["volumeMounts"]
    settings = EmitSettings(share=Share.ENV, sharing=Sharing.MPS)
    notes = texts(emit(Target.KUBERNETES, *realistic_plan(), settings))
    assert any("the manifests do not start MPS" in note for note in notes)
    assert any("which Kubernetes does not restart together" in note for note in notes)


def plugin_plan(gpus, engines):
    models = [{"name": f"m{number}", "size_gb": 10, "load": 1} for number in range(engines)]
    gpu = {"name": "g", "memory_gb": 80, "node": "n", "count": gpus}
    where = {model["name"]: [f"g-{place % gpus}"] for place, model in enumerate(models)}
    return plan_of(json.dumps({"gpus": [gpu], "models": models}), where)


def test_the_device_plugin_divides_the_only_gpu_of_a_machine():
    settings = EmitSettings(share=Share.PLUGIN)
    plan = plugin_plan(1, 3)
    asked = [
        p["containers"][0]["resources"] for p in pods(manifests(plan, share=Share.PLUGIN)).values()
    ]
    assert [each["limits"]["nvidia.com/gpu.shared"] for each in asked] == ["1"] * 3
    base, plugin, *_ = emit(Target.KUBERNETES, *plan, settings).companions
    config = yaml.safe_load(plugin.text)
    kubernetes_validate.validate(config, KUBERNETES, strict=True)
    slicing = yaml.safe_load(config["data"]["shared-3"])["sharing"]["timeSlicing"]
    assert slicing["resources"] == [{"name": "nvidia.com/gpu", "replicas": 3}]
    assert "kubectl label node n nvidia.com/device-plugin.config=shared-3" in plugin.text
    assert plugin.name not in base.text, "it belongs to another namespace"


def test_the_device_plugin_gives_whole_gpus_where_none_is_shared():
    settings = EmitSettings(share=Share.PLUGIN)
    plan = plugin_plan(2, 2)
    asked = [
        p["containers"][0]["resources"] for p in pods(manifests(plan, share=Share.PLUGIN)).values()
    ]
    assert [each["limits"]["nvidia.com/gpu"] for each in asked] == ["1", "1"]
    assert [file.name for file in emit(Target.KUBERNETES, *plan, settings).companions] == [
        "kustomization.yaml",
        "endpoints.json",
        "litellm.yaml",
        "nginx.conf",
    ]


@pytest.mark.parametrize(
    ("gpus", "sharing", "said"),
    [(2, Sharing.SLICES, "cannot keep 2 GPUs of n apart"), (1, Sharing.MPS, "the same memory")],
)
def test_the_device_plugin_is_refused_where_it_would_break_the_plan(gpus, sharing, said):
    settings = EmitSettings(share=Share.PLUGIN, sharing=sharing)
    with pytest.raises(InputError, match=said):
        emit(Target.KUBERNETES, *plugin_plan(gpus, 3), settings)


def test_under_mps_engines_that_share_a_gpu_are_in_one_pod_unless_said_otherwise():
    found = manifests(sharing=Sharing.MPS)
    assert found == manifests(share=Share.POD, sharing=Sharing.MPS)
    pod = pods(found)["llama-3-1-8b-3"]
    assert [container["name"] for container in pod["containers"]] == ["llama-3-1-8b-3", "embedder"]
    assert {"name": "together", "mountPath": "/together"} in pod["containers"][1]["volumeMounts"]
    assert pod["containers"][1]["command"][3:5] == ["/together", "embedder"]
    waits = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > waits + 60 > 50, "more than engines may drain"
    alone = pods(found)["canary"]
    assert "lifecycle" not in alone["containers"][0]
    assert alone["containers"][0]["command"] == ["vllm", "serve"]
    assert "terminationGracePeriodSeconds" not in alone


@pytest.mark.parametrize("target", Target)
def test_that_mps_gives_up_isolation_is_said_where_engines_share(target):
    settings = EmitSettings(sharing=Sharing.MPS)
    emission = emit(target, *realistic_plan(), settings)
    assert any(note.startswith("MPS gives up isolation") for note in texts(emission))
    assert "# NOTE: MPS gives up isolation" in emission.files[0].text
    alone = emit(target, *one_gpu(), settings)
    assert not any("MPS gives up" in note for note in texts(alone))


def test_how_to_set_slices_is_said_where_files_cannot():
    settings = EmitSettings(time_slice=TimeSlice.LONG)
    command = "nvidia-smi compute-policy --set-timeslice=3"
    assert any(command in note for note in texts(emit(Target.VLLM, *realistic_plan(), settings)))
    notes = texts(emit(Target.KUBERNETES, *realistic_plan(), settings))
    assert not any("timeslice" in note for note in notes)
