"""What was simulated of groups of engines before anyone measured them, beside what was measured.

    python -m benchmarks.written_before                              all groups
    python -m benchmarks.written_before --predict PLAN.json OUT.csv  what a plan will find
    ... --predict PLAN.json OUT.csv LONE.csv                         from these lone steps only

A prediction is a replay of the very requests that the harness will draw. It is committed before the
measurement, so it cannot have been fitted to it.
"""

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any
from zlib import crc32

from benchmarks.latency_law import DATA, SETS, Row, predict_group, read
from benchmarks.simulator import FIGURES, simulated_group

WRITTEN_BEFORE = {
    "few slots": "2026-11-16_cliffs",
    "long prompts": "2026-11-16_long",
    "full caches": "2026-11-18_pools",
    "full caches again": "2026-11-18_second_pools",
    "alone for a minute": "2026-11-18_minutes",
}
"""Groups that were simulated before anyone measured them: engines with few slots, whose requests
wait; prompts of 2,048 to 16,384 tokens; and engines whose cache is a small pool of blocks, so that
requests wait for it and lose it. The latter twice: in the first measurement every prompt of a new
length took 50 to 80 ms to prepare, which no engine would. The last are lone engines that are read
for a minute, so that a p99 is not one request. Each has a file of what was simulated and, as soon
as somebody has measured it, one of what was measured."""


COLUMNS = (
    *("sharing", "group", "member", "model", *FIGURES, "saturated"),
    *("preemptions", "finished"),
)
"""Of a table of predictions."""


def errors_before(prefix: str) -> Iterator[tuple[Row, dict[str, float]]]:
    """Yield what was measured of groups, and how far the predictions before it were off."""
    measured, predicted = (read(f"{prefix}_{part}.csv") for part in ("groups", "predictions"))
    for row, before in zip(measured, predicted, strict=True):
        assert (row["sharing"], row["group"]) == (before["sharing"], before["group"])
        yield row, {name: float(before[name]) / float(row[name]) - 1.0 for name in FIGURES}


def written_before(title: str, prefix: str) -> None:
    """Print how far predictions were off that were committed before the measurement."""
    print(f"\n{title}, written down before anyone measured: measured, and the error")
    for row, errors in errors_before(prefix):
        told = ", ".join(
            f"{name[:-3]} {float(row[name]):.1f} {error:+.1%}" for name, error in errors.items()
        )
        print(
            f"    {row['sharing']:7} {row['group'].partition(': ')[2]:42} {row['model']:14} {told}"
        )
    for sharing, name in product(("alone", "slices", "mps"), FIGURES):
        found = [errors for row, errors in errors_before(prefix) if row["sharing"] == sharing]
        sizes = [abs(errors[name]) for errors in found]
        if sizes:
            told = f"median {median(sizes):.1%}, worst {max(sizes):.1%}"
            print(f"    {sharing:7} {len(sizes)} engines, {name[:-3]:9} {told}")


def write_predictions(plan: str, out: str, *lone_files: str) -> None:
    """Write what is simulated of all groups of a plan of readings, before anyone measures them.

    Parameters
    ----------
    plan, out
        Paths of the plan and of the table.
    lone_files
        Names of files of lone steps; all that there are by default.
    """
    files = lone_files or [file for _, *files in SETS[1:] for file in files]
    lone = [row for file in files for row in read(file)]
    with Path(out).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        readings = json.loads(Path(plan).read_text(encoding="utf-8"))["readings"]
        for sharing, reading in product(("slices", "mps"), readings):
            serves = "rate" in reading["members"][0]
            if serves and sharing in reading.get("modes", ("slices", "mps")):
                writer.writerows(_predicted(sharing, reading, lone))


def _predicted(
    sharing: str, reading: Mapping[str, Any], lone: Sequence[Row]
) -> Iterator[list[Any]]:
    """Yield a row for each engine of a reading: the very requests that the harness will draw."""
    way = "alone" if len(reading["members"]) == 1 else sharing
    group = [{"sharing": way, **member} for member in reading["members"]]
    seed = crc32(reading["name"].encode())
    figures = simulated_group(group, lone, reading["seconds"], [seed])
    law = predict_group(group, way, lone)
    for number, (found, prediction) in enumerate(zip(figures, law, strict=True)):
        told = [f"{found[0][name]:.3f}" for name in FIGURES]
        yield [
            *(way, reading["name"], number, group[number]["model"]),
            *told,
            prediction.shared.saturated,
            *(int(found[0][name]) for name in ("preemptions", "finished")),
        ]


def main(arguments: Sequence[str]) -> None:
    if "--predict" in arguments:
        write_predictions(*arguments[1:])
        return
    for title, prefix in WRITTEN_BEFORE.items():
        if (DATA / f"{prefix}_groups.csv").exists():
            written_before(title, prefix)


if __name__ == "__main__":
    main(sys.argv[1:])
