"""A verdict, in figures."""

from colocate.arena.case_verdict import CaseVerdict, goal_word
from colocate.arena.leaderboard import TRIALS, goal_heading, tally_row, trial_row
from colocate.arena.luck import luck_sentence
from colocate.arena.verdict import Verdict
from colocate.lab.watch.sheet import Sheet, words
from colocate.outputs.text.wording import fixed

FIGURES = ("cases", "score", "ratio", "valid", "worst case", "its ratio", "time")
MOST_CASES = 5
"""Rows of each table of cases; `colocate score --cases` prints all."""
LONGEST_TRACEBACK = 1_500
"""Letters from its end, where the fault is named."""


def verdict_sheets(verdict: Verdict) -> list[Sheet]:
    """Return the figures of a verdict, and its worst cases and failures if it has any."""
    sheets = (_figures(verdict), _trials(verdict), _worst_cases(verdict), _failures(verdict))
    return [sheet for sheet in sheets if sheet.rows]


def first_traceback(verdict: Verdict) -> str:
    """Return the end of the first traceback, if there is one."""
    found = (result.traceback for result in _results(verdict) if result.traceback)
    return next(found, "")[-LONGEST_TRACEBACK:]


def _figures(verdict: Verdict) -> Sheet:
    tallies = ((verdict.suite, verdict.public), ("hidden", verdict.hidden))
    rows = tuple(tally_row(name, each)[: len(FIGURES)] for name, each in tallies if each.cases)
    again = "" if verdict.steady else ", which differ; this is the worst"
    runs = f"{verdict.runs} run{'s' if verdict.runs > 1 else ''}{again}"
    return Sheet(f"The verdict, after {runs}", FIGURES, rows, words("cases", "worst case"))


def _trials(verdict: Verdict) -> Sheet:
    """Return the figures under every seed; no rows for a program that uses no chance."""
    told = luck_sentence(verdict.luck)
    rows = tuple(map(trial_row, verdict.luck.trials)) if told else ()
    headings = tuple(column.heading for column in TRIALS)
    return Sheet(f"{told[:1].upper()}{told[1:]}", headings, rows, words())


def _worst_cases(verdict: Verdict) -> Sheet:
    results = _results(verdict)
    short = [result for result in results if result.valid and result.ratio < 1]
    rows = tuple(
        (
            result.case,
            fixed(result.value, 6),
            fixed(result.optimum, 6),
            fixed(result.ratio, 6),
        )
        for result in sorted(short, key=lambda result: result.ratio)[:MOST_CASES]
    )
    headings = ("case", "value", goal_heading(results), "ratio")
    goal = goal_word(result.proven for result in results)
    shown = f"the worst {len(rows)} of {len(short)}"
    return Sheet(f"Valid, but short of the {goal}: {shown}", headings, rows, words("case"))


def _failures(verdict: Verdict) -> Sheet:
    failed = [result for result in _results(verdict) if not result.valid]
    rows = tuple((result.case, result.reason) for result in failed[:MOST_CASES])
    shown = f"{len(rows)} of {len(failed)}"
    headings = ("case", "why it failed")
    return Sheet(f"Failed cases: {shown}", headings, rows, words(*headings))


def _results(verdict: Verdict) -> tuple[CaseVerdict, ...]:
    return verdict.public.results + verdict.hidden.results
