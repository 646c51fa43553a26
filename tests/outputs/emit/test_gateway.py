"""What clients and gateways are told; tests/files asks nginx and LiteLLM themselves."""

import json

import pytest
import yaml

from colocate.errors import InputError, UnknownNameError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.cluster import KubernetesSettings
from colocate.outputs.emit.engines.launch import launches_of
from colocate.outputs.emit.gateway_settings import GatewaySettings, parse_addresses
from colocate.outputs.emit.settings import EmitSettings, Share, Target
from tests.outputs.emit.plans import plan_of, realistic_plan, texts
from tests.outputs.emit.test_hostile import NAMES, hostile_plan


def gateway(target, plan=None, **settings):
    files = emit(target, *(plan or realistic_plan()), EmitSettings(**settings)).companions
    return {file.name: file.text for file in files}


def models(target, plan=None, **settings):
    found = json.loads(gateway(target, plan, **settings)["endpoints.json"])["models"]
    return {entry["model"]: entry for entry in found}


def addresses(*texts):
    return {"gateway": GatewaySettings(parse_addresses(texts))}


def two_machines(first="alpha", second="beta", **fields):
    gpus = [{"name": name, "node": name, "memory_gb": 80} for name in (first, second)]
    model = {"name": "m", "size_gb": 9, "load": 1, "replicas": 2, **fields}
    return plan_of(json.dumps({"gpus": gpus, "models": [model]}), {"m": [first, second]})


def one_machine(**fields):
    model = {"name": "m", "size_gb": 9, "load": 1, **fields}
    text = json.dumps({"gpus": [{"name": "g", "memory_gb": 80}], "models": [model]})
    return plan_of(text, {model["name"]: ["g"]})


def urls(entry):
    return [replica["base_url"] for replica in entry["replicas"]]


@pytest.mark.parametrize("target", Target)
def test_every_target_has_the_same_three_files(target):
    found = gateway(target)
    assert list(found)[-3:] == ["endpoints.json", "litellm.yaml", "nginx.conf"]
    assert set(models(target)) == set(realistic_plan()[1].models)


def test_replicas_are_listed_together_and_models_asleep_too():
    found = models(Target.VLLM)
    copied = found["llama-3.1-8b"]
    assert urls(copied) == [f"http://{a}/v1" for a in ("alpha:8001", "alpha:8002", "beta:8003")]
    assert [replica["gpus"] for replica in copied["replicas"]] == [["a-2"], ["a-0"], ["b-0"]]
    assert (copied["state"], copied["ask_for"]) == ("awake", "llama-3.1-8b")
    asleep = found["qwen2.5-32b"]
    assert (asleep["state"], asleep["replicas"]) == ("asleep", [])
    assert "--enable-sleep-mode" in asleep["start"]


def test_the_longest_request_is_told_where_it_is_stated():
    found = models(Target.VLLM)
    assert found["llama-3.1-70b"]["context_tokens"] == 32768
    assert found["llama-3.1-8b"]["context_tokens"] is None
    stated = one_machine(max_model_len=4096, kv_bytes_per_token=1000)
    assert models(Target.SGLANG, stated)["m"]["context_tokens"] == 4096


def test_the_longest_request_is_what_the_cache_holds_where_none_is_stated():
    plan = one_machine(kv_bytes_per_token=1_000_000, context_limit=10**6)
    (launch,) = launches_of(*plan, EmitSettings(), 8000).launches
    tokens = models(Target.VLLM, plan)["m"]["context_tokens"]
    assert tokens == launch.context
    assert 0 < tokens < 10**6


@pytest.mark.parametrize("share", [Share.DRA, Share.POD])
def test_services_are_named_with_their_namespace(share):
    settings = {"cluster": KubernetesSettings("models"), "share": share}
    found = models(Target.KUBERNETES, **settings)["llama-3.1-8b"]["replicas"]
    assert found[0]["base_url"] == "http://llama-3-1-8b.models.svc:8000/v1"
    assert found[1]["base_url"] == "http://llama-3-1-8b-2.models.svc:8000/v1"


def test_each_target_has_its_own_addresses():
    def first(target):
        return models(target)["llama-3.1-8b"]["replicas"][0]

    assert first(Target.COMPOSE)["base_url"] == "http://alpha:8001/v1"
    assert first(Target.COMPOSE)["base_url_inside"] == "http://llama-3-1-8b:8000/v1"
    assert first(Target.KUBERNETES)["base_url"] == "http://llama-3-1-8b:8000/v1"
    assert first(Target.SYSTEMD)["base_url"] == "http://alpha:8001/v1"
    assert first(Target.RAY)["base_url"] == "http://alpha:8000/v1"
    behind = first(Target.KVCACHED)
    assert behind["base_url"] == "http://alpha:8000/v1"
    assert behind["engine_url"] == "http://localhost:8002"
    asked = models(Target.KVCACHED)["llama-3.1-8b"]["ask_for"]
    assert asked == "meta-llama/Llama-3.1-8B-Instruct"


def test_one_machine_is_reached_where_its_engines_listen():
    plan = one_machine()
    assert urls(models(Target.VLLM, plan)["m"]) == ["http://127.0.0.1:8000/v1"]
    assert urls(models(Target.VLLM, plan, host="10.0.0.5")["m"]) == ["http://10.0.0.5:8000/v1"]
    assert urls(models(Target.VLLM, plan, **addresses("fe80::1"))["m"]) == [
        "http://[fe80::1]:8000/v1"
    ]


