"""Draws the verdicts of the referee, of one program or of many side by side."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.arena.case_verdict import CaseVerdict, goal_word
from colocate.arena.luck import Luck, SeedResult, luck_sentence
from colocate.arena.programs import Entry
from colocate.arena.reasons import FailedCase, reason_lines
from colocate.arena.run_folder import FoundProgram
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import fixed, milliseconds

LONGEST_NOTE = 120
"""Letters: one line of a wide terminal for each program."""
GOAL = "optimum"
"""The column that is called otherwise if the best values are not proven."""
LACKING = re.compile(r"^crash: ModuleNotFoundError: No module named '([A-Za-z0-9_]{1,60})")
"""How Python says that a package cannot be imported."""
CLAIMED = "claimed"
"""The column that only runs with claims have."""
MEAN, BEST = "mean", "best"
"""The columns that only programs with chance need: of their scores under all seeds."""
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
    Column(MEAN, dispensable=5),
    Column(BEST, dispensable=6),
    Column(CLAIMED, dispensable=8),
    Column("ratio", dispensable=1),
    Column("hidden", dispensable=2),
    Column("valid"),
    Column("worst case", dispensable=7),
    Column("time", dispensable=3),
    Column("runs", dispensable=4),
)
TRIALS = (
    Column("seed"),
    Column("score"),
    Column("ratio"),
    Column("hidden", dispensable=1),
    Column("valid", dispensable=2),
)
CASES_OF_A_PROGRAM = (
    Column("case", words=True),
    Column("value"),
    Column(GOAL, dispensable=2),
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
    lower = "the lower ratio" if verdict.hidden.cases else "the ratio"
    parts.append(Text(f"fitness {fixed(verdict.fitness, 6)}: {lower}, which ranks programs"))
    if every_case:
        parts.append(fitting_table(_columns(results), map(_case, results), width))
    failed = [result for result in results if not result.valid]
    told = (FailedCase(r.case, r.cause, r.reason, r.traceback, r.ran) for r in failed)
    parts += map(Text, reason_lines(told))
    parts += map(Text, _hints(failed))
    parts += luck_parts(verdict.luck, width)
    runs = f"{verdict.runs} run{'s' if verdict.runs > 1 else ''}"
    parts.append(Text(f"walls: {', '.join(verdict.walls)} ({runs})"))
    return parts


def _hints(failed: Sequence[CaseVerdict]) -> list[str]:
    """Return how to let a program import the packages that it lacks."""
    found = (LACKING.search(result.reason) for result in failed if result.ran)
    names = sorted({lacking[1] for lacking in found if lacking} - {"colocate"})
    return [
        f"programs may import the standard library and numpy; --allow {name} lets them import "
        f"{name}, if it is installed here"
        for name in names
    ]


def luck_parts(luck: Luck, width: int) -> list[RenderableType]:
    """Draw the figures of a program under every seed; nothing if it uses no chance."""
    told = luck_sentence(luck)
    if not told:
        return []
    return [fitting_table(TRIALS, map(trial_row, luck.trials), width), Text(told)]


def trial_row(trial: SeedResult) -> tuple[str, ...]:
    """Return the figures under one seed as text, one per column of `TRIALS`."""
    ratios = (fixed(trial.ratio, 6), fixed(trial.hidden_ratio, 6))
    valid = trial.valid_cases + trial.hidden_valid_cases
    return str(trial.seed), fixed(trial.score, 4), *ratios, str(valid)


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
    left_out = set()
    if all(program.claimed is None for program in of_run.values()):
        left_out.add(CLAIMED)
    if not any(luck_sentence(entry.verdict.luck) for entry in entries):
        left_out |= {MEAN, BEST}
    columns = [column for column in PROGRAMS if column.heading not in left_out]
    rows, notes = [], []
    for place, entry in enumerate(entries, start=1):
        cells = {"": str(place), **_program(entry, of_run.get(entry.source))}
        rows.append(tuple(cells[column.heading] for column in columns))
        verdict = entry.verdict
        for failure in (verdict.public.failures + verdict.hidden.failures)[:1]:
            told = one_line(f"{failure.case}: {failure.reason}", LONGEST_NOTE)
            notes.append(Text(f"{entry.name}: {told}"))
    return Group(fitting_table(columns, rows, width), *notes)


def _program(entry: Entry, found: FoundProgram | None) -> dict[str, str]:
    """Return the figures of a program as text, by the headings of `PROGRAMS`."""
    verdict, luck = entry.verdict, entry.verdict.luck
    drawn = bool(luck_sentence(luck))
    return {
        "program": f"{entry.name} (best of the run)" if found and found.best else entry.name,
        "fitness": fixed(verdict.fitness, 6),
        "score": fixed(verdict.score, 4),
        MEAN: fixed(luck.mean, 4) if drawn else "",
        BEST: fixed(luck.best, 4) if drawn else "",
        CLAIMED: fixed(found.claimed if found else None, 4),
        "ratio": fixed(verdict.ratio, 6),
        "hidden": fixed(verdict.hidden.ratio, 6),
        "valid": f"{verdict.public.valid_cases} of {verdict.public.cases}",
        "worst case": verdict.public.worst.case,
        "time": f"{verdict.seconds:.3g} s",
        "runs": str(verdict.runs) if verdict.steady else f"{verdict.runs}, differing",
    }


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


def goal_heading(results: Sequence[CaseVerdict]) -> str:
    """Return the heading of a column with the best values known."""
    return goal_word(result.proven for result in results).removesuffix(" value")


def _columns(results: Sequence[CaseVerdict]) -> list[Column]:
    """Return the columns of a table of cases."""
    told = goal_heading(results)
    return [replace(c, heading=told) if c.heading == GOAL else c for c in CASES_OF_A_PROGRAM]


def _case(result: CaseVerdict) -> tuple[str, ...]:
    return (
        result.case,
        fixed(result.value, 6) if result.valid else "failed",
        fixed(result.optimum, 6),
        fixed(result.ratio, 6),
        milliseconds(result.seconds),
        (result.failure or "") if result.ran else "not run",
    )
