"""The lab offline, from the greedy start to the proven optimum, for several seeds.

Usage: python benchmarks/lab_seeds.py [--seeds N] [--generations G]

Runs the seeds from 1 to N. Fails if one does not reach it.
"""

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.start import start_program
from colocate.lab.lab_folder import local_evaluation, make_lab
from colocate.lab.loop import Lab
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.settings import Budget, Settings
from colocate.lab.watch import ladder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--generations", type=int, default=60)
    options = parser.parse_args()
    print("| seed | generations | programs | score | minutes | ladder |\n|---|---|---|---|---|---|")
    reached = [_reached(seed, options.generations) for seed in range(1, options.seeds + 1)]
    sys.exit(not all(reached))


def _reached(seed: int, generations: int) -> bool:
    settings = Settings(seed=seed)
    evaluation = local_evaluation(settings, os.cpu_count() or 1)
    contest = open_task(settings.task).contest()
    started = perf_counter()
    with (
        TemporaryDirectory() as folder,
        make_lab(Path(folder) / "lab", settings, start_program(), evaluation) as archive,
    ):
        lab = Lab(archive, settings, contest, evaluation, Composer())
        lab.run(Budget(generations), lambda generation, best: None)
        programs = archive.programs()
    rungs = ladder(programs)
    climb = ", ".join(f"{rung.score:.4f}" for rung in rungs)
    minutes = (perf_counter() - started) / 60
    last = rungs[-1]
    cells = (seed, last.generation, len(programs), f"{last.score:.6f}", f"{minutes:.1f}", climb)
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return bool(last.ratio == 1.0)


if __name__ == "__main__":
    main()
