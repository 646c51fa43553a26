"""How long a newcomer waits: first start, later starts, the whole catalogue. Seconds."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "fleet.yaml"


def main() -> None:
    command = [sys.executable, "-m", "colocate"]
    plan = [*command, "plan", str(EXAMPLE)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        _report("colocate plan, nothing compiled", plan, environment, 1)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        everything = [*command, "bench", "adrs", "--strategy", "all"]
        _report("bench adrs --strategy all, not compiled", everything, environment, 1)
        _report("bench adrs --strategy all, compiled", everything, environment, 3)
        _report("colocate --help", [*command, "--help"], environment, 5)
        _report("colocate plan, compiled", plan, environment, 5)


def _report(what: str, command: list[str], environment: dict[str, str], times: int) -> None:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    print(f"{what:40s} {sorted(seconds)[len(seconds) // 2]:6.2f}")


if __name__ == "__main__":
    main()
