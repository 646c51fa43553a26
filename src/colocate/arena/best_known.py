"""The best values known for the cases of each suite: a record that only ever improves."""

import csv
import os
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from colocate.arena.suites import Suite
from colocate.errors import InputError

FIELDS = ("case", "digest", "value", "bound", "who")


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

    def improved(self, value: float, bound: float, who: str) -> "Record":
        """Return the better of this record and new findings, each figure by itself.

        A value that beats the old one by less than rounding changes nothing.
        """
        better = replace(self, bound=max(self.bound, bound))
        if value < self.value * (1 - 1e-12):
            better = replace(better, value=value, who=who)
        return better


def best_known_path(suite: str) -> Path:
    """Return where the record of a suite is kept."""
    return Path(str(resources.files("colocate.arena"))) / "best_known" / f"{suite}.csv"


def read_best_known(suite: Suite, path: Path | None = None) -> dict[str, Record]:
    """Return the records of a suite by case name; none for cases that were never solved."""
    path = path or best_known_path(suite.name)
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            Record(row["case"], row["digest"], float(row["value"]), float(row["bound"]), row["who"])
            for row in csv.DictReader(file)
        ]
    digests = {case.name: case.problem.digest for case in suite.cases}
    for record in rows:
        digest = digests.get(record.case, record.digest)
        if record.digest != digest:
            raise InputError(
                f"{path}: {record.case}: digest={record.digest}, "
                f"must be {digest}: it is the record of another case"
            )
    return {record.case: record for record in rows}


def write_best_known(suite: Suite, records: dict[str, Record], path: Path | None = None) -> None:
    """Merge records into the file of a suite; a figure there is replaced by a better one only."""
    path = path or best_known_path(suite.name)
    kept = read_best_known(suite, path)
    for name, new in records.items():
        old = kept.get(name, new)
        kept[name] = old.improved(new.value, new.bound, new.who)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for case in suite.cases:
            if case.name in kept:
                row = kept[case.name]
                writer.writerow([row.case, row.digest, repr(row.value), repr(row.bound), row.who])
    os.replace(unfinished, path)
