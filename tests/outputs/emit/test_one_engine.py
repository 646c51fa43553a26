"""Scripts start, stop and restart one engine without the others."""

import contextlib
import os
import shlex
import signal

import pytest

from colocate.outputs.emit.settings import EmitSettings, Engine, Target
from tests.outputs.emit.fake_engines import Machine
from tests.outputs.emit.test_scripts import script
from tests.outputs.emit.test_targets import documents, of_kind, one_gpu

NAMES = ["llama-3-1-70b", "llama-3-1-8b", "llama-3-1-8b-2", "qwen-qwen2-5-7b-instruct"]
PORTS = dict(zip(NAMES, (8000, 8001, 8002, 8004), strict=True))


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    for engine in made.told().values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(engine["pid"], signal.SIGKILL)


def pids(machine):
    return {port: engine["pid"] for port, engine in machine.told().items()}


def test_all_are_started_in_order_and_stay_when_the_script_has_ended(machine):
    status, said = machine.do(script(), "start")
    assert status == 0, said
    assert set(machine.told()) == set(PORTS.values())
    assert {"8000", "8001"} <= set(machine.told()[8004]["ready"])
    status, said = machine.do(script(), "status")
    assert status == 0
    assert [line.split(",")[0] for line in said.splitlines()] == NAMES
    assert all("answers, process" in line for line in said.splitlines())


def test_starting_twice_changes_nothing(machine):
    machine.do(script(), "start")
    before = pids(machine)
    status, said = machine.do(script(), "start")
    assert status == 0
    assert said.splitlines() == [f"{name} runs already" for name in NAMES]
    assert pids(machine) == before


def test_one_engine_is_stopped_and_started_and_the_others_go_on(machine):
    machine.do(script(), "start")
    before = pids(machine)
    status, said = machine.do(script(), "stop", "llama-3-1-8b-2")
    assert (status, said) == (0, "llama-3-1-8b-2 is stopped\n")
    status, said = machine.do(script(), "status")
    assert status == 1
    assert "llama-3-1-8b-2, port 8002: does not run" in said
    status, said = machine.do(script(), "start", "llama-3-1-8b-2")
    assert status == 0, said
    after = pids(machine)
    assert after.pop(8002) != before.pop(8002)
    assert after == before


def test_an_engine_that_was_killed_is_restarted_alone(machine):
    machine.do(script(), "start")
    before = pids(machine)
    os.kill(before[8000], signal.SIGKILL)
    status, said = machine.do(script(), "restart", "llama-3-1-70b")
    assert status == 0, said
    after = pids(machine)
    assert after.pop(8000) != before.pop(8000)
    assert after == before


def test_an_engine_is_restarted_beside_a_script_that_stays(machine):
    running = machine.start(script())
    while "all 4 answer" not in running.stderr.readline():
        pass
    before = pids(machine)
    assert machine.do(script(), "restart", "llama-3-1-8b")[0] == 0
    assert running.poll() is None
    assert pids(machine)[8001] != before[8001]
    running.terminate()
    running.communicate(timeout=60)
    status, said = machine.do(script(), "status")
    assert status == 1
    assert said.count("does not run") == len(NAMES)


def test_what_another_process_has_inherited_is_not_stopped(machine):
    logs = machine.work / "logs"
    logs.mkdir()
    (logs / "llama-3-1-8b.pid").write_text(f"{os.getpid()} 1\n")
    assert machine.do(script(), "stop")[0] == 0
    assert not list(logs.iterdir())


@pytest.mark.parametrize("words", [("stop", "llama"), ("stop", "*"), ("dance",)])
def test_unknown_names_and_actions_are_refused(machine, words):
    status, said = machine.do(script(), *words)
    assert status == 2
    assert "there are: llama-3-1-70b" in said or "usage: " in said


def test_sglang_gets_its_share_of_what_is_free_now(machine):
    found = script(Target.SGLANG, node="beta")
    machine.add_nvidia_smi({1: 40_000, 3: 45_000})
    assert machine.do(found, "start")[0] == 0
    first = [word for word in machine.told()[8003]["argv"] if "mem-fraction" in word]
    machine.add_nvidia_smi({1: 38_000})
    assert machine.do(found, "restart", "llama-3-1-8b-3")[0] == 0
    second = [word for word in machine.told()[8003]["argv"] if "mem-fraction" in word]
    planned, *shares = [float(word.partition("=")[2]) for word in (*first, second[-1])]
    assert first[0] == second[0]
    assert [share * free for share, free in zip(shares, (40_000, 38_000), strict=True)] == (
        pytest.approx([planned * 47.66e9 / 2**20] * 2, rel=1e-3)
    )
    machine.add_nvidia_smi({1: 9_000})
    status, said = machine.do(found, "restart", "llama-3-1-8b-3")
    assert status == 1
    assert "MiB for weights and cache, and its fullest GPU has 9000 MiB free" in said


def sglang_in_a_container(target):
    settings = EmitSettings(engine=Engine.SGLANG)
    manifests = documents(target, settings, one_gpu())
    if target is Target.COMPOSE:
        service = manifests[0]["services"]["m"]
        return service["entrypoint"] + service["command"]
    pod = of_kind(manifests, "Deployment")["m"]["template"]["spec"]
    return pod["containers"][0]["command"] + pod["containers"][0]["args"]


@pytest.mark.parametrize("target", [Target.COMPOSE, Target.KUBERNETES])
def test_sglang_in_a_container_measures_the_gpus_that_it_sees(machine, target):
    machine.add_nvidia_smi({0: 75_000})
    words = [word.replace("$$", "$") for word in sglang_in_a_container(target)]
    machine.do(f"timeout 2 {shlex.join(words)}")
    (engine,) = machine.told().values()
    planned, share = [
        float(word.partition("=")[2]) for word in engine["argv"] if "mem-fraction" in word
    ]
    assert share * 75_000 == pytest.approx(planned * 80e9 / 2**20, rel=1e-3)
