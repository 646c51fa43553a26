"""How long a newcomer waits: first start, later starts, the whole catalogue. Seconds."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "fleet.yaml"
EVERY_STRATEGY = """
from colocate import STRATEGIES, load_suite, place
for case in ("adrs", "tight"):
    for name in STRATEGIES:
        place(load_suite(case).cases[0].problem, name)
"""


def main() -> None:
    command = [sys.executable, "-m", "colocate"]
    plan = [*command, "plan", str(EXAMPLE)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        _report("colocate plan, nothing compiled", plan, environment, 1)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        everything = [sys.executable, "-c", EVERY_STRATEGY]
        _report("every strategy, nothing compiled", everything, environment, 1)
        _report("every strategy, compiled", everything, environment, 1)
        _report("colocate --help", [*command, "--help"], environment, 5)
        _report("colocate plan, compiled", plan, environment, 5)
        _report(
            "colocate bench adrs --strategy all",
            [*command, "bench", "adrs", "--strategy", "all"],
            environment,
            1,
        )


def _report(what: str, command: list[str], environment: dict[str, str], times: int) -> None:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    print(f"{what:40s} {sorted(seconds)[len(seconds) // 2]:6.2f}")


if __name__ == "__main__":
    main()
