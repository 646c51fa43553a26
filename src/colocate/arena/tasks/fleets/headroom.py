"""How much room fleet tasks leave: what several ways reach, as it was measured and stored."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from colocate.arena.contest import Contest

CLEARLY = 0.03
"""What composed programs must leave to the bound on hidden cases, for a task to have room."""


@dataclass(frozen=True)
class HeadroomRow:
    """What one way reaches.

    Parameters
    ----------
    who
        The way: ``start``, ``composer``, or ``solve`` with its seconds.
    public, hidden
        The mean over the cases of bound / value, 0 for a failed one.
    values
        The value of every hidden case; None for a failed one.
    """

    who: str
    public: float
    hidden: float
    values: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Headroom:
    """What was measured on a task.

    Parameters
    ----------
    task, digest
        Its name, and the digest of its cases.
    generations, programs
        How long the composer searched, and how many programs it wrote.
    composition
        The best of these: starts, each, finish and seed as text.
    reached
        What each way reaches.
    """

    task: str
    digest: str
    generations: int
    programs: int
    composition: Mapping[str, str]
    reached: tuple[HeadroomRow, ...]

    def by(self, who: str) -> HeadroomRow:
        """Return what one way reaches."""
        return next(each for each in self.reached if each.who == who)

    @property
    def room(self) -> float:
        """What the best composed program leaves to the bound on hidden cases."""
        return 1.0 - self.by("composer").hidden


def cases_digest(contest: Contest) -> str:
    """Return a short hash of all cases, which neither optima nor rules change."""
    return sha256("".join(q.digest for q in contest.questions).encode()).hexdigest()[:16]


def headroom_path() -> Path:
    """Return the path of the stored measurements."""
    return Path(str(resources.files("colocate.arena"))) / "best_known" / "headroom.json"


def read_headroom(path: Path | None = None) -> dict[str, Headroom]:
    """Return the stored measurements by task."""
    path = path or headroom_path()
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {row["task"]: _read(row) for row in rows}


def write_headroom(found: Headroom, path: Path | None = None) -> None:
    """Store the measurements of a task in place of older ones."""
    path = path or headroom_path()
    kept = read_headroom(path) | {found.task: found}
    text = json.dumps([asdict(kept[task]) for task in sorted(kept)], indent=1)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(f"{text}\n", encoding="utf-8")
    os.replace(unfinished, path)


def _read(row: dict[str, Any]) -> Headroom:
    reached = tuple(
        HeadroomRow(**{**each, "values": tuple(each["values"])}) for each in row["reached"]
    )
    return Headroom(**{**row, "reached": reached})
