import json
import os
import shutil
import socket
import threading
import time

import pytest

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Memory, Target
from tests.outputs.emit.fake_engines import Machine
from tests.outputs.emit.plans import plan_of, realistic_plan


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def script(target=Target.VLLM, settings=None, node="alpha"):
    files = emit(target, *realistic_plan(), settings).files
    return next(file.text for file in files if file.node == node)


def test_engines_are_started_in_waves_on_their_devices_and_stopped(machine):
    said = machine.run_until_all_answer(script())
    told = machine.told()
    assert {port: engine["env"]["CUDA_VISIBLE_DEVICES"] for port, engine in told.items()} == {
        8000: "1,0",
        8001: "2",
        8002: "0",
        8004: "2",
    }
    assert all(engine["env"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID" for engine in told.values())
    assert told[8000]["ready"] == told[8001]["ready"] == []
    assert {"8000", "8001"} <= set(told[8002]["ready"])
    assert {"8000", "8001"} <= set(told[8004]["ready"])
    assert told[8000]["argv"] == [
        "serve",
        "meta-llama/Llama-3.1-70B-Instruct",
        "--served-model-name=llama-3.1-70b",
        "--host=0.0.0.0",
        "--port=8000",
        "--quantization=fp8",
        "--kv-cache-dtype=fp8",
        "--tensor-parallel-size=2",
        "--max-num-seqs=256",
        "--max-model-len=32768",
        "--gpu-memory-utilization=0.545358",
        "--kv-cache-memory-bytes=5844000000",
    ]
    served = {argument for port in (8001, 8002) for argument in told[port]["argv"]}
    assert "--served-model-name=llama-3.1-8b" in served
    assert "all 4 answer" in said


def test_sglang_is_started_by_its_module(machine):
    machine.run_until_all_answer(script(Target.SGLANG, node="beta"))
    told = machine.told()
    assert told[8006]["argv"] == [
        "-m",
        "sglang.launch_server",
        "--model-path=/models/canary",
        "--served-model-name=canary",
        "--host=0.0.0.0",
        "--port=8006",
        "--max-running-requests=256",
        "--mem-fraction-static=0.866072",
    ]
    assert told[8006]["env"]["CUDA_VISIBLE_DEVICES"] == "3"


def test_with_kvcached_nothing_is_fixed(machine):
    machine.run_until_all_answer(script(settings=EmitSettings(memory=Memory.KVCACHED)))
    for engine in machine.told().values():
        assert engine["env"]["ENABLE_KVCACHED"] == "true"
        assert not any("memory" in argument for argument in engine["argv"])
    names = [engine["env"]["KVCACHED_IPC_NAME"] for engine in machine.told().values()]
    assert sorted(names) == [
        "llama-3-1-70b",
        "llama-3-1-8b",
        "llama-3-1-8b-2",
        "qwen-qwen2-5-7b-instruct",
    ]


def test_an_engine_that_ends_at_once_is_a_loud_failure(machine):
    running = machine.start(script(), DYING="8001")
    _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "llama-3-1-8b ended before it answered" in said
    assert "no memory left, says the engine" in said
    assert 8002 not in machine.told(), "the next wave must not start"


@pytest.mark.parametrize("port", ["8000", "8004"])
def test_a_port_that_is_in_use_is_a_loud_failure_before_anything_starts(machine, port):
    running = machine.start(script(), TAKEN=port)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use already" in said
    assert "--base-port" in said
    assert not machine.told()


def test_what_answers_in_place_of_an_engine_that_ended_is_not_taken_for_it(machine):
    running = machine.start(script(), DYING="8001", TAKEN_LATER="8001")
    _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "llama-3-1-8b ended" in said
    assert "llama-3-1-8b answers" not in said
    assert 8002 not in machine.told(), "the next wave must not start"


@pytest.mark.skipif(not shutil.which("curl"), reason="left out: curl is not installed")
@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"])
def test_whatever_listens_on_a_port_is_seen_with_the_real_curl(machine, reply):
    machine.use_real_curl()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_reply_once, args=(listener, reply), daemon=True).start()
        port = listener.getsockname()[1]
        running = machine.start(one_engine(port))
        _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use already" in said
    assert not machine.told()


@pytest.mark.skipif(not shutil.which("curl"), reason="left out: curl is not installed")
def test_a_free_port_is_seen_with_the_real_curl_whatever_proxy_is_set(machine):
    machine.use_real_curl()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    proxy = f"http://127.0.0.1:{port}"
    running = machine.start(one_engine(port), http_proxy=proxy, READY_SECONDS="2")
    _, said = running.communicate(timeout=30)
    assert "m did not answer within 2 seconds" in said
    assert list(machine.told()) == [port]


def one_engine(port):
    gpu = {"name": "g", "memory_gb": 80}
    model = {"name": "m", "size_gb": 10, "load": 1}
    plan = plan_of(json.dumps({"gpus": [gpu], "models": [model]}), {"m": ["g"]})
    return emit(Target.VLLM, *plan, EmitSettings(base_port=port)).files[0].text


def _reply_once(listener, reply):
    connection, _ = listener.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(reply)


def test_an_engine_that_never_answers_is_a_loud_failure(machine):
    running = machine.start(script(), SILENT="8000", READY_SECONDS="2")
    _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "llama-3-1-70b did not answer within 2 seconds" in said


def test_an_engine_that_ends_later_is_said_and_the_others_stay(machine):
    running = machine.start(script(node="beta"))
    said = ""
    while "all 3 answer" not in said:
        said += running.stderr.readline()
    engines = [engine["pid"] for engine in machine.told().values()]
    os.kill(engines[0], 9)
    while "has ended" not in said:
        said += running.stderr.readline()
    assert running.poll() is None
    assert all(os.path.exists(f"/proc/{engine}") for engine in engines[1:])
    running.terminate()
    assert running.wait(30) == 143
    assert not any(_alive(engine) for engine in engines)


def _alive(pid):
    for _ in range(50):
        if not os.path.exists(f"/proc/{pid}"):
            return False
        time.sleep(0.1)
    return True
