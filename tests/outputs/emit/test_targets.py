import json

import pytest
import yaml

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Memory, Share, Target
from tests.outputs.emit.plans import plan_of, realistic_plan, texts


def documents(target, settings=None, plan=None):
    files = emit(target, *(plan or realistic_plan()), settings).files
    return [document for file in files for document in yaml.safe_load_all(file.text)]


def of_kind(manifests, kind):
    return {m["metadata"]["name"]: m["spec"] for m in manifests if m["kind"] == kind}


def one_gpu(node=None, **fields):
    """Return a plan with one model on one GPU."""
    model = {"name": "m", "size_gb": 10, "load": 1, **fields}
    gpu = {"name": "g", "memory_gb": 80, **({"node": node} if node else {})}
    return plan_of(json.dumps({"gpus": [gpu], "models": [model]}), {"m": ["g"]})


def options(plan, target=Target.VLLM, settings=None):
    text = emit(target, *plan, settings).files[0].text
    return [line.strip(" \\") for line in text.splitlines() if line.startswith("  --")]


def test_compose_reserves_devices_and_starts_neighbours_one_after_the_other():
    alpha, beta = documents(Target.COMPOSE)
    devices = {
        name: service["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
        for project in (alpha, beta)
        for name, service in project["services"].items()
    }
    assert devices == {
        "llama-3-1-70b": ["1", "0"],
        "llama-3-1-8b": ["2"],
        "llama-3-1-8b-2": ["0"],
        "qwen-qwen2-5-7b-instruct": ["2"],
        "llama-3-1-8b-3": ["1"],
        "embedder": ["1"],
        "canary": ["3"],
    }
    waits = {name: service.get("depends_on") for name, service in alpha["services"].items()}
    healthy = {"condition": "service_healthy"}
    assert waits == {
        "llama-3-1-70b": None,
        "llama-3-1-8b": None,
        "llama-3-1-8b-2": {"llama-3-1-70b": healthy},
        "qwen-qwen2-5-7b-instruct": {"llama-3-1-8b": healthy},
    }


def test_pods_on_one_gpu_share_its_claim():
    manifests = documents(Target.KUBERNETES)
    claimed = {
        name: [claim["resourceClaimName"] for claim in spec["template"]["spec"]["resourceClaims"]]
        for name, spec in of_kind(manifests, "Deployment").items()
    }
    assert claimed["llama-3-1-70b"] == ["gpu-a-1", "gpu-a-0"]
    assert claimed["llama-3-1-8b-2"] == ["gpu-a-0"]
    assert claimed["llama-3-1-8b"] == claimed["qwen-qwen2-5-7b-instruct"] == ["gpu-a-2"]
    used = {name for names in claimed.values() for name in names}
    assert used == set(of_kind(manifests, "ResourceClaim"))


def test_a_service_is_over_all_replicas_of_a_model():
    manifests = documents(Target.KUBERNETES)
    services = of_kind(manifests, "Service")
    pods = {
        name: spec["template"]["metadata"]["labels"]
        for name, spec in of_kind(manifests, "Deployment").items()
    }

    def behind(service):
        wanted = services[service]["selector"].items()
        return {name for name, labels in pods.items() if wanted <= labels.items()}

    assert behind("llama-3-1-8b-all") == {"llama-3-1-8b", "llama-3-1-8b-2", "llama-3-1-8b-3"}
    assert behind("llama-3-1-8b") == {"llama-3-1-8b"}
    assert behind("canary-all") == {"canary"}
    assert "qwen2-5-32b-all" not in services, "it is asleep"


def test_pods_are_bound_to_their_node_and_wait_for_their_neighbours():
    pods = {
        name: spec["template"]["spec"]
        for name, spec in of_kind(documents(Target.KUBERNETES), "Deployment").items()
    }
    assert pods["canary"]["nodeSelector"] == {"kubernetes.io/hostname": "beta"}
    assert "initContainers" not in pods["canary"]
    (waiting,) = pods["embedder"]["initContainers"]
    assert waiting["command"][-1] == "http://llama-3-1-8b-3:8000/health"


def test_without_claims_devices_are_in_the_environment():
    manifests = documents(Target.KUBERNETES, EmitSettings(share=Share.ENV))
    assert not of_kind(manifests, "ResourceClaim")
    pod = of_kind(manifests, "Deployment")["llama-3-1-70b"]["template"]["spec"]
    variables = {v["name"]: v.get("value") for v in pod["containers"][0]["env"]}
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "1,0"
    assert pod["runtimeClassName"] == "nvidia"


def test_claims_tell_gpus_of_one_node_apart_by_memory():
    gpus = [
        {"name": "small", "memory_gb": 24, "node": "n"},
        {"name": "large", "memory_gb": 80, "node": "n"},
    ]
    models = [{"name": name, "size_gb": 10, "load": 1} for name in ("a", "b")]
    text = json.dumps({"gpus": gpus, "models": models})
    plan = plan_of(text, {"a": ["small"], "b": ["large"]})
    claims = of_kind(documents(Target.KUBERNETES, plan=plan), "ResourceClaim")
    expressions = {
        name: claim["devices"]["requests"][0]["exactly"]["selectors"][0]["cel"]["expression"]
        for name, claim in claims.items()
    }
    memory = "device.capacity['gpu.nvidia.com'].memory"
    assert expressions == {
        "gpu-small": f"{memory}.compareTo(quantity('24G')) >= 0 && "
        f"{memory}.compareTo(quantity('80G')) < 0",
        "gpu-large": f"{memory}.compareTo(quantity('80G')) >= 0",
    }


def test_a_node_that_kubernetes_cannot_have_is_refused():
    with pytest.raises(InputError, match="cannot be the name of a machine in Kubernetes"):
        emit(Target.KUBERNETES, *one_gpu(node="rack 1/alpha"))


@pytest.mark.parametrize("target", [Target.COMPOSE, Target.KUBERNETES])
def test_containers_need_a_whole_path(target):
    with pytest.raises(InputError, match="is relative, must be an absolute path"):
        emit(target, *one_gpu(source="./models/m"))


def test_images_are_those_of_the_engine_or_the_users():
    def image(**settings):
        (project,) = documents(Target.COMPOSE, EmitSettings(**settings), one_gpu())
        return project["services"]["m"]["image"]

    assert image(engine=Engine.SGLANG) == "lmsysorg/sglang:latest"
    assert image(memory=Memory.KVCACHED) == "ghcr.io/ovg-project/kvcached-vllm:latest"
    assert image(image="own:1") == "own:1"


def test_ray_has_replicas_fractions_and_a_resource_for_the_node():
    (document,) = documents(Target.RAY)
    configs = {
        config["model_loading_config"]["model_id"]: config
        for config in document["applications"][0]["args"]["llm_configs"]
    }
    assert set(configs) == set(realistic_plan()[1].models) - {"qwen2.5-32b"}
    copied = configs["llama-3.1-8b"]
    assert copied["deployment_config"] == {"num_replicas": 3}
    (bundle,) = copied["placement_group_config"]["bundles"]
    assert bundle["colocate-llama-3-1-8b"] == 1
    fraction = copied["runtime_env"]["env_vars"]["VLLM_RAY_PER_WORKER_GPUS"]
    assert float(fraction) == bundle["GPU"]
    sharded = configs["llama-3.1-70b"]
    assert len(sharded["placement_group_config"]["bundles"]) == 2
    assert sharded["engine_kwargs"]["tensor_parallel_size"] == 2
    assert configs["canary"]["placement_group_config"]["bundles"][0]["GPU"] == 1
    resources = 'alpha: ray start ... --resources=\'{"colocate-llama-3-1-70b": 1, '
    assert resources in emit(Target.RAY, *realistic_plan()).files[0].text


def test_ray_takes_arguments_as_keywords():
    args = ["--max-num-seqs", "64", "--enable-lora", "--no-enable-prefix-caching", "--x={}"]
    (document,) = documents(Target.RAY, plan=one_gpu(args=args))
    keywords = document["applications"][0]["args"]["llm_configs"][0]["engine_kwargs"]
    assert keywords["max_num_seqs"] == 64
    assert keywords["enable_lora"] is True
    assert keywords["enable_prefix_caching"] is False
    assert keywords["x"] == {}
    with pytest.raises(InputError, match="args has 'odd', which Ray cannot take"):
        emit(Target.RAY, *one_gpu(args=["odd"]))


def test_ray_says_when_two_shards_may_meet():
    gpus = [{"name": "g", "memory_gb": 80, "count": 2}]
    models = [
        {"name": "wide", "size_gb": 20, "load": 1, "shards": 2},
        {"name": "hot", "size_gb": 20, "load": 9},
    ]
    plan = plan_of(
        json.dumps({"gpus": gpus, "models": models}), {"wide": ["g-0", "g-1"], "hot": ["g-0"]}
    )
    assert any("two shards of wide" in note for note in texts(emit(Target.RAY, *plan)))


def test_kvcached_says_when_its_router_takes_two_for_one():
    notes = texts(emit(Target.KVCACHED, *realistic_plan()))
    assert [note for note in notes if "router tells" in note] == [
        "alpha has 2 engines that load meta-llama/Llama-3.1-8B-Instruct: the kvcached router "
        "tells engines apart by what they load, so it may send all requests to one of them",
    ]


def test_the_router_of_kvcached_has_the_base_port():
    alpha, beta = documents(Target.KVCACHED, EmitSettings(base_port=9000))
    assert alpha["router"]["router_port"] == beta["router"]["router_port"] == 9000
    ports = [
        word
        for config in (alpha, beta)
        for instance in config["instances"]
        for word in instance["engine_args"]
        if word.startswith("--port=")
    ]
    assert sorted(ports) == [f"--port={port}" for port in range(9001, 9008)]


def test_kvcached_leaves_alone_what_the_fleet_reserves():
    gpus = [{"name": "g", "memory_gb": 80, "reserve_gb": 20}]
    model = {"name": "m", "size_gb": 10, "load": 1}
    plan = plan_of(json.dumps({"gpus": gpus, "models": [model]}), {"m": ["g"]})
    (config,) = documents(Target.KVCACHED, plan=plan)
    assert "KVCACHED_GPU_UTILIZATION=0.75" in config["instances"][0]["kvcached_env"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dtype": "bf16"}, ["--dtype=bfloat16"]),
        ({"dtype": "float32"}, ["--dtype=float32"]),
        ({"dtype": "fp8_e4m3"}, ["--quantization=fp8"]),
        ({"dtype": "fp8", "quantised_on_disk": True}, []),
        ({"dtype": "fp8", "quantised_on_disk": False, "source": "o/M-fp8"}, ["--quantization=fp8"]),
        ({"dtype": "fp8"}, ["--quantization=fp8"]),
        ({"dtype": "fp8", "source": "org/M-FP8"}, []),
        ({"dtype": "fp8", "args": ["--quantization=modelopt"]}, []),
        ({"dtype": "awq"}, []),
        ({"dtype": "bnb-4bit"}, ["--quantization=bitsandbytes"]),
        ({"kv_dtype": "fp8"}, ["--kv-cache-dtype=fp8"]),
        ({"kv_dtype": "bf16"}, []),
    ],
)
def test_formats_are_said_where_the_model_does_not(fields, expected):
    flags = ("--dtype", "--quantization=fp8", "--quantization=b", "--kv-cache-dtype")
    assert [o for o in options(one_gpu(**fields)) if o.startswith(flags)] == expected


def test_a_length_of_context_is_fitted_unless_it_is_given():
    assert "--max-model-len=-1" in options(one_gpu())
    assert "--max-model-len=4096" in options(one_gpu(max_model_len=4096))


def test_a_fleet_without_nodes_has_one_file():
    for target in set(Target) - {Target.SYSTEMD}:
        (file,) = emit(target, *one_gpu()).files
        assert file.node == ""


def test_models_asleep_are_in_a_comment_only():
    for target in Target:
        for file in emit(target, *realistic_plan()).files:
            lines = [line for line in file.text.splitlines() if "qwen2.5-32b" in line]
            assert lines or file.name.endswith(".service")
            assert all(line.startswith("# ") for line in lines)


def test_ports_end_somewhere():
    with pytest.raises(InputError, match="give a lower --base-port"):
        emit(Target.VLLM, *realistic_plan(), EmitSettings(base_port=65_533))


@pytest.mark.parametrize(
    ("field", "value"), [("base_port", 0), ("host", "-x"), ("venv", "a\nb"), ("image", "--rm")]
)
def test_settings_are_checked(field, value):
    with pytest.raises(InputError, match=field):
        EmitSettings(**{field: value})
