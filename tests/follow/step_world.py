"""A command for `colocate watch --run`: a world in one file, which notes what must never be.

    python step_world.py FOLDER STEP.json

`FOLDER/memory.json` has the GB of every GPU. Steps take a moment, one in ten fails, and a second of
the same sort for the same engine finds everything done.
"""

import fcntl
import json
import random
import sys
import time
from pathlib import Path

HOLDING = {"load", "wait", "switch", "drain", "wake"}


def main():
    folder, step = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    kind, name = step["kind"], f"{step['model']} on {'+'.join(step['gpus'])}"
    with LockedWorld(folder) as world:
        if kind in ("load", "wake"):
            world[name] = step
            note_faults(folder, world)
        elif kind in ("wait", "switch", "drain") and name not in world:
            note(folder, f"{kind} of {name}, which is not there")
    time.sleep(random.uniform(0.0, 0.15))
    if random.random() < 0.1:
        sys.exit(f"{kind} of {name} failed")
    with LockedWorld(folder) as world:
        if kind in ("unload", "sleep"):
            world.pop(name, None)
        note(folder, f"{kind} {name}", "log")


def note_faults(folder, world):
    memory = json.loads((folder / "memory.json").read_text())
    for gpu, limit in memory.items():
        here = [step for step in world.values() if gpu in step["gpus"]]
        if sum(step["held_gb"] for step in here) > limit * (1 + 1e-9):
            note(folder, f"{gpu} is over its memory: {[step['model'] for step in here]}")
        if len({step["model"] for step in here}) < len(here):
            note(folder, f"{gpu} has two engines of one model")


def note(folder, words, file="faults"):
    with (folder / file).open("a") as kept:
        kept.write(f"{words}\n")


class LockedWorld:
    """The world, which nobody else changes meanwhile."""

    def __init__(self, folder):
        self.file = folder / "world.json"

    def __enter__(self):
        self.handle = self.file.open("r+")
        fcntl.flock(self.handle, fcntl.LOCK_EX)
        self.world = json.load(self.handle)
        return self.world

    def __exit__(self, *_):
        self.handle.seek(0)
        self.handle.truncate()
        json.dump(self.world, self.handle)
        self.handle.close()


if __name__ == "__main__":
    main()
