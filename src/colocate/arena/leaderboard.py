"""Scores side by side, and the scores that the catalogue's strategies are known to have."""

import csv
from collections.abc import Sequence
from importlib import resources
from math import inf

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from colocate.arena.programs import Entry
from colocate.arena.score import SOLVER, Score
from colocate.arena.verdict import CaseVerdict, ProgramVerdict

LONGEST_NOTE = 120


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


def verdict_page(verdict: ProgramVerdict, every_case: bool = False) -> list[RenderableType]:
    """Draw what the referee says about one program."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cases", no_wrap=True)
    for heading in ("score", "ratio", "valid", "worst case", "its ratio", "time", "processor"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, tally in ((verdict.suite, verdict.public), ("hidden", verdict.hidden)):
        table.add_row(
            name,
            _shown(tally.score, 4),
            _shown(tally.ratio, 6),
            f"{tally.valid_cases} of {tally.cases}",
            tally.worst.case,
            _shown(tally.worst.ratio, 4),
            f"{tally.seconds:.3g} s",
            f"{tally.cpu_seconds:.3g} s",
        )
    listed = [r for tally in (verdict.public, verdict.hidden) for r in tally.results]
    shown = listed if every_case else [result for result in listed if not result.valid]
    parts: list[RenderableType] = [table]
    if shown:
        parts.append(_cases_of_a_program(shown))
    steadiness = "" if verdict.steady else "; its runs differ, this is the worst"
    runs = f"{verdict.runs} run{'s' if verdict.runs > 1 else ''}{steadiness}"
    parts.append(Text(f"walls: {', '.join(verdict.walls)} ({runs})"))
    return parts


def program_table(entries: Sequence[Entry]) -> Table:
    """Draw one line a program, best first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("program", overflow="fold")
    for heading in ("score", "ratio", "hidden", "valid", "worst case", "time", "runs"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for place, entry in enumerate(entries, start=1):
        verdict = entry.verdict
        failures = verdict.public.failures + verdict.hidden.failures
        note = f"{failures[0].case}: {failures[0].reason}" if failures else ""
        table.add_row(
            str(place),
            Text(entry.name),
            _shown(verdict.score, 4),
            _shown(verdict.ratio, 6),
            _shown(verdict.hidden.ratio, 6),
            f"{verdict.public.valid_cases} of {verdict.public.cases}",
            verdict.public.worst.case,
            f"{verdict.seconds:.3g} s",
            str(verdict.runs) if verdict.steady else f"{verdict.runs}, differing",
            Text(note[:LONGEST_NOTE]),
        )
    return table


def _cases_of_a_program(results: Sequence[CaseVerdict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("case", no_wrap=True)
    for heading in ("pressure", "optimum", "ratio", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why it failed", overflow="fold")
    for result in results:
        table.add_row(
            result.case,
            _shown(result.pressure, 6) if result.valid else "failed",
            _shown(result.optimum, 6),
            _shown(result.ratio, 6),
            f"{1000 * result.seconds:.3g} ms",
            Text(result.reason),
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
