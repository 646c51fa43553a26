"""Programs that stand in for engines: they write down what they were told, and answer."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ENGINE = f"""#!{sys.executable}
import json, os, pathlib, sys, time
folder = pathlib.Path(os.environ["RECORDS"])
(port,) = [word.removeprefix("--port=") for word in sys.argv if word.startswith("--port=")]
ready = sorted(path.stem for path in folder.glob("*.ready"))
told = {{"argv": sys.argv[1:], "env": dict(os.environ), "ready": ready, "pid": os.getpid()}}
(folder / f"{{port}}.json").write_text(json.dumps(told))
if port in os.environ.get("DYING", "").split():
    sys.exit("no memory left, says the engine")
time.sleep(0.2)
if port not in os.environ.get("SILENT", "").split():
    (folder / f"{{port}}.ready").touch()
time.sleep(60)
"""
CURL = f"""#!{sys.executable}
import json, os, pathlib, re, sys, time
port = re.search(r":(\\d+)/health$", sys.argv[-1]).group(1)
ready = pathlib.Path(os.environ["RECORDS"], f"{{port}}.ready").exists()
started = pathlib.Path(os.environ["RECORDS"], f"{{port}}.json").exists()
taken = port in os.environ.get("TAKEN", "").split()
late = port in os.environ.get("TAKEN_LATER", "").split() and started
while late:  # it answers once the engine has ended
    record = pathlib.Path(os.environ["RECORDS"], f"{{port}}.json").read_text()
    stat = pathlib.Path("/proc", str(json.loads(record)["pid"]) if record else "self", "stat")
    if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
        break
    time.sleep(0.05)
sys.exit(0 if ready or taken or late else 7)
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
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)

    def use_real_curl(self) -> None:
        (self.folder / "bin" / "curl").unlink()

    def start(self, script: str, **environment: str) -> subprocess.Popen[str]:
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
            ["bash", path],
            cwd=self.work,
            env=variables,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
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
