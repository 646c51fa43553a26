"""A lab as a whole, in figures."""

from collections.abc import Sequence

from colocate.lab.messages import Attempt
from colocate.lab.program import Program, best_first
from colocate.lab.watch.ladder import Rung
from colocate.lab.watch.refusal_counts import refusal_counts
from colocate.lab.watch.sheet import Cell, Sheet, mention, numbers, words
from colocate.outputs.text.wording import fixed

MOST_REASONS = 8
"""Rows of the table of refusals; one more row sums up the rest."""


def ladder_sheet(rungs: Sequence[Rung], most: int) -> Sheet:
    """Draw one line per rung, at most so many, the last one last."""
    shown = rungs[-most:]
    title = "Every new best"
    if len(shown) < len(rungs):
        title = f"The last {len(shown)} of {len(rungs)} new best programs"
    rows = tuple(
        (
            str(rung.generation),
            mention(rung),
            fixed(rung.score, 4),
            fixed(rung.ratio, 6),
            fixed(rung.hidden, 6),
        )
        for rung in shown
    )
    headings = ("gen", "program", "score", "ratio", "hidden")
    return Sheet(title, headings, rows)


def island_sheet(programs: Sequence[Program]) -> Sheet:
    """Draw one line per island, with the best program made there."""
    rows = []
    for island in sorted({program.island for program in programs}):
        born = [program for program in programs if program.island == island]
        best = best_first(born)[0]
        row = (str(island), str(len(born)), mention(best), fixed(best.verdict.score, 4))
        rows.append((*row, fixed(best.verdict.fitness, 6)))
    headings = ("island", "programs", "program", "score", "fitness")
    return Sheet("The islands and their best", headings, tuple(rows))


def refusal_sheet(attempts: Sequence[Attempt]) -> Sheet:
    """Draw one line per kind of refusal, the most frequent first."""
    found = refusal_counts(attempts)
    rows = [(str(count), reason) for reason, count in found[:MOST_REASONS]]
    if len(found) > MOST_REASONS:
        rest = sum(count for _, count in found[MOST_REASONS:])
        rows.append((str(rest), f"{len(found) - MOST_REASONS} other reasons"))
    return Sheet("Why answers were refused", ("answers", "reason"), tuple(rows), words("reason"))


def program_sheet(programs: Sequence[Program], most: int) -> Sheet:
    """Draw one line per program, best first, at most so many."""
    shown = best_first(programs)[:most]
    which = "All" if len(shown) == len(programs) else f"The best {len(shown)} of"
    rows = tuple(_program_row(program) for program in shown)
    headings = ("program", "score", "ratio", "hidden", "valid", "gen", "island", "from")
    title = f"{which} {len(programs)} programs, best first"
    return Sheet(title, headings, rows, words("program", "from"))


def _program_row(program: Program) -> tuple[Cell, ...]:
    verdict = program.verdict
    return (
        mention(program),
        fixed(verdict.score, 4),
        fixed(verdict.ratio, 6),
        fixed(verdict.hidden.ratio, 6),
        f"{verdict.public.valid_cases} of {verdict.public.cases}",
        str(program.generation),
        str(program.island),
        numbers(program.parents),
    )
