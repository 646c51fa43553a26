"""How long a newcomer waits: first start, later starts, the whole catalogue.

Seconds, and beside them the seconds of processor time of all processes, which others on the same
machine hardly change. Python keeps its bytecode, as it does for a package that is installed.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "fleet.yaml"


def main() -> None:
    command = [sys.executable, "-m", "colocate"]
    plan = [*command, "plan", str(EXAMPLE)]
    everything = [*command, "bench", "adrs", "--strategy", "all"]
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (_keeping_all_in(folder, name) for name in "abc")
        subprocess.run(plan, env=first, check=True, capture_output=True)  # for the bytecode
        _report("colocate plan, nothing compiled", plan, second, 1)
        _report("bench adrs --strategy all, not compiled", everything, third, 1)
        _report("bench adrs --strategy all, compiled", everything, third, 3)
        _report("colocate --help", [*command, "--help"], third, 5)
        _report("colocate plan, compiled", plan, second, 5)
        _report("colocate plan --levels 1, compiled", [*plan, "--levels", "1"], second, 5)


def _keeping_all_in(folder: str, name: str) -> dict[str, str]:
    bytecode = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "PYTHONDONTWRITEBYTECODE": ""}
    return {**os.environ, **bytecode, "NUMBA_CACHE_DIR": f"{folder}/{name}"}


def _report(what: str, command: list[str], environment: dict[str, str], times: int) -> None:
    measured = []
    for _ in range(times):
        started, before = time.perf_counter(), _processor_seconds()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        measured.append((time.perf_counter() - started, _processor_seconds() - before))
    seconds, processor = (sorted(each)[times // 2] for each in zip(*measured, strict=True))
    print(f"{what:40s} {seconds:6.2f} {processor:6.2f}", flush=True)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
