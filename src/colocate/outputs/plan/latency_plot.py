"""The part of a picture that shows latencies: a bar a model, against the target."""

from dataclasses import dataclass

from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT
from colocate.outputs.plan.latency_bars import LatencyBar, LatencyBars
from colocate.outputs.plan.pen import LETTERS, ROW, SMALL, Pen
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line

HEAD, FOOT, NOTE = 0.55, 0.36, 0.2
"""Inches above and below the rows, and for what is left out."""
MOST_NAMES, FIGURES, TIMES, GUTTER = 2.2, 0.6, 1.95, 0.12
"""Inches: of the longest name that is not cut, of a ratio, of the times beside it, and between
columns."""
THIN = 0.62
"""Of a bar, as a share of those of memory."""
OVERHANG = 0.04
"""Inches by which the line of the target is longer than the rows, at both ends."""
ALONE, ADDED, ALONE_MISSED = "#2b5ea8", "#a3b9d8", "#7d2420"
TITLE = "What users feel: predicted latency over its target"


@dataclass(frozen=True)
class LatencyPlot:
    """Bars below the fleet.

    Parameters
    ----------
    bars
        What is drawn; nothing at all if there are none.
    top
        Where it begins, in inches.
    edges
        Its left and its right, in inches.
    """

    bars: LatencyBars
    top: float
    edges: tuple[float, float]

    @property
    def height(self) -> float:
        """Inches that it takes."""
        if not self.bars.drawn:
            return 0.0
        return HEAD + ROW * len(self.bars.drawn) + FOOT + (NOTE if self.bars.rest else 0.0)

    def draw(self, pen: Pen) -> None:
        """Draw all rows, then the target across them."""
        if not self.bars.drawn:
            return
        left, right = self.edges
        pen.write(left, self.top + 0.25, TITLE, right - left, LETTERS, weight="bold")
        names = max(
            pen.width(one_line(bar.worst.model, LONGEST_NAME), LETTERS) for bar in self.bars.drawn
        )
        first = left + min(names, MOST_NAMES) + GUTTER
        track = right - TIMES - FIGURES - 2 * GUTTER - first
        rows = self.top + HEAD
        shown = pen.names([(b.worst.model, first - left) for b in self.bars.drawn], LETTERS)
        for number, (bar, name) in enumerate(zip(self.bars.drawn, shown, strict=True)):
            y = rows + ROW * (number + 0.5)
            pen.write(left, y, name, first - left, LETTERS)
            self._row(pen, y, bar, (first, track))
        target = first + track * self.bars.share(1.0)
        bottom = rows + ROW * len(self.bars.drawn)
        pen.line(target, rows - OVERHANG, bottom + OVERHANG)
        told = "line: the target; dark: alone on its GPUs; light or red: added by its neighbours"
        pen.write(first, bottom + 0.18, told, right - first, SMALL, SOFT)
        if self.bars.rest:
            pen.write(left, bottom + 0.18 + NOTE, self.bars.rest, right - left, SMALL, SOFT)

    def _row(self, pen: Pen, y: float, bar: LatencyBar, track: tuple[float, float]) -> None:
        first, length = track
        alone = length * self.bars.share(bar.alone)
        whole = length * self.bars.share(bar.ratio)
        pen.fill(first, y, length, FAINT, THIN)
        pen.fill(first, y, alone, ALONE_MISSED if bar.alone > 1.0 else ALONE, THIN)
        pen.fill(first + alone, y, whole - alone, ALARM if bar.misses else ADDED, THIN)
        figures = first + length + GUTTER
        shade = ALARM if bar.misses else INK
        pen.write(figures, y, bar.figure, FIGURES, LETTERS, shade)
        pen.write(figures + FIGURES + GUTTER, y, bar.told, TIMES, SMALL, SOFT)
