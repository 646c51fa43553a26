"""`--download`: configs from the hub, by a loopback server that stands in for it."""

import json
import socket
from time import perf_counter

import pytest

from tests.cli.test_commands import fleet, run
from tests.inputs.hub_server import hub_server

FLEET = """
gpus: [{name: g, memory_gb: 80}]
models:
  - {name: m, config: org/tiny, load: 1}
  - {name: n, config: org/bare, load: 1}
"""


def environment(tmp_path, server=None, port=1):
    port = server.server_address[1] if server else port
    return {
        "HF_ENDPOINT": f"http://127.0.0.1:{port}",
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_CACHE": "",
        "HF_HUB_ETAG_TIMEOUT": "2",
        "HF_TOKEN": "",
        "NO_PROXY": "127.0.0.1",
    }


def test_a_fleet_is_planned_with_configs_from_the_hub(tmp_path):
    path = fleet(tmp_path, FLEET)
    with hub_server() as server:
        settings = environment(tmp_path, server)
        done = run("plan", path, "--download", "--json", **settings)
        assert done.returncode == 0, done.stderr
        models = json.loads(done.stdout)["fleet"]["models"]
        assert [model["source"] for model in models] == ["org/tiny", "org/bare"]
        assert models[0]["size_gb"] == 5000 / 1e9
        wanted = ("/config.json", "/model.safetensors.index.json")
        files = [path for _, path in server.asked if path.startswith("/org/")]
        assert files
        assert all(path.endswith(wanted) for path in files)
        server.asked.clear()
        again = run("capacity", path, "--pressure", "1", **settings)
        assert again.returncode == 0, again.stderr
        assert run("size", "tiny", **settings).returncode == 0
        assert server.asked == []


def test_nothing_is_asked_without_the_flag(tmp_path):
    with hub_server() as server:
        done = run("size", "org/tiny", **environment(tmp_path, server))
        assert (done.returncode, server.asked) == (2, [])
        assert "--download asks the Hugging Face hub" in done.stderr
        done = run("size", "Qwen2.5-7B-Instruct", "--download", **environment(tmp_path, server))
        assert (done.returncode, server.asked) == (0, [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("org/gated", "org/gated on the Hugging Face hub: is gated, accept its terms"),
        ("org/hidden", "org/hidden on the Hugging Face hub: is gated, accept its terms"),
        ("org/private", "is not there, or is private, check the name, or log in"),
        ("org/shut", "is refused with HTTP status 403, accept its terms"),
        ("org/broken", "is refused with HTTP status 500, give a config.json"),
        ("org/none", "is not there, or is private"),
        ("org/empty", "org/empty on the Hugging Face hub: has no config.json"),
        ("org/huge", "config.json has 1000000000 bytes, at most 67108864 are read"),
    ],
)
def test_what_the_hub_refuses_is_told(tmp_path, name, message):
    with hub_server() as server:
        done = run("size", name, "--download", **environment(tmp_path, server))
    assert (done.returncode, done.stdout) == (3, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_hub_that_is_not_there_is_told_once_for_every_model(tmp_path):
    path = fleet(tmp_path, FLEET)
    begun = perf_counter()
    done = run("plan", path, "--download", **environment(tmp_path))
    assert done.returncode == 3
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["line 4", "line 5"]
    assert "org/tiny on the Hugging Face hub: cannot be reached" in done.stderr
    assert perf_counter() - begun < 30


def test_a_hub_that_never_answers_is_not_waited_for(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        begun = perf_counter()
        port = silent.getsockname()[1]
        done = run("plan", fleet(tmp_path, FLEET), "--download", **environment(tmp_path, port=port))
    assert done.returncode == 3
    assert "cannot be reached" in done.stderr
    assert perf_counter() - begun < 30


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "gone = lambda name: name == 'huggingface_hub'\n"
        "util.find_spec = lambda name, *more: None if gone(name) else find(name, *more)\n"
    )
    done = run("size", "org/tiny", "--download", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "--download needs huggingface_hub: pip install 'colocate[hub]'" in done.stderr
