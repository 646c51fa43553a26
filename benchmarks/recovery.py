"""Random fleets whose changes are disturbed, and whether each recovers or says why not.

    python -m benchmarks.recovery                     a thousand fleets, into benchmarks/data
    python -m benchmarks.recovery 1000 4000           others, by their seeds, to the screen

Each fleet has unequal GPUs on several machines, models with shards, replicas, pins, groups that are
kept apart or together, and some that may sleep. It is planned, gets other demand, and perhaps
loses, drains or gains a GPU. The steps to the new plan are carried out by a plain world of
`tests/replan/recovery`, which shares no code with what finds them: steps take random times, some
fail and leave anything behind, the controller is killed, and a GPU may be lost half-way. After each
event the world checks memory, models that must be apart, engines of one model on one GPU, and that
no model has fewer engines than the steps promise. Where the product says that nothing fits, or that
no order keeps all models serving, and the fleet has up to 5 models and 3 GPUs, everything is tried.
"""

import csv
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from tests.replan.recovery.story import Recovery, recovery_of

STORED = Path(__file__).parent / "data" / "recovery.csv"
FLEETS = 1000
COUNTED = ("steps", "failures", "kills", "interruptions", "claims", "confirmed", "refuted")


def main() -> None:
    """Run the fleets, and store or show what became of them."""
    chosen = [int(each) for each in sys.argv[1:]] or [0, FLEETS]
    begin = process_time()
    found = [recovery_of(seed) for seed in range(*chosen)]
    if len(sys.argv) == 1:
        _store(found)
    for line in _lines(found):
        print(line)
    print(f"{process_time() - begin:.0f} s of processor time")
    for each in found:
        if each.outcome in ("broken", "stuck") or each.refuted:
            print(f"seed {each.seed}: {each.outcome}: {each.reason}")


def _store(found: Sequence[Recovery]) -> None:
    with STORED.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0].as_row()), lineterminator="\n")
        writer.writeheader()
        writer.writerows(each.as_row() for each in found)


def _lines(found: Sequence[Recovery]) -> list[str]:
    """Return a table: a row for each outcome, small and large fleets apart."""
    lines = ["| fleets | outcome | number | " + " | ".join(COUNTED) + " |"]
    lines.append("|---|---|" + "--:|" * (len(COUNTED) + 1))
    groups = Counter((not each.small, each.outcome) for each in found)
    for (large, outcome), number in sorted(groups.items()):
        rows = [each for each in found if (not each.small, each.outcome) == (large, outcome)]
        sums = " | ".join(str(sum(getattr(each, name) for each in rows)) for name in COUNTED)
        lines.append(f"| {'large' if large else 'small'} | {outcome} | {number} | {sums} |")
    return lines


if __name__ == "__main__":
    main()
