"""Scores side by side, and the scores that the catalogue's strategies are known to have."""

import csv
from collections.abc import Sequence
from importlib import resources
from math import inf

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.arena.programs import Entry
from colocate.arena.reasons import FailedCase, reason_lines
from colocate.arena.score import SOLVER, Score
from colocate.arena.verdict import CaseVerdict, ProgramVerdict, Tally
from colocate.outputs.fitting_table import Column, fitting_table
from colocate.outputs.visible import one_line

LONGEST_NOTE = 120
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
TALLIES = (
    Column("cases", words=True),
    Column("score"),
    Column("ratio"),
    Column("valid"),
    Column("worst case", dispensable=3),
    Column("its ratio", dispensable=4),
    Column("time", dispensable=1),
    Column("processor", dispensable=2),
)
PROGRAMS = (
    Column(""),
    Column("program", words=True),
    Column("score"),
    Column("ratio", dispensable=1),
    Column("hidden", dispensable=2),
    Column("valid"),
    Column("worst case", dispensable=5),
    Column("time", dispensable=3),
    Column("runs", dispensable=4),
)
CASES_OF_A_PROGRAM = (
    Column("case", words=True),
    Column("pressure"),
    Column("optimum", dispensable=2),
    Column("ratio"),
    Column("time", dispensable=3),
    Column("failure", words=True, dispensable=1),
)


def score_table(scores: Sequence[Score], width: int) -> RenderableType:
    """Draw one line a strategy for a screen of that width, and why some have no score."""
    rows = [
        (
            score.strategy,
            _shown(score.score, 4),
            _shown(score.ratio, 6),
            f"{score.valid_cases} of {len(score.results)}",
            f"{score.proven_cases}" if score.strategy == SOLVER else "-",
            score.worst.case,
            _shown(score.worst.ratio, 4),
            f"{score.seconds:.3g} s",
        )
        for score in scores
    ]
    refusals = (f"{score.strategy}: {score.refusal}" for score in scores if score.refusal)
    return Group(fitting_table(SCORES, rows, width), *map(Text, refusals))


def case_table(score: Score, width: int) -> RenderableType:
    """Draw one line a case for a screen of that width, and what there is to note of them."""
    rows = [
        (
            result.case,
            _shown(result.pressure, 6) if result.valid else "failed",
            _shown(result.best_known, 6),
            _shown(result.ratio, 6),
            _milliseconds(result.seconds),
        )
        for result in score.results
    ]
    noted = (FailedCase(r.case, r.reason) for r in score.results if r.reason)
    below = map(Text, reason_lines(noted))
    return Group(fitting_table(CASES, rows, width, score.strategy), *below)


def verdict_page(
    verdict: ProgramVerdict, width: int, every_case: bool = False
) -> list[RenderableType]:
    """Draw what the referee says about one program, for a screen of that width."""
    tallies = ((verdict.suite, verdict.public), ("hidden", verdict.hidden))
    rows = [_tally(name, tally) for name, tally in tallies]
    parts: list[RenderableType] = [fitting_table(TALLIES, rows, width)]
    results = [result for _, tally in tallies for result in tally.results]
    if every_case:
        parts.append(fitting_table(CASES_OF_A_PROGRAM, map(_case, results), width))
    failures = (FailedCase(r.case, r.reason, r.traceback) for r in results if not r.valid)
    parts += map(Text, reason_lines(failures))
    steadiness = "" if verdict.steady else "; its runs differ, this is the worst"
    runs = f"{verdict.runs} run{'s' if verdict.runs > 1 else ''}{steadiness}"
    parts.append(Text(f"walls: {', '.join(verdict.walls)} ({runs})"))
    return parts


def program_table(entries: Sequence[Entry], width: int) -> RenderableType:
    """Draw one line a program, best first, for a screen of that width, and what fails below."""
    rows, notes = [], []
    for place, entry in enumerate(entries, start=1):
        verdict = entry.verdict
        rows.append(
            (
                str(place),
                entry.name,
                _shown(verdict.score, 4),
                _shown(verdict.ratio, 6),
                _shown(verdict.hidden.ratio, 6),
                f"{verdict.public.valid_cases} of {verdict.public.cases}",
                verdict.public.worst.case,
                f"{verdict.seconds:.3g} s",
                str(verdict.runs) if verdict.steady else f"{verdict.runs}, differing",
            )
        )
        for failure in (verdict.public.failures + verdict.hidden.failures)[:1]:
            told = one_line(f"{failure.case}: {failure.reason}", LONGEST_NOTE)
            notes.append(Text(f"{entry.name}: {told}"))
    return Group(fitting_table(PROGRAMS, rows, width), *notes)


def _tally(name: str, tally: Tally) -> tuple[str, ...]:
    return (
        name,
        _shown(tally.score, 4),
        _shown(tally.ratio, 6),
        f"{tally.valid_cases} of {tally.cases}",
        tally.worst.case,
        _shown(tally.worst.ratio, 4),
        f"{tally.seconds:.3g} s",
        f"{tally.cpu_seconds:.3g} s",
    )


def _case(result: CaseVerdict) -> tuple[str, ...]:
    return (
        result.case,
        _shown(result.pressure, 6) if result.valid else "failed",
        _shown(result.optimum, 6),
        _shown(result.ratio, 6),
        _milliseconds(result.seconds),
        result.failure or "",
    )


def known_scores() -> dict[str, float]:
    """Return the recorded score on `adrs` of every strategy of the catalogue, with seed 0."""
    text = (resources.files("colocate.arena") / "adrs_scores.csv").read_text(encoding="utf-8")
    return {row["strategy"]: float(row["score"]) for row in csv.DictReader(text.splitlines())}


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _shown(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return "∞" if value == inf else f"{value:.{digits}f}"
