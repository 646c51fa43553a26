"""Programs that stand in for engines: they write down what they were told, and answer."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ENGINE = f"""#!{sys.executable}
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["RECORDS"])


def finish(*_):
    time.sleep(0.5)
    (folder / f"{{port}}.finished").write_text(" ".join(p.name for p in folder.glob("daemon-*")))
    sys.exit(0)


if "DRAINS" in os.environ:
    signal.signal(signal.SIGTERM, finish)
(port,) = [word.removeprefix("--port=") for word in sys.argv if word.startswith("--port=")]
ready = sorted(path.stem for path in folder.glob("*.ready"))
told = {{"argv": sys.argv[1:], "env": dict(os.environ), "ready": ready, "pid": os.getpid()}}
(folder / f"{{port}}.json").write_text(json.dumps(told))
if port in os.environ.get("DYING", "").split():
    sys.exit("no memory left, says the engine")
time.sleep(0.8)
if port not in os.environ.get("SILENT", "").split():
    (folder / f"{{port}}.ready").touch()
time.sleep(300)
"""
CURL = f"""#!{sys.executable}
import json, os, pathlib, re, sys, time
records = pathlib.Path(os.environ["RECORDS"])
port = re.search(r":(\\d+)/health$", sys.argv[-1]).group(1)


def alive():
    record = (records / f"{{port}}.json").read_text()
    stat = pathlib.Path("/proc", str(json.loads(record)["pid"]) if record else "self", "stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


started = (records / f"{{port}}.json").exists()
ready = (records / f"{{port}}.ready").exists() and alive()
taken = port in os.environ.get("TAKEN", "").split()
late = port in os.environ.get("TAKEN_LATER", "").split() and started
while late and alive():  # it answers once the engine has ended
    time.sleep(0.05)
sys.exit(0 if ready or taken or late else 7)
"""
SMI = f"""#!{sys.executable}
import os, pathlib, sys
records = pathlib.Path(os.environ["RECORDS"])
numbers = [word.removeprefix("--id=") for word in sys.argv if word.startswith("--id=")]
assert "--query-gpu=memory.free" in sys.argv
names = [f"gpu{{number}}.free" for ids in numbers for number in ids.split(",")]
for path in [records / name for name in names] or records.glob("gpu*.free"):
    print(path.read_text())
"""
CONTROL = f"""#!{sys.executable}
import os, pathlib, sys
pipes, records = (pathlib.Path(os.environ[name]) for name in ("CUDA_MPS_PIPE_DIRECTORY", "RECORDS"))
daemon = records / f"daemon-{{pipes.name}}"
if sys.argv[1:] == ["-d"]:
    if daemon.exists():
        sys.exit("An instance of this daemon is already running")
    if "BROKEN" in os.environ:
        pathlib.Path(os.environ["CUDA_MPS_LOG_DIRECTORY"], "control.log").write_text("no GPU")
        sys.exit(1)
    assert os.path.isabs(os.environ["CUDA_MPS_LOG_DIRECTORY"])
    assert not list(pipes.iterdir()), "what a killed daemon left is in the way"
    daemon.write_text(str(pipes))
    (pipes / "control").touch()
    said = "start"
elif not daemon.exists():
    sys.exit("Cannot find MPS control daemon process")
else:
    said = sys.stdin.read().strip()
    if said.startswith("quit"):
        daemon.unlink()
if said != "get_server_list":
    with (records / "mps.log").open("a") as log:
        print(said.split()[0], pipes.name, file=log)
"""
LSCPU = """#!/bin/sh
printf '%s\\n' '# CPU,CORE,NODE' 0,0,0 1,1,0 2,2,1 3,3,1 4,0,0 5,1,0 6,2,1 7,3,1
"""
TASKSET = """#!/bin/sh
if [ "$2" = --pid ]; then
  echo "pid $3's current affinity list: $CPUS"
else
  export PINNED_TO="$2"
  shift 2
  exec "$@"
fi
"""


class Machine:
    """A folder with fake programs, in which scripts are run for real."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records"
        self.work = folder / "work"
        (folder / "bin").mkdir()
        self.records.mkdir()
        self.work.mkdir()
        for name, text in (("vllm", ENGINE), ("python3", ENGINE), ("curl", CURL)):
            self._add(name, text)

    def use_real_curl(self) -> None:
        (self.folder / "bin" / "curl").unlink()

    def add_nvidia_smi(self, free: dict[int, int]) -> None:
        """Let GPUs report MiB that are free, by their numbers."""
        self._add("nvidia-smi", SMI)
        for number, amount in free.items():
            (self.records / f"gpu{number}.free").write_text(str(amount))

    def add_mps(self) -> None:
        self._add("nvidia-cuda-mps-control", CONTROL)

    def add_cores(self) -> None:
        """Have four cores of two threads each, on two NUMA nodes; CPUS says which may be used."""
        self._add("lscpu", LSCPU)
        self._add("taskset", TASKSET)

    def events_of_mps(self) -> list[str]:
        """Return what daemons were told, such as `start gpu-0`."""
        log = self.records / "mps.log"
        return log.read_text().splitlines() if log.exists() else []

    def _add(self, name: str, text: str) -> None:
        (self.folder / "bin" / name).write_text(text)
        (self.folder / "bin" / name).chmod(0o755)

    def do(self, script: str, *words: str, **environment: str) -> tuple[int, str]:
        """Run a script with words to its end; return its status and what it said."""
        running = self.start(script, *words, **environment)
        out, said = running.communicate(timeout=60)
        return running.returncode, out + said

    def start(self, script: str, *words: str, **environment: str) -> subprocess.Popen[str]:
        path = self.folder / "serve.sh"
        path.write_text(script, encoding="utf-8")
        variables = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RECORDS": str(self.records),
            "HOME": str(self.work),
            "LANG": "C.UTF-8",
            "READY_SECONDS": "30",
            **environment,
        }
        return subprocess.Popen(
            ["bash", path, *words],
            cwd=self.work,
            env=variables,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run_until_all_answer(self, script: str) -> list[str]:
        """Start everything, then interrupt it; return what the script said."""
        running = self.start(script)
        said = []
        for line in running.stderr:
            said.append(line.rstrip())
            if line.startswith("all "):
                running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 143, said
        return said

    def told(self) -> dict[int, dict]:
        """Return what every engine was told, by port."""
        paths = sorted(self.records.glob("*.json"))
        return {int(path.stem): json.loads(path.read_text("utf-8")) for path in paths}
