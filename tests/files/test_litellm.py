"""LiteLLM itself reads what was emitted for it, and its router reaches the right engines.

It lives in an environment of its own, which `make test-files` makes: LITELLM_PYTHON is its python.
"""

import json
import os
import subprocess
from collections import Counter

import pytest
import yaml

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.gateway_settings import GatewaySettings
from colocate.outputs.emit.settings import EmitSettings, Target
from tests.files.echoes import echoes, free_ports
from tests.outputs.emit.plans import realistic_plan
from tests.outputs.emit.test_hostile import NAMES, hostile_plan

PROGRAM = """
import asyncio, json, sys
from litellm.proxy.proxy_server import ProxyConfig

async def main():
    path, asked = sys.argv[1], json.loads(sys.argv[2])
    router, models, _ = await ProxyConfig().load_config(router=None, config_file_path=path)
    messages = [{"role": "user", "content": "hello"}]
    said = {}
    for name, count in asked.items():
        calls = [router.acompletion(model=name, messages=messages) for _ in range(count)]
        answers = await asyncio.gather(*calls)
        said[name] = [answer.choices[0].message.content for answer in answers]
    found = {"said": said, "strategy": str(router.routing_strategy), "models": models}
    print("\\n" + json.dumps(found, default=str))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python():
    found = os.environ.get("LITELLM_PYTHON")
    assert found, "LITELLM_PYTHON is not set: run make test-files"
    return found


def loaded(python, folder, text, asked):
    """Return what LiteLLM read, and which engines answered."""
    path = folder / "litellm.yaml"
    path.write_text(text, encoding="utf-8")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "COLOCATE_API_KEY": "none",
        "LITELLM_MASTER_KEY": "sk-1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
    }
    done = subprocess.run(
        [python, "-c", PROGRAM, path, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=variables,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def files_of(plan, first, addresses=()):
    settings = EmitSettings(base_port=first, gateway=GatewaySettings(addresses))
    files = {file.name: file.text for file in emit(Target.VLLM, *plan, settings).companions}
    models = {m["model"]: m for m in json.loads(files["endpoints.json"])["models"]}
    places = {r["engine"]: (r["host"], r["port"]) for m in models.values() for r in m["replicas"]}
    return files["litellm.yaml"], models, places


def test_each_model_is_reached_and_replicas_share(python, tmp_path):
    addresses = (("alpha", "127.0.0.1"), ("beta", "127.0.0.2"))
    text, models, places = files_of(realistic_plan(), free_ports(10), addresses)
    awake = {name: model for name, model in models.items() if model["state"] == "awake"}
    with echoes(places) as engines:
        asked = {name: 40 if len(model["replicas"]) > 1 else 1 for name, model in awake.items()}
        found = loaded(python, tmp_path, text, asked)
        for name, model in awake.items():
            names = {replica["engine"] for replica in model["replicas"]}
            assert set(found["said"][name]) == names, Counter(found["said"][name])
        for engine in engines.values():
            assert {path for path, _ in engine.asked} == {"/v1/chat/completions"}
    assert "simple-shuffle" in found["strategy"]
    assert len(found["models"]) == len(places)


def test_hostile_names_are_read_as_they_are(python, tmp_path):
    text, models, places = files_of(hostile_plan(), free_ports(40))
    names = [entry["model_name"] for entry in yaml.safe_load(text)["model_list"]]
    assert names == [name for name in NAMES if name != "*"]
    with echoes(places) as engines:
        found = loaded(python, tmp_path, text, dict.fromkeys(names, 1))
        for name in names:
            (replica,) = models[name]["replicas"]
            assert found["said"][name] == [replica["engine"]]
            assert engines[replica["engine"]].asked == [("/v1/chat/completions", name)]
