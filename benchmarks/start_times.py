"""How long a newcomer waits: first start, later starts, the whole catalogue. Seconds."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "fleet.yaml"
COMPILE_ALL = """
from colocate import STRATEGIES, load_suite, place
for name in STRATEGIES:
    place(load_suite("adrs").cases[0].problem, name)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-m", "colocate"]
        plan = [*command, "plan", str(EXAMPLE)]
        _report("colocate plan, nothing compiled", plan, environment, 1)
        _report(
            "the rest of the package compiled", [sys.executable, "-c", COMPILE_ALL], environment, 1
        )
        _report("colocate --help", [*command, "--help"], environment, 5)
        _report("colocate plan, compiled", plan, environment, 5)
        everything = [*command, "bench", "adrs", "--strategy", "all"]
        _report("colocate bench adrs --strategy all", everything, environment, 1)


def _report(what: str, command: list[str], environment: dict[str, str], times: int) -> None:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    print(f"{what:40s} {sorted(seconds)[len(seconds) // 2]:6.2f}")


if __name__ == "__main__":
    main()
