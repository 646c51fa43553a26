"""Views of a lab in the terminal."""

from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from colocate.lab.archive import Archive
from colocate.lab.program import Program, best_first
from colocate.lab.watch.account import Account, best_facts, settings_line
from colocate.lab.watch.changes import changes
from colocate.lab.watch.chart import BEST, FAILED, OPTIMUM, OTHER, Chart
from colocate.lab.watch.ladder import ladder
from colocate.lab.watch.lineage import Line, Step, find_program, lineage
from colocate.lab.watch.overview_sheets import island_sheet, ladder_sheet, refusal_sheet
from colocate.lab.watch.sheet import Cell, Fact, Sheet, mention, numbers
from colocate.lab.watch.story import story
from colocate.lab.watch.verdict_sheets import first_traceback, verdict_sheets
from colocate.outputs.text.sanitise import LONGEST_DESCRIPTION, one_line, visible
from colocate.outputs.text.wording import fixed

MOST_RUNGS = 20
"""Rows of the ladder, counted from its end."""
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def status_page(archive: Archive) -> list[RenderableType]:
    """Draw the status of a lab: its settings, its costs, its ladder and its islands."""
    programs, attempts = archive.programs(), archive.attempts()
    rungs = ladder(programs)
    goal = programs[0].verdict.public.goal
    facts = [*best_facts(programs), *Account.of(programs, attempts, archive.unanswered()).facts()]
    sheets = [ladder_sheet(rungs, MOST_RUNGS), island_sheet(programs), refusal_sheet(attempts)]
    return [
        Text(f"{settings_line(archive)}\n", style="bold"),
        _facts(facts),
        Text(f"\nBest so far over the generations, as a share of the {goal}\n", style="bold"),
        Chart(programs, rungs),
        _legend(goal),
        *(_table(sheet) for sheet in sheets if sheet.rows),
    ]


def program_page(archive: Archive, number: int) -> list[RenderableType]:
    """Draw a program: its origin, its verdict, and its changes.

    Raises
    ------
    UnknownNameError
        If there is no program of that number.
    """
    programs = best_first(archive.programs())
    program = find_program(programs, number)
    verdict = program.verdict
    parts: list[RenderableType] = [
        Text(str(_words(mention(program))), style="bold"),
        Text(f"{one_line(program.description, LONGEST_DESCRIPTION)}\n"),
        _facts(story(program, programs, archive.attempts())),
        *map(_table, verdict_sheets(verdict)),
    ]
    if traceback := first_traceback(verdict):
        parts.append(Text(f"{visible(traceback)}\n", style=FAILED))
    walls = ", ".join(map(one_line, verdict.walls))
    return [*parts, Text(f"walls: {walls or 'none'}\n"), _changes(programs, program)]


def lineage_tree(programs: Collection[Program], number: int | None = None) -> Tree:
    """Draw lines of descent: programs below a program, further in, come from it.

    By default the tree has all lines that lead to a program of the ladder. With a program's number,
    it has the line that leads to it and the lines to better descendants. It counts all other
    programs.

    Raises
    ------
    UnknownNameError
        If there is no program of that number.
    """
    tree = Tree("lineage", hide_root=True)
    for line in lineage(programs, number):
        _grow(tree, line, number)
    return tree


def _grow(tree: Tree, line: Line, focus: int | None) -> None:
    """Draw a line below its first program, so that a long one needs no more width."""
    trunk: Tree | None = None
    for step in line:
        if step.skipped:
            (trunk or tree).add(Text(step.gap, OTHER))
        node = (trunk or tree).add(_step(step, focus))
        for branch in step.branches:
            _grow(node, branch, focus)
        trunk = trunk or node


def _step(step: Step, focus: int | None) -> Text:
    program = step.program
    text = _words(mention(program))
    text.stylize("bold" if step.improves else "")
    text.append(f"  {fixed(program.verdict.score, 4)}  {fixed(program.verdict.fitness, 6)}")
    if program.parents:
        text.append(f"  from {_words(numbers(program.parents))}", OTHER)
    text.append(f"  {step.rest}" if step.others else "", OTHER)
    return text.append("  ◀" if program.number == focus else "", BEST)


def _facts(facts: Iterable[Fact]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=OTHER, no_wrap=True)
    table.add_column(overflow="fold")
    for name, told in facts:
        table.add_row(Text(name), _words(told))
    return table


def _legend(goal: str) -> Text:
    return Text.assemble(
        ("─", BEST),
        " best so far   ",
        ("·", OTHER),
        " program   ",
        ("x", FAILED),
        " with failed cases   ",
        ("┈", OPTIMUM),
        f" {goal}; each mark up is ten times closer to it\n",
    )


def _table(sheet: Sheet) -> Group:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in sheet.headings:
        if heading in sheet.words:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*map(_words, row))
    return Group(Text(sheet.title, style="bold"), table)


def _words(cell: Cell) -> Text:
    told = cell if isinstance(cell, str) else " and ".join(named.text for named in cell)
    return Text(one_line(told))


def _changes(programs: Sequence[Program], program: Program) -> Text:
    found = changes(programs, program)
    if found is None:
        lines = len(program.source.splitlines())
        return Text(f"No parent to compare with; the program has {lines} lines")
    text = Text().append(found.title, "bold")
    for line in found.lines:
        text.append(f"\n{line}", DIFF_STYLES.get(line[0], ""))
    return text
