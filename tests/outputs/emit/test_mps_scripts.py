"""Scripts under MPS, run for real with stand-ins for engines and for the daemon."""

import os
import time

import pytest

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Sharing, Target
from tests.outputs.emit.fake_engines import Machine
from tests.outputs.emit.plans import plan_of, realistic_plan

MPS = EmitSettings(sharing=Sharing.MPS)
FIRST_GROUP, SECOND_GROUP = {8000, 8002}, {8001, 8004}
"""Ports on alpha: the 70b has shards on two GPUs, one of which it shares; the others share one."""


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.add_mps()
    return made


def script(node="alpha", target=Target.VLLM):
    files = emit(target, *realistic_plan(), MPS).files
    return next(file.text for file in files if file.node == node)


def folder(machine):
    return {"MPS": str(machine.folder / "mps")}


def pids(machine):
    return {port: engine["pid"] for port, engine in machine.told().items()}


def reads_until(running, wanted):
    said = ""
    while wanted not in said:
        line = running.stderr.readline()
        assert line, said
        said += line
    return said


def waits_for(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within 20 seconds")


def test_engines_that_share_gpus_have_a_daemon_and_lone_ones_have_none(machine):
    assert machine.do(script(), "start", **folder(machine))[0] == 0
    assert machine.events_of_mps() == ["start gpu-0", "start gpu-2"]
    used = {
        port: engine["env"]["CUDA_MPS_PIPE_DIRECTORY"].rpartition("/")[2]
        for port, engine in machine.told().items()
    }
    assert used == {8000: "gpu-0", 8002: "gpu-0", 8001: "gpu-2", 8004: "gpu-2"}
    assert all("--shutdown-timeout=50" in engine["argv"] for engine in machine.told().values())
    assert machine.do(script("beta"), "start", **folder(machine))[0] == 0
    canary = machine.told()[8006]
    assert "CUDA_MPS_PIPE_DIRECTORY" not in canary["env"]
    assert "--shutdown-timeout=50" not in canary["argv"]
    for node in ("alpha", "beta"):
        assert machine.do(script(node), "stop", **folder(machine))[0] == 0


@pytest.mark.parametrize("target", [Target.VLLM, Target.SGLANG])
def test_restarting_one_engine_restarts_those_on_its_gpus_under_a_new_daemon(machine, target):
    machine.do(script(target=target), "start", **folder(machine))
    before = pids(machine)
    assert machine.do(script(target=target), "restart", "llama-3-1-8b-2", **folder(machine))[0] == 0
    after = pids(machine)
    assert {port for port in before if before[port] != after[port]} == FIRST_GROUP
    assert machine.events_of_mps()[2:] == ["quit gpu-0", "start gpu-0"]
    machine.do(script(target=target), "stop", **folder(machine))


def test_when_an_engine_dies_all_of_its_gpus_restart_and_others_stay(machine):
    running = machine.start(script(), STOP_SECONDS="5", **folder(machine))
    reads_until(running, "all 4 answer")
    before = pids(machine)
    os.kill(before[8002], 9)
    reads_until(running, "llama-3-1-8b-2 has died: restarting all engines under gpu-0")
    reads_until(running, "llama-3-1-8b-2 answers")
    after = pids(machine)
    assert {port for port in before if before[port] != after[port]} == FIRST_GROUP
    assert machine.told()[8002]["ready"].count("8000") == 1, "they start one after the other"
    assert machine.events_of_mps()[2:] == ["quit gpu-0", "start gpu-0"]
    os.kill(before[8004], 9)
    waits_for(lambda: pids(machine)[8004] != before[8004])
    waits_for(lambda: machine.events_of_mps()[4:] == ["quit gpu-2", "start gpu-2"])
    assert pids(machine)[8000] == after[8000]
    running.terminate()
    assert running.wait(30) == 143
    assert machine.events_of_mps()[6:] == ["quit gpu-0", "quit gpu-2"]


def test_engines_that_die_of_each_other_are_restarted_once(machine):
    running = machine.start(script("beta"), STOP_SECONDS="5", **folder(machine))
    reads_until(running, "all 3 answer")
    before = pids(machine)
    for port in (8003, 8005):
        os.kill(before[port], 9)
    reads_until(running, "embedder answers")
    time.sleep(5)
    assert machine.events_of_mps() == ["start gpu-1", "quit gpu-1", "start gpu-1"]
    after = pids(machine)
    assert {port for port in before if before[port] != after[port]} == {8003, 8005}
    running.terminate()
    assert running.wait(30) == 143


def test_an_engine_that_does_not_come_back_is_tried_again(machine):
    running = machine.start(script("beta"), RESTARTS="2", STOP_SECONDS="5", **folder(machine))
    reads_until(running, "all 3 answer")
    before = pids(machine)
    vllm = machine.folder / "bin" / "vllm"
    fails = f'#!/bin/sh\ncase $* in *port=8005*) exit 1;; esac\nexec {vllm}.real "$@"\n'
    vllm.rename(f"{vllm}.real")
    vllm.write_text(fails)
    vllm.chmod(0o755)
    os.kill(before[8005], 9)
    said = reads_until(running, "embedder has ended")
    assert said.count("restarting all engines under gpu-1") == 2
    assert said.count("embedder ended before it answered") == 2
    assert alive(before[8006]), "the other GPU goes on"
    assert not alive(pids(machine)[8003]), "and this one stays down as a whole"
    running.terminate()
    assert running.wait(30) == 143


def test_engines_that_keep_dying_stay_down_and_others_stay_up(machine):
    running = machine.start(script(), RESTARTS="0", STOP_SECONDS="5", **folder(machine))
    reads_until(running, "all 4 answer")
    before = pids(machine)
    os.kill(before[8002], 9)
    said = reads_until(running, "llama-3-1-8b-2 has ended")
    assert "restarting" not in said
    assert pids(machine) == before
    running.terminate()
    assert running.wait(30) == 143


def test_an_engine_that_is_stopped_by_hand_is_not_restarted(machine):
    running = machine.start(script(), **folder(machine))
    reads_until(running, "all 4 answer")
    assert machine.do(script(), "stop", "llama-3-1-8b-2", **folder(machine))[0] == 0
    reads_until(running, "llama-3-1-8b-2 has ended")
    before = pids(machine)
    assert machine.do(script(), "restart", "llama-3-1-8b-2", **folder(machine))[0] == 0
    after = pids(machine)
    assert {port for port in before if before[port] != after[port]} == FIRST_GROUP
    time.sleep(5)
    assert pids(machine) == after, "the two do not fight"
    running.terminate()
    assert running.wait(30) == 143


def test_a_stop_in_the_middle_of_a_restart_leaves_nothing(machine):
    running = machine.start(script(), STOP_SECONDS="5", **folder(machine))
    reads_until(running, "all 4 answer")
    os.kill(pids(machine)[8002], 9)
    reads_until(running, "starting llama-3-1-70b")
    running.terminate()
    assert running.wait(30) == 143
    assert not any(alive(pid) for pid in pids(machine).values())
    assert not list(machine.records.glob("daemon-*"))


def test_stopping_lets_engines_finish_before_the_daemon_ends(machine):
    machine.do(script(), "start", DRAINS="1", **folder(machine))
    assert machine.do(script(), "stop", **folder(machine))[0] == 0
    for port in FIRST_GROUP | SECOND_GROUP:
        assert (machine.records / f"{port}.finished").read_text().count("daemon-") == 2
    assert sorted(machine.events_of_mps()[2:]) == ["quit gpu-0", "quit gpu-2"]
    assert not list((machine.folder / "mps").iterdir())


def test_what_a_killed_daemon_left_is_removed(machine):
    stale = machine.folder / "mps" / "gpu-0"
    stale.mkdir(parents=True)
    (stale / "control").touch()
    (stale / "nvidia-cuda-mps-control.pid").write_text("1")
    assert machine.do(script(), "start", **folder(machine))[0] == 0
    assert [path.name for path in stale.iterdir()] == ["control"]
    machine.do(script(), "stop", **folder(machine))


def test_a_daemon_that_no_engine_uses_is_started_anew(machine):
    (machine.records / "daemon-gpu-0").touch()
    (machine.folder / "mps" / "gpu-0").mkdir(parents=True)
    assert machine.do(script(), "start", **folder(machine))[0] == 0
    assert machine.events_of_mps() == ["quit gpu-0", "start gpu-0", "start gpu-2"]
    machine.do(script(), "stop", **folder(machine))


def test_without_the_program_the_start_says_what_to_do(tmp_path):
    machine = Machine(tmp_path)
    status, said = machine.do(script(), "start", **folder(machine))
    assert status == 1
    assert "nvidia-cuda-mps-control is not installed; it comes with the driver" in said
    assert "--sharing slices" in said
    assert not machine.told()


def test_a_daemon_that_does_not_start_is_a_loud_failure(machine):
    status, said = machine.do(script(), "start", BROKEN="1", **folder(machine))
    assert status == 1
    assert "MPS did not start for gpu-0" in said
    assert "no GPU" in said, "the end of its log"
    assert not machine.told()


def test_a_folder_of_another_user_is_refused(machine):
    (machine.folder / "elsewhere").mkdir()
    (machine.folder / "mps").symlink_to(machine.folder / "elsewhere")
    status, said = machine.do(script(), "start", **folder(machine))
    assert status == 1
    assert "is not yours" in said
    assert not machine.told()


def test_engines_that_share_gpus_get_cores_of_their_own(machine):
    machine.add_cores()
    machine.do(script("beta"), "start", CPUS="0-7", **folder(machine))
    told = machine.told()
    assert told[8003]["env"]["PINNED_TO"] == "0,4,1,5", "threads of a core stay together"
    assert told[8005]["env"]["PINNED_TO"] == "2,6,3,7", "on the other NUMA node"
    assert "PINNED_TO" not in told[8006]["env"], "it has its GPU to itself"
    machine.do(script("beta"), "stop", **folder(machine))


def test_only_cores_that_may_be_used_are_given_away(machine):
    machine.add_cores()
    machine.do(script("beta"), "start", CPUS="1-3,5", **folder(machine))
    told = machine.told()
    assert [told[port]["env"]["PINNED_TO"] for port in (8003, 8005)] == ["1,5", "2,3"]
    machine.do(script("beta"), "stop", **folder(machine))


def test_with_too_few_cores_nothing_is_pinned(machine):
    machine.add_cores()
    machine.do(script("beta"), "start", CPUS="0-2", **folder(machine))
    assert not any("PINNED_TO" in engine["env"] for engine in machine.told().values())
    log = (machine.work / "logs" / "embedder.log").read_text()
    assert "embedder is not pinned: 3 cores for 4 processes" in log
    machine.do(script("beta"), "stop", **folder(machine))


def test_a_machine_without_shared_gpus_needs_no_mps():
    (script,) = emit(Target.VLLM, *lone_plan(), MPS).files
    (sliced,) = emit(Target.VLLM, *lone_plan()).files
    said = "# NOTE: no GPU here has two engines, so none runs under MPS\n"
    assert script.text.replace(said, "") == sliced.text


def lone_plan():
    text = "gpus: [{name: g, kind: H100}]\nmodels: [{name: m, size_gb: 9, load: 1}]\n"
    return plan_of(text, {"m": ["g"]})


def alive(pid):
    return os.path.exists(f"/proc/{pid}/exe")


@pytest.mark.parametrize("target", [Target.KVCACHED, Target.RAY])
def test_the_script_for_daemons_alone_starts_and_stops_them(machine, target):
    files = emit(target, *realistic_plan(), MPS).companions
    text = next(file.text for file in files if file.name == "mps-alpha.sh")
    names = ["gpu-0", "gpu-2"] if target is Target.KVCACHED else ["node"]
    assert machine.do(text, "status", **folder(machine))[0] == 1
    assert machine.do(text, "start", **folder(machine))[0] == 0
    assert machine.do(text, "start", **folder(machine))[0] == 0, "those that run stay"
    status, said = machine.do(text, "status", **folder(machine))
    assert status == 0
    assert said.splitlines() == [f"MPS runs for {name}" for name in names]
    assert machine.do(text, "stop", **folder(machine))[0] == 0
    assert machine.do(text, "halt", **folder(machine))[0] == 2
    assert machine.events_of_mps() == [
        f"{word} {name}" for word in ("start", "quit") for name in names
    ]
