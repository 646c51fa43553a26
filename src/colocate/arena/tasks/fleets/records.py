"""What is known about the cases of fleet tasks: placements, and bounds with their certificates."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from colocate.problem.certificate import Certificate

PLANTED, SOLVED = "planted", "solve"
"""What found a placement: whoever made the case, or the solver."""


@dataclass(frozen=True)
class FleetRecord:
    """What is known about one case.

    Parameters
    ----------
    case, digest
        Its name, and that of its problem.
    value
        Of the best placement known, by the independent checker.
    who
        What found that.
    placement
        GPU names by model name.
    certificate
        The bound, and its proof.
    """

    case: str
    digest: str
    value: float
    who: str
    placement: Mapping[str, list[str]]
    certificate: Certificate

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        fields = {name: getattr(self, name) for name in ("case", "digest", "value", "who")}
        proof = {"certificate": self.certificate.as_dict()}
        return {**fields, "placement": dict(self.placement), **proof}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "FleetRecord":
        """Read what `as_dict` wrote."""
        certificate = Certificate.from_dict(data["certificate"])
        return cls(**{**data, "certificate": certificate})


def record_path(task: str) -> Path:
    """Return the path of the record of a task."""
    return Path(str(resources.files("colocate.arena"))) / "best_known" / f"{task}.json"


def read_records(task: str, path: Path | None = None) -> dict[str, FleetRecord]:
    """Return the records of a task by case name."""
    path = path or record_path(task)
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {row["case"]: FleetRecord.from_dict(row) for row in rows}


def write_records(task: str, records: Mapping[str, FleetRecord], path: Path | None = None) -> None:
    """Write the records of a task, a line for each case.

    Parameters
    ----------
    task
        Its name.
    records
        All of them, by case name.
    path
        The file; by default the one in the package.
    """
    path = path or record_path(task)
    lines = ",\n".join(json.dumps(record.as_dict()) for record in records.values())
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    os.replace(unfinished, path)
