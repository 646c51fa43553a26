"""The best so far over the generations, drawn with letters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from rich.console import Console, ConsoleOptions
from rich.text import Text

from colocate.lab.program import Program
from colocate.lab.watch.ladder import LadderScale, Rung, fails, round_steps

WIDEST, NARROWEST = 88, 16
"""Most columns, also for a pipe, which has no width; and fewest columns on any screen."""
ROWS = 12
"""High enough to separate steps, low enough to leave room for the tables."""
BEST, OPTIMUM, FAILED, OTHER = "bold cyan", "green", "red", "bright_black"
PLAIN = str.maketrans("─│╭╯┤┈·", "-|++|.:")
"""For screens that show only ASCII."""


@dataclass(frozen=True)
class Chart:
    """A plot of all programs, as wide as the screen allows."""

    programs: Sequence[Program]
    rungs: Sequence[Rung]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Draw it for a screen."""
        canvas = _Canvas(self.programs, options.max_width)
        canvas.draw_optimum()
        canvas.draw_programs(self.programs)
        canvas.draw_line(self.rungs)
        for line in canvas.lines():
            if options.ascii_only:
                line.plain = line.plain.translate(PLAIN)
            yield line


class _Canvas:
    """Letters in rows, the top one first, with two axes."""

    def __init__(self, programs: Sequence[Program], width: int) -> None:
        self._scale = LadderScale.over(programs)
        self._last = max(program.generation for program in programs)
        step = max(ROWS // self._scale.steps, 2)
        self._top = step * self._scale.steps
        self._margin = max(len(label) for _, label in self._scale.ticks()) + 2
        self._columns = max(min(width, WIDEST) - self._margin, NARROWEST)
        blank = (" ", "")
        self._cells = [[blank] * self._columns for _ in range(self._top + 1)]

    def draw_optimum(self) -> None:
        """Draw the best value known; a program that beats it is drawn there too."""
        self._cells[0] = [("┈", OPTIMUM)] * self._columns

    def draw_programs(self, programs: Sequence[Program]) -> None:
        """Draw a dot for each program, those with failed cases first."""
        for program in sorted(programs, key=fails, reverse=True):
            mark = ("x", FAILED) if fails(program) else ("·", OTHER)
            self._put(self._row(program.verdict.fitness), self._column(program.generation), *mark)

    def draw_line(self, rungs: Sequence[Rung]) -> None:
        """Draw steps: the best holds until it is beaten."""
        ends = [*(self._column(rung.generation) for rung in rungs[1:]), self._columns - 1]
        row = self._row(rungs[0].fitness)
        begin = self._column(rungs[0].generation)
        for rung, end in zip(rungs, ends, strict=True):
            row = self._rise(begin, row, self._row(rung.fitness))
            for column in range(begin + (rung is not rungs[0]), end + 1):
                self._put(row, column, "─", BEST)
            begin = end

    def _rise(self, column: int, low: int, high: int) -> int:
        """Draw the way up to a new best, and return the row where it ends."""
        if high < low:
            passed = self._cells[low][column][0] == "╭"
            self._put(low, column, "│" if passed else "╯", BEST)
            for row in range(high + 1, low):
                self._put(row, column, "│", BEST)
            self._put(high, column, "╭", BEST)
        return high

    def lines(self) -> Iterator[Text]:
        """Yield the lines of the chart, with the axes."""
        labels = {self._height_to_row(height): label for height, label in self._scale.ticks()}
        for number, cells in enumerate(self._cells):
            axis = "┤" if number in labels else "│"
            line = Text(f"{labels.get(number, ''):>{self._margin - 2}} {axis}", no_wrap=True)
            for style, run in groupby(cells, key=itemgetter(1)):
                line.append("".join(letter for letter, _ in run), style)
            line.rstrip()
            yield line
        yield Text(" " * self._margin + self._generations(), no_wrap=True)

    def _generations(self) -> str:
        axis = ""
        for generation in round_steps(self._last, self._columns // 10):
            label = str(generation)
            at = min(self._column(generation), self._columns - len(label))
            axis = f"{axis:<{at}}{label}"
        return axis

    def _put(self, row: int, column: int, letter: str, style: str) -> None:
        self._cells[row][column] = (letter, style)

    def _row(self, fitness: float) -> int:
        return self._height_to_row(self._scale.height(fitness))

    def _height_to_row(self, height: float) -> int:
        return round(self._top * (1 - height))

    def _column(self, generation: int) -> int:
        return round((self._columns - 1) * generation / max(self._last, 1))