def test_machines_have_the_addresses_that_are_given():
    found = models(Target.VLLM, two_machines(), **addresses("beta=10.0.0.2"))
    assert urls(found["m"]) == ["http://alpha:8000/v1", "http://10.0.0.2:8001/v1"]
    with pytest.raises(UnknownNameError, match="one of: alpha, beta"):
        gateway(Target.VLLM, two_machines(), **addresses("gamma=x"))


@pytest.mark.parametrize("wrong", ["a=b c", "a=b;c", "a=", "=", "a={x}", "a=x/y", "a=1.2.3.4:80"])
def test_an_address_is_a_host(wrong):
    with pytest.raises(InputError, match="a host name or an IP address"):
        addresses(wrong)


def test_a_machine_has_one_address():
    with pytest.raises(InputError, match="once for each machine"):
        addresses("a=x", "a=y")


def test_a_name_that_cannot_be_a_host_is_replaced_and_said():
    emission = emit(Target.VLLM, *two_machines(second="rack 1; deny all"))
    note = "'rack 1; deny all' cannot be a host name, so the files for gateways call that machine"
    assert any(note in text for text in texts(emission))
    nginx = emission.companions[-1].text
    assert "server rack-1-deny-all:8001 max_fails" in nginx
    assert "deny all" not in nginx


def test_nginx_has_a_path_for_each_model_over_all_replicas():
    text = gateway(Target.VLLM)["nginx.conf"]
    upstream = text.split("upstream llama-3-1-8b {")[1].split("}")[0]
    assert upstream.count("server ") == 3
    assert "least_conn;" in upstream
    assert "location /llama-3-1-8b/v1/ {\n            proxy_pass http://llama-3-1-8b/v1/;" in text
    assert "proxy_buffering off;" in text
    assert "qwen2-5-32b" not in text, "it is asleep"


def test_nginx_listens_below_the_engines_unless_told():
    assert "listen 0.0.0.0:7999;" in gateway(Target.VLLM)["nginx.conf"]
    text = gateway(Target.VLLM, host="::1", gateway=GatewaySettings(port=80))["nginx.conf"]
    assert "listen [::1]:80;" in text
    assert "listen 0.0.0.0:65535;" in gateway(Target.VLLM, base_port=1)["nginx.conf"]
    with pytest.raises(InputError, match="gateway_port"):
        GatewaySettings(port=0)


@pytest.mark.parametrize("target", [Target.RAY, Target.KVCACHED])
def test_what_stands_before_several_engines_is_one_server(target):
    found = yaml.safe_load(gateway(target)["litellm.yaml"])["model_list"]
    bases = [entry["litellm_params"]["api_base"] for entry in found]
    named = [e["litellm_params"]["api_base"] for e in found if e["model_name"] == "llama-3.1-8b"]
    assert len(named) == len(set(named)) == (1 if target is Target.RAY else 2)
    assert set(bases) == {f"http://{n}:8000/v1" for n in ("alpha", "beta")[: len(set(bases))]}


def test_litellm_has_an_entry_for_each_replica():
    config = yaml.safe_load(gateway(Target.VLLM)["litellm.yaml"])
    entries = [e for e in config["model_list"] if e["model_name"] == "llama-3.1-8b"]
    assert len(entries) == 3
    assert {e["litellm_params"]["model"] for e in entries} == {"openai/llama-3.1-8b"}
    assert {e["litellm_params"]["api_key"] for e in entries} == {"os.environ/COLOCATE_API_KEY"}
    assert config["router_settings"]["routing_strategy"] == "simple-shuffle"


def test_names_that_litellm_would_misread_are_left_out_and_said():
    emission = emit(Target.VLLM, *one_machine(name="os.environ/HOME", source="a/b"))
    assert yaml.safe_load(emission.companions[-2].text)["model_list"] == []
    assert any("litellm.yaml leaves out model 'os.environ/HOME'" in n for n in texts(emission))


def test_hostile_names_stay_names():
    found = gateway(Target.VLLM, hostile_plan())
    listed = json.loads(found["endpoints.json"])["models"]
    assert [entry["model"] for entry in listed] == [*NAMES, "$(touch asleep)"]
    config = yaml.safe_load(found["litellm.yaml"])
    kept = [name for name in NAMES if name != "*"]
    assert [entry["model_name"] for entry in config["model_list"]] == kept
    for line in found["nginx.conf"].splitlines():
        assert line.lstrip().startswith("#") or "touch x" not in line


def test_engines_that_may_sleep_have_addresses_for_it():
    found = models(Target.VLLM, one_machine(may_sleep=True))["m"]["replicas"][0]
    assert found["asleep_by"] == {
        "sleep": "http://127.0.0.1:8000/sleep?level=1",
        "wake_up": "http://127.0.0.1:8000/wake_up",
        "is_asleep": "http://127.0.0.1:8000/is_sleeping",
    }
    found = models(Target.SGLANG, one_machine(may_sleep=True))["m"]["replicas"][0]
    assert found["asleep_by"]["sleep"] == "http://127.0.0.1:8000/release_memory_occupation"
    assert "asleep_by" not in models(Target.VLLM, one_machine())["m"]["replicas"][0]
    assert "asleep_by" not in models(Target.RAY, one_machine(may_sleep=True))["m"]["replicas"][0]
