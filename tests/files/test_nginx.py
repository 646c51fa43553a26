"""nginx itself reads what was emitted for it, and requests reach the right engines."""

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.gateway_settings import GatewaySettings
from colocate.outputs.emit.settings import EmitSettings, Target
from tests.files.echoes import echoes, free_ports
from tests.outputs.emit.golden import CASES
from tests.outputs.emit.plans import DATA, plan_of, realistic_plan
from tests.outputs.emit.test_hostile import NAMES, hostile_plan

ADDRESSES = (("alpha", "127.0.0.1"), ("beta", "127.0.0.2"))
HIDDEN = [
    "/sleep?level=1",
    "/wake_up",
    "/release_memory_occupation",
    "/collective_rpc",
    "/metrics",
    "/v1/../sleep",
    "/v1/%2e%2e/sleep",
    "/v1%2f..%2fsleep",
    "/v1/./../../embedder/sleep",
]


@pytest.fixture
def folder():
    """A folder that the workers of nginx may enter: as root, they run as somebody else."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def nginx(folder, text, *words):
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"), *words]


def check(folder, text):
    done = subprocess.run(
        nginx(folder, text, "-t"), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr, done.stderr


def with_addresses(text, hosts):
    """Return a config in which names that only another network knows are addresses."""
    for host in hosts:
        text = text.replace(f"server {host}:", "server 127.0.0.1:")
    return text


@pytest.mark.parametrize("case", CASES)
def test_nginx_takes_the_files(case, folder):
    endpoints = json.loads((DATA / case / "endpoints.json").read_text("utf-8"))
    hosts = {r["host"] for model in endpoints["models"] for r in model["replicas"]}
    check(folder, with_addresses((DATA / case / "nginx.conf").read_text("utf-8"), hosts))


@pytest.mark.parametrize("target", [Target.VLLM, Target.KUBERNETES])
def test_nginx_takes_hostile_names(target, folder):
    files = {file.name: file.text for file in emit(target, *hostile_plan()).companions}
    endpoints = json.loads(files["endpoints.json"])["models"]
    hosts = {replica["host"] for model in endpoints for replica in model["replicas"]}
    check(folder, with_addresses(files["nginx.conf"], hosts))


def test_nginx_takes_hundreds_of_models(folder):
    models = [{"name": f"m{n}", "size_gb": 0.5, "load": 1} for n in range(300)]
    gpus = [{"name": "g", "memory_gb": 120, "count": 5}]
    where = {f"m{n}": [f"g-{n % 5}"] for n in range(300)}
    plan = plan_of(json.dumps({"gpus": gpus, "models": models}), where)
    check(folder, emit(Target.VLLM, *plan).companions[-1].text)


@contextmanager
def running(folder, plan, addresses=ADDRESSES):
    """Start nginx and all engines of a plan; yield its URL, the models and the engines."""
    count = len(plan[1].models) * 3
    first = free_ports(count + 1)
    settings = EmitSettings(base_port=first + 1, gateway=GatewaySettings(addresses))
    files = {file.name: file.text for file in emit(Target.VLLM, *plan, settings).companions}
    models = {m["model"]: m for m in json.loads(files["endpoints.json"])["models"]}
    places = {
        replica["engine"]: (replica["host"], replica["port"])
        for model in models.values()
        for replica in model["replicas"]
    }
    with echoes(places) as engines:
        command = nginx(folder, files["nginx.conf"], "-g", "daemon off;")
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            url = f"http://127.0.0.1:{first}"
            wait_for(url, process)
            yield url, models, engines
        finally:
            process.terminate()
            process.wait(20)


def wait_for(url, process):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        try:
            urllib.request.urlopen(url, timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nginx does not answer")


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def test_each_model_is_reached_by_its_path_and_replicas_share(folder):
    with running(folder, realistic_plan()) as (url, models, engines):
        for name, model in models.items():
            if model["state"] == "asleep":
                continue
            names = [replica["engine"] for replica in model["replicas"]]
            asked = 30 if len(names) > 1 else 2
            said = [
                ask(f"{url}{model['gateway_path']}/chat/completions", {"model": model["ask_for"]})
                for _ in range(asked)
            ]
            assert {answer["path"] for answer in said} == {"/v1/chat/completions"}
            assert {answer["model"] for answer in said} == {name}
            counts = Counter(answer["engine"] for answer in said)
            assert set(counts) == set(names)
            assert min(counts.values()) > 1
        assert sum(len(engine.asked) for engine in engines.values()) == 30 + 4 * 2


def test_nothing_but_the_api_is_forwarded(folder):
    with running(folder, realistic_plan()) as (url, _, engines):
        for path in [f"/embedder{hidden}" for hidden in HIDDEN] + HIDDEN + ["/nobody/v1/models"]:
            with pytest.raises(urllib.error.HTTPError) as error:
                ask(f"{url}{path}", {})
            assert error.value.code in (400, 404), path
        assert all(not engine.asked for engine in engines.values())


def test_answers_are_streamed_as_they_are_made(folder):
    with (
        running(folder, realistic_plan()) as (url, _, engines),
        urllib.request.urlopen(f"{url}/canary/v1/stream", timeout=20) as answer,
    ):
        assert answer.read(5) == b"first"
        engines["canary"].read.set()
        assert answer.read() == b"second"


def test_long_prompts_pass(folder):
    with running(folder, realistic_plan()) as (url, _, _):
        body = {"model": "canary", "prompt": "x" * 5_000_000}
        assert ask(f"{url}/canary/v1/completions", body)["received"] == len(json.dumps(body))


def test_a_replica_that_is_gone_is_passed_over(folder):
    with running(folder, realistic_plan()) as (url, _, engines):
        gone = engines["llama-3-1-8b-2"]
        gone.shutdown()
        gone.server_close()
        path = f"{url}/llama-3-1-8b/v1/chat/completions"
        said = {ask(path, {"model": "llama-3.1-8b"})["engine"] for _ in range(12)}
        assert said == {"llama-3-1-8b", "llama-3-1-8b-3"}


def test_hostile_names_reach_their_own_engines(folder):
    with running(folder, hostile_plan(), ()) as (url, models, _):
        for name in NAMES:
            model = models[name]
            said = ask(f"{url}{model['gateway_path']}/completions", {"model": model["ask_for"]})
            assert said["model"] == name
            assert said["engine"] == model["replicas"][0]["engine"]
    assert not (Path.cwd() / "x").exists()
    assert sorted(os.listdir(folder)) == sorted(
        ["nginx.conf", *(f"nginx-{p}" for p in ("body", "proxy", "fastcgi", "uwsgi", "scgi"))]
    )
