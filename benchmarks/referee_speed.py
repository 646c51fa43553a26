"""How fast the referee is: a verdict from the command line, and programs each second.

Usage: python benchmarks/referee_speed.py [--against FOLDER]

FOLDER is another checkout of colocate, such as one of an earlier version. Both are measured in
turns, so that a machine that gets busy meanwhile slows both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1]
COMMAND = "verdict from the command line"
TURNS = 3
"""Turns, of which the quickest counts: others only make it slower."""
WORKERS = 2
"""Programs judged at a time."""
TRIVIAL = """\
def compute_model_placement(gpu_num, models):
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [80.0] * gpu_num
    for model in sorted(models, key=lambda model: -model.model_size):
        gpu = max(range(gpu_num), key=free.__getitem__)
        placement[gpu].append(model)
        free[gpu] -= model.model_size
    return placement
"""
MANY = {"trivial": 12, "composed": 4}
"""Programs of each kind that are judged side by side."""
JUDGE = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from colocate import Referee
source, many, workers = Path(sys.argv[1]).read_text(), int(sys.argv[2]), int(sys.argv[3])
once = {"seeds": 1} if "seeds" in Referee.__dataclass_fields__ else {}  # one run of every case
referee = Referee(**once)
referee.judge_source(source)
started = time.monotonic()
with ThreadPoolExecutor(workers) as pool:
    programs = [f"{source}\\n# {number}\\n" for number in range(many)]
    list(pool.map(referee.judge_source, programs))
print(time.monotonic() - started)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout")
    options = parser.parse_args()
    checkouts = {"now": HERE} | ({"before": options.against} if options.against else {})
    with tempfile.TemporaryDirectory() as folder:
        programs = {"trivial": Path(folder, "trivial.py"), "composed": Path(folder, "composed.py")}
        programs["trivial"].write_text(TRIVIAL, encoding="utf-8")
        programs["composed"].write_text(_composed(), encoding="utf-8")
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(TURNS):
            for name, checkout in checkouts.items():
                score = ["-m", "colocate", "score", programs["trivial"], *_once(checkout)]
                found.setdefault((name, COMMAND), []).append(_timed(score, checkout))
                for kind, many in MANY.items():
                    command = ["-c", JUDGE, programs[kind], str(many), str(WORKERS)]
                    found.setdefault((name, kind), []).append(_timed(command, checkout))
        _print(found)


def _composed() -> str:
    """Return a program that the composer of the lab would write: 35 kB."""
    code = (
        "from colocate.arena.tasks.catalogue import open_task\n"
        "from colocate.lab.proposers.composer.composer import Composer\n"
        "from colocate.lab.messages import Request, Kind\n"
        "from colocate.lab.patches.answer import read_patch\n"
        "from colocate.lab.patches.patch import apply_patch\n"
        "from colocate.lab.program import Program\n"
        "from colocate.arena.verdict import NOTHING, Verdict\n"
        "task = open_task()\n"
        "nothing = Verdict('adrs', NOTHING, NOTHING, ())\n"
        "start = Program(0, 'start', '', task.start_program, nothing)\n"
        "request = Request(Kind.REWRITE, start, (), (), seed=1, number=1, task=task)\n"
        "patch = read_patch(Composer().propose(request).text)\n"
        "print(apply_patch(patch, start.source, task.entry_point).source)\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _once(checkout: Path) -> list[str]:
    """Return the options for one run of every case: the first versions know no others."""
    seeds = (checkout / "src" / "colocate" / "arena" / "seeds.py").exists()
    return ["--seeds", "1"] if seeds else []


def _timed(arguments: list[object], checkout: Path) -> float:
    """Return the seconds that Python takes in a checkout, or those that it prints."""
    command = [sys.executable, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    started = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds = time.monotonic() - started
    own = [line for line in done.stdout.splitlines() if line.replace(".", "", 1).isdecimal()]
    return float(own[-1]) if own else seconds


def _print(found: dict[tuple[str, str], list[float]]) -> None:
    for (name, what), times in sorted(found.items()):
        seconds = min(times)
        rate = (
            f"{MANY[what] / seconds:.2f} programs a second" if what in MANY else f"{seconds:.2f} s"
        )
        print(f"{name:7} {what:30} {rate}")


if __name__ == "__main__":
    main()
