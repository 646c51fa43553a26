"""A full article on a program of the ladder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from colocate.arena.verdict import Verdict
from colocate.lab.messages import Attempt
from colocate.lab.program import Program
from colocate.lab.watch.changes import Changes, changes
from colocate.lab.watch.html_sheet import Links, html_facts, html_sheet
from colocate.lab.watch.sheet import mention
from colocate.lab.watch.story import story
from colocate.lab.watch.verdict_sheets import first_traceback, verdict_sheets
from colocate.outputs.page.markup import Markup, breakable, tag
from colocate.outputs.text.sanitise import LONGEST_DESCRIPTION, one_line
from colocate.outputs.text.wording import fixed

MOST_LINES = 400
"""Lines of one change."""
LONGEST_LINE = 240
"""Letters of a line of code; longer lines are data that nobody reads."""
MOST_LETTERS = 1_500_000
"""Letters of all changes together: a page must stay small enough to send around."""
TAGS = {"+": "ins", "-": "del", "@": "i"}


@dataclass(frozen=True)
class Articles:
    """Draws articles on programs."""

    programs: Sequence[Program]
    """Best first."""
    attempts: Sequence[Attempt]
    links: Links
    """Links to programs on the page."""

    def draw(self, numbers: Iterable[int]) -> Iterator[Markup]:
        """Yield an article per number, with its changes while there is room for them."""
        known = {program.number: program for program in self.programs}
        room = MOST_LETTERS
        for program in map(known.__getitem__, numbers):
            told = self._changes(program)
            room -= len(told)
            yield self._article(program, told if room >= 0 else _elsewhere(program))

    def _article(self, program: Program, told: Markup) -> Markup:
        verdict = program.verdict
        (name,) = mention(program)
        return tag(
            "article",
            tag("h3", breakable(name.text)),
            tag("p", one_line(program.description, LONGEST_DESCRIPTION)),
            html_facts(story(program, self.programs, self.attempts), self.links, "story"),
            tag("details", tag("summary", _in_short(verdict)), *self._verdict(verdict)),
            told,
            id=f"program-{program.number}",
        )

    def _verdict(self, verdict: Verdict) -> Iterator[Markup]:
        for sheet in verdict_sheets(verdict):
            yield html_sheet(sheet, self.links)
        if traceback := first_traceback(verdict):
            yield tag("pre", traceback, tabindex=0)
        yield tag("p", f"Walls: {', '.join(map(one_line, verdict.walls)) or 'none'}", class_="note")

    def _changes(self, program: Program) -> Markup:
        found = changes(self.programs, program)
        if found is None or not found.lines:
            title = found.title if found else "No parent to compare with"
            return tag("p", title, class_="note")
        left_out = len(found.lines) - MOST_LINES
        more = [_elsewhere(program, f"{left_out} more lines")] if left_out > 0 else []
        code = tag("code", *_colored(found))
        return tag(
            "details",
            tag("summary", found.title),
            tag("pre", code, class_="changes", tabindex=0),
            *more,
        )


def _colored(found: Changes) -> Iterator[Markup]:
    """Yield added, removed and kept lines, with adjacent lines of a kind together."""
    for sign, lines in groupby(found.lines[:MOST_LINES], key=lambda line: line[0]):
        yield tag(TAGS.get(sign, "span"), "".join(f"{_cut(line)}\n" for line in lines))


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _in_short(verdict: Verdict) -> str:
    public = verdict.public
    return (
        f"Verdict: score {fixed(verdict.score, 4)}, ratio {fixed(verdict.ratio, 6)}, "
        f"hidden {fixed(verdict.hidden.ratio, 6)}, {public.valid_cases} of {public.cases} valid"
    )


def _elsewhere(program: Program, what: str = "The changes") -> Markup:
    command = tag("code", f"colocate lab show {program.number}")
    return tag("p", what, Markup(" are left out here; see "), command, class_="note")
