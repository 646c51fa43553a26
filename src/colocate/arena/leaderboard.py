"""Scores side by side, and the scores that the catalogue's strategies are known to have."""

import csv
from collections.abc import Sequence
from importlib import resources
from math import inf

from rich import box
from rich.table import Table

from colocate.arena.score import SOLVER, Score


def score_table(scores: Sequence[Score]) -> Table:
    """Draw one line a strategy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("strategy", overflow="fold", min_width=20)
    for heading in ("score", "ratio", "valid", "proven", "worst case", "its ratio", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        table.add_row(
            score.strategy,
            _shown(score.score, 4),
            _shown(score.ratio, 6),
            f"{score.valid_cases} of {len(score.results)}",
            f"{score.proven_cases}" if score.strategy == SOLVER else "-",
            score.worst.case,
            _shown(score.worst.ratio, 4),
            f"{score.seconds:.3g} s",
        )
    return table


def case_table(score: Score) -> Table:
    """Draw one line a case."""
    table = Table(title=score.strategy, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("case", no_wrap=True)
    for heading in ("pressure", "best known", "ratio", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for result in score.results:
        table.add_row(
            result.case,
            _shown(result.pressure, 6) if result.valid else "failed",
            _shown(result.best_known, 6),
            _shown(result.ratio, 6),
            f"{1000 * result.seconds:.3g} ms",
            result.reason,
        )
    return table


def known_scores() -> dict[str, float]:
    """Return the recorded score on `adrs` of every strategy of the catalogue, with seed 0."""
    text = (resources.files("colocate.arena") / "adrs_scores.csv").read_text(encoding="utf-8")
    return {row["strategy"]: float(row["score"]) for row in csv.DictReader(text.splitlines())}


def _shown(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return "∞" if value == inf else f"{value:.{digits}f}"
