"""Tables of strategies' scores, and the recorded scores of the catalogue."""

import csv
from collections.abc import Sequence
from importlib import resources

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.arena.reasons import FailedCase, reason_lines
from colocate.arena.strategies.strategy_score import SOLVER, Score
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import fixed, milliseconds

SCORES = (
    Column("strategy", words=True),
    Column("score"),
    Column("ratio"),
    Column("valid"),
    Column("proven", dispensable=1),
    Column("worst case", dispensable=3),
    Column("its ratio", dispensable=4),
    Column("time", dispensable=2),
)
CASES = (
    Column("case", words=True),
    Column("pressure"),
    Column("best known", dispensable=2),
    Column("ratio"),
    Column("time", dispensable=1),
)


def score_table(scores: Sequence[Score], width: int) -> RenderableType:
    """Draw one line per strategy for a screen of the given width, and why some have no score."""
    rows = [
        (
            score.strategy,
            fixed(score.score, 4),
            fixed(score.ratio, 6),
            f"{score.valid_cases} of {len(score.results)}",
            f"{score.proven_cases}" if score.strategy == SOLVER else "-",
            score.worst.case,
            fixed(score.worst.ratio, 4),
            f"{score.seconds:.3g} s",
        )
        for score in scores
    ]
    refusals = (f"{score.strategy}: {score.refusal}" for score in scores if score.refusal)
    return Group(fitting_table(SCORES, rows, width), *map(Text, refusals))


def case_table(score: Score, width: int) -> RenderableType:
    """Draw one line per case for a screen of the given width, and the notes on them."""
    rows = [
        (
            result.case,
            fixed(result.pressure, 6) if result.valid else "failed",
            fixed(result.best_known, 6),
            fixed(result.ratio, 6),
            milliseconds(result.seconds),
        )
        for result in score.results
    ]
    noted = (FailedCase(r.case, r.status, r.reason) for r in score.results if r.reason)
    below = map(Text, reason_lines(noted))
    return Group(fitting_table(CASES, rows, width, score.strategy), *below)


def known_scores() -> dict[str, float]:
    """Return the recorded score on `adrs` of every strategy of the catalogue, with seed 0."""
    text = (resources.files("colocate.arena") / "adrs_scores.csv").read_text(encoding="utf-8")
    return {row["strategy"]: float(row["score"]) for row in csv.DictReader(text.splitlines())}
