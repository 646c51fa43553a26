"""Measure every strategy on `adrs` with seed 0 and write the scores that the catalogue shows."""

import csv
from importlib import resources
from pathlib import Path

from colocate.arena.strategies.strategy_score import score_strategy
from colocate.arena.suites import load_suite
from colocate.solver.strategies import STRATEGIES


def main() -> None:
    suite = load_suite("adrs")
    path = Path(str(resources.files("colocate.arena"))) / "adrs_scores.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["strategy", "score"])
        for name in STRATEGIES:
            writer.writerow([name, f"{score_strategy(suite, name).score:.6f}"])
    print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
