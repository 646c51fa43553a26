"""Draws the verdicts of the referee, of one program or of many side by side."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.arena.programs import Entry
from colocate.arena.reasons import FailedCase, reason_lines
from colocate.arena.run_folder import FoundProgram
from colocate.arena.verdict import CaseVerdict, Tally, Verdict
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import fixed, milliseconds

LONGEST_NOTE = 120
"""Letters: one line of a wide terminal for each program."""
CLAIMED = "claimed"
"""The column that only runs with claims have."""
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
    Column("fitness"),
    Column("score"),
    Column(CLAIMED, dispensable=6),
    Column("ratio", dispensable=1),
    Column("hidden", dispensable=2),
    Column("valid"),
    Column("worst case", dispensable=5),
    Column("time", dispensable=3),
    Column("runs", dispensable=4),
)
CASES_OF_A_PROGRAM = (
    Column("case", words=True),
    Column("value"),
    Column("optimum", dispensable=2),
    Column("ratio"),
    Column("time", dispensable=3),
    Column("failure", words=True, dispensable=1),
)


def verdict_page(verdict: Verdict, width: int, every_case: bool = False) -> list[RenderableType]:
    """Draw the verdict on one program for a screen of the given width.

    Parameters
    ----------
    verdict
        The verdict to draw.
    width
        Columns of the screen.
    every_case
        Whether to add a row for each case.
    """
    tallies = [(verdict.suite, verdict.public), ("hidden", verdict.hidden)]
    rows = [tally_row(name, tally) for name, tally in tallies if tally.cases]
    parts: list[RenderableType] = [fitting_table(TALLIES, rows, width)]
    results = [result for _, tally in tallies for result in tally.results]
    if every_case:
        parts.append(fitting_table(CASES_OF_A_PROGRAM, map(_case, results), width))
    failures = (FailedCase(r.case, r.cause, r.reason, r.traceback) for r in results if not r.valid)
    parts += map(Text, reason_lines(failures))
    steadiness = "" if verdict.steady else "; its runs differ, this is the worst"
    runs = f"{verdict.runs} run{'s' if verdict.runs > 1 else ''}{steadiness}"
    parts.append(Text(f"walls: {', '.join(verdict.walls)} ({runs})"))
    return parts


def program_table(
    entries: Sequence[Entry], width: int, found: Mapping[str, FoundProgram] | None = None
) -> RenderableType:
    """Draw one line per program, best first, with failures below.

    Parameters
    ----------
    entries
        The programs and their verdicts.
    width
        Columns of the screen.
    found
        What a run says of its programs, by their text.
    """
    of_run = found or {}
    claims = any(program.claimed is not None for program in of_run.values())
    rows, notes = [], []
    for place, entry in enumerate(entries, start=1):
        rows.append((str(place), *_program(entry, of_run.get(entry.source), claims)))
        verdict = entry.verdict
        for failure in (verdict.public.failures + verdict.hidden.failures)[:1]:
            told = one_line(f"{failure.case}: {failure.reason}", LONGEST_NOTE)
            notes.append(Text(f"{entry.name}: {told}"))
    columns = [column for column in PROGRAMS if claims or column.heading != CLAIMED]
    return Group(fitting_table(columns, rows, width), *notes)


def _program(entry: Entry, found: FoundProgram | None, claims: bool) -> tuple[str, ...]:
    verdict = entry.verdict
    claimed = [fixed(found.claimed if found else None, 4)] if claims else []
    return (
        f"{entry.name} (best of the run)" if found and found.best else entry.name,
        fixed(verdict.fitness, 6),
        fixed(verdict.score, 4),
        *claimed,
        fixed(verdict.ratio, 6),
        fixed(verdict.hidden.ratio, 6),
        f"{verdict.public.valid_cases} of {verdict.public.cases}",
        verdict.public.worst.case,
        f"{verdict.seconds:.3g} s",
        str(verdict.runs) if verdict.steady else f"{verdict.runs}, differing",
    )


def tally_row(name: str, tally: Tally) -> tuple[str, ...]:
    """Return the figures of a tally as text, one per column of `TALLIES`."""
    return (
        name,
        fixed(tally.score, 4),
        fixed(tally.ratio, 6),
        f"{tally.valid_cases} of {tally.cases}",
        tally.worst.case,
        fixed(tally.worst.ratio, 4),
        f"{tally.seconds:.3g} s",
        f"{tally.cpu_seconds:.3g} s",
    )


def _case(result: CaseVerdict) -> tuple[str, ...]:
    return (
        result.case,
        fixed(result.value, 6) if result.valid else "failed",
        fixed(result.optimum, 6),
        fixed(result.ratio, 6),
        milliseconds(result.seconds),
        result.failure or "",
    )
