"""The best values known for the cases of each suite: a record that only ever improves."""

import csv
import os
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from colocate.arena.suites import Suite
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.tolerance import ROUNDING

FIELDS = ("case", "digest", "value", "bound", "who")
LOSSES = ("lost", "lost_bound")
"""Further columns where models may sleep."""


@dataclass(frozen=True)
class Record:
    """What is known about one case."""

    case: str
    digest: str
    value: float
    """The lowest pressure of a checked placement."""
    bound: float
    """The highest proven lower bound."""
    who: str
    """What found the value."""
    lost: float = 0.0
    """The loss of that placement by leaving models asleep: the least known."""
    lost_bound: float = 0.0
    """The highest proven lower bound on the loss."""

    def improved(self, new: "Record") -> "Record":
        """Return the better of this record and new findings, each figure by itself.

        A value that beats the old one by less than rounding changes nothing. A smaller loss is
        better at any pressure. With a loss, a bound on the pressure holds only for the models that
        are awake, so it stays with the value that it was found with.
        """
        better = replace(self, lost_bound=max(self.lost_bound, new.lost_bound))
        if _less(new.lost, self.lost):
            return replace(new, lost_bound=better.lost_bound)
        if _less(self.lost, new.lost):
            return better
        bound = new.bound if new.lost else max(self.bound, new.bound)
        if _less(new.value, self.value):
            return replace(better, value=new.value, who=new.who, bound=bound)
        return better if new.lost else replace(better, bound=bound)


def _less(new: float, old: float) -> bool:
    return new < old * (1 - ROUNDING)


def best_known_path(suite: str) -> Path:
    """Return the path of a suite's record."""
    return Path(str(resources.files("colocate.arena"))) / "best_known" / f"{suite}.csv"


def read_best_known(suite: Suite, path: Path | None = None) -> dict[str, Record]:
    """Return the records of a suite by case name, without the cases that were never solved."""
    path = path or best_known_path(suite.name)
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            Record(
                row["case"],
                row["digest"],
                float(row["value"]),
                float(row["bound"]),
                row["who"],
                *(float(row[field]) for field in LOSSES if field in row),
            )
            for row in csv.DictReader(file)
        ]
    digests = {case.name: case.problem.digest for case in suite.cases}
    for record in rows:
        digest = digests.get(record.case, record.digest)
        if record.digest != digest:
            fault = Fault(
                expected=f"{digest}, or it is the record of another case",
                value=record.digest,
                path=(record.case, "digest"),
                file=str(path),
            )
            raise InputError(fault)
    return {record.case: record for record in rows}


def write_best_known(suite: Suite, records: dict[str, Record], path: Path | None = None) -> None:
    """Merge records into the file of a suite; only better figures replace the old ones.

    Parameters
    ----------
    suite
        The suite that the file belongs to.
    records
        New findings, by case.
    path
        The file; by default the one in the package.
    """
    path = path or best_known_path(suite.name)
    kept = read_best_known(suite, path)
    for name, new in records.items():
        kept[name] = kept.get(name, new).improved(new)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        losses = LOSSES if any(case.problem.sleepers for case in suite.cases) else ()
        writer.writerow(FIELDS + losses)
        for case in suite.cases:
            if case.name in kept:
                row = kept[case.name]
                numbers = [repr(getattr(row, field)) for field in losses]
                plain = [row.case, row.digest, repr(row.value), repr(row.bound), row.who]
                writer.writerow(plain + numbers)
    os.replace(unfinished, path)
