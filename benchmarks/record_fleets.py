"""Record what is known about the cases of fleet tasks, with certificates that the checker confirms.

    python benchmarks/record_fleets.py SECONDS [TASK ...]

Optima of planted cases are known as they are made. All other cases are solved; a record that is
proven, or that another search does not improve, stays.
"""

import sys

from colocate.arena.tasks.fleets.fleet import FLEETS, HIDDEN, fleet_cases
from colocate.arena.tasks.fleets.planted import FleetCase
from colocate.arena.tasks.fleets.records import (
    PLANTED,
    SOLVED,
    FleetRecord,
    read_records,
    write_records,
)
from colocate.arena.tasks.fleets.solving import solved_case
from colocate.problem.problem import Problem
from colocate.problem.tolerance import RECORDED_AS_PROVEN
from colocate.problem.verify_bound import refuted


def main() -> None:
    seconds = float(sys.argv[1])
    for task in sys.argv[2:] or FLEETS:
        known = read_records(task)
        records = {}
        for part in ("public", HIDDEN):
            for case, made in fleet_cases(task, part).items():
                records[case] = _record(case, made, known.get(case), seconds)
                found = records[case]
                figures = f"value {found.value:.9f}  bound {found.certificate.bound:.9f}"
                print(f"{task} {case}  {figures}  {found.who}", flush=True)
                write_records(task, {**known, **records})
        write_records(task, records)


def _record(
    case: str, made: FleetCase | Problem, known: FleetRecord | None, seconds: float
) -> FleetRecord:
    if isinstance(made, FleetCase):
        assert not refuted(made.problem, made.certificate)
        return _of(case, made, PLANTED)
    if known and known.digest == made.digest and _proven(known):
        return known
    found = _of(case, solved_case(made, seconds), SOLVED)
    if not known or known.digest != made.digest:
        return found
    better = found if found.value < known.value else known
    stronger = max(found.certificate, known.certificate, key=lambda each: each.bound)
    return FleetRecord(case, made.digest, better.value, better.who, better.placement, stronger)


def _of(case: str, made: FleetCase, who: str) -> FleetRecord:
    return FleetRecord(case, made.problem.digest, made.value, who, made.placement, made.certificate)


def _proven(record: FleetRecord) -> bool:
    return record.value <= record.certificate.bound * (1 + RECORDED_AS_PROVEN)


if __name__ == "__main__":
    main()
