"""A plan as a picture: stacked bars of memory, and the pressure of every GPU beside its bar."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet
from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure
from colocate.outputs.page.palette import colour_of, on_paper
from colocate.outputs.plan.fleet_bars import Bar, Bars, cut_in_middle, fleet_bars
from colocate.outputs.plan.words import (
    NOTHING_PROVEN,
    as_sentence,
    peak_line,
    proof_line,
    short_sleep_line,
    shown_pressure,
)
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.solver.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, ROW, HEAD, FOOT, NOTE = 10.0, 0.3, 0.85, 0.4, 0.22
"""Inches: of the picture, of a GPU's row, above and below the rows, and for what is left out."""
LEFT, RIGHT, GUTTER, GAUGES = 0.15, 0.15, 0.12, 1.6
"""Inches: the edges, between columns, and of the bars of pressure."""
MOST_NAMES, FIGURES = 2.2, 0.85
"""Inches: of the longest name that is not cut, and of a pressure."""
THICKNESS = 0.76
"""Of a bar, as a share of its row."""
LETTERS, SMALL, LARGE = 9.0, 8.0, 13.0
"""Points."""
LEAST_ROOM = 0.2
"""Inches, under which nothing is cut to fit."""
PADDING = 5.0
"""Points between the edge of a bar's segment and the letters in it."""
RESERVE, GAUGE = "#c9c9c2", "#7d8794"
MEASURE = 160
"""Dots for each inch when letters are measured."""


def plan_plot(plan: Plan, fleet: Fleet, form: str) -> bytes:
    """Draw a plan; the same plan gives the same bytes.

    Parameters
    ----------
    plan
        What to draw.
    fleet
        What else is known about the GPUs.
    form
        `svg` or `png`.

    Raises
    ------
    InputError
        If matplotlib is not installed, or the plan has no placement.
    """
    if not plan.placement:
        raise InputError(f"there is no placement to draw ({plan.status}: {plan.reason})")
    return written_figure(_Drawing(plan, fleet_bars(plan, fleet)).figure, form)


@dataclass(frozen=True)
class _Drawing:
    """A picture of bars."""

    plan: Plan
    bars: Bars

    def figure(self) -> "Figure":
        """Return the whole picture; all lengths in it are inches from its top left."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415, an extra
        from matplotlib.figure import Figure  # noqa: PLC0415, an extra

        height = HEAD + ROW * len(self.bars.drawn) + FOOT + (NOTE if self.bars.rest else 0.0)
        figure = Figure(figsize=(WIDTH, height), dpi=MEASURE, facecolor="white")
        renderer: RendererAgg = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, WIDTH), ylim=(height, 0.0))
        axes.set_axis_off()
        pen = _Pen(axes, renderer)
        self._head(pen)
        names = max(
            pen.width(one_line(bar.gpu.name, LONGEST_NAME), LETTERS) for bar in self.bars.drawn
        )
        columns = _Columns(min(names, MOST_NAMES))
        for number, bar in enumerate(self.bars.drawn):
            self._row(pen, columns, HEAD + ROW * (number + 0.5), bar)
        self._foot(pen, columns)
        return figure

    def _head(self, pen: "_Pen") -> None:
        room = WIDTH - LEFT - RIGHT
        pen.write(LEFT, 0.3, as_sentence(peak_line(self.plan)), room, LARGE, weight="bold")
        told = [as_sentence(proof_line(self.plan)) or NOTHING_PROVEN, short_sleep_line(self.plan)]
        pen.write(LEFT, 0.58, "; ".join(filter(None, told)), room, LETTERS, SOFT)

    def _row(self, pen: "_Pen", columns: "_Columns", y: float, bar: Bar) -> None:
        pen.write(LEFT, y, bar.gpu.name, columns.names, LETTERS)
        scale = columns.bars / self.bars.largest_gb
        x = columns.first_bar
        for part in bar.largest:
            width = part.size_gb * scale
            pen.fill(x, y, width, on_paper(colour_of(part.number)))
            name = f"{part.name} ({part.which})" if part.which else part.name
            pen.write(x + PADDING / 72, y, name, width - 2 * PADDING / 72, SMALL)
            x += width
        if bar.others:
            width = sum(part.size_gb for part in bar.others) * scale
            pen.fill(x, y, width, GAUGE)
            x += width
        pen.fill(x, y, bar.free_gb * scale, FAINT)
        told = f"{bar.free_gb:.4g} GB free"
        pen.write_whole(x + PADDING / 72, y, told, bar.free_gb * scale - 2 * PADDING / 72)
        if bar.reserve_gb:
            pen.fill(x + bar.free_gb * scale, y, bar.reserve_gb * scale, RESERVE, hatch="//////")
        shade = ALARM if bar.worst else INK
        pen.write(columns.figures, y, shown_pressure(bar.pressure), FIGURES, LETTERS, shade)
        pen.fill(columns.gauges, y, GAUGES, FAINT, 0.25)
        pen.fill(columns.gauges, y, GAUGES * bar.of_peak, ALARM if bar.worst else GAUGE, 0.25)

    def _foot(self, pen: "_Pen", columns: "_Columns") -> None:
        y = HEAD + ROW * len(self.bars.drawn) + 0.16
        held = "memory, to scale: models in colours, free for KV cache in grey"
        if any(bar.reserve_gb for bar in self.bars.drawn):
            held += ", reserve hatched"
        pen.write(columns.first_bar, y, held, columns.bars, SMALL, SOFT)
        pen.write(columns.figures, y, "pressure", FIGURES + GAUGES, SMALL, SOFT)
        pen.write(LEFT, y + NOTE, self.bars.rest, WIDTH - LEFT - RIGHT, SMALL, SOFT)


@dataclass(frozen=True)
class _Columns:
    """Where what begins."""

    names: float
    """The width of the names."""

    @property
    def first_bar(self) -> float:
        return LEFT + self.names + GUTTER

    @property
    def gauges(self) -> float:
        return WIDTH - RIGHT - GAUGES

    @property
    def figures(self) -> float:
        return self.gauges - GUTTER - FIGURES

    @property
    def bars(self) -> float:
        """The length of the longest bar."""
        return self.figures - GUTTER - self.first_bar


@dataclass(frozen=True)
class _Pen:
    """Draws on axes whose units are inches."""

    axes: "Axes"
    renderer: "RendererAgg"

    def fill(
        self, x: float, y: float, width: float, shade: Any, thickness: float = 1.0, hatch: str = ""
    ) -> None:
        """Draw a bar that begins at a point; one with a hatch is not for use."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415, an extra

        tall = ROW * THICKNESS * thickness
        edge = shade if hatch else "white"
        bar = Rectangle((x, y - tall / 2), width, tall, edgecolor=edge, linewidth=0.6, hatch=hatch)
        bar.set_facecolor("white" if hatch else shade)
        self.axes.add_patch(bar)

    def write(
        self,
        x: float,
        y: float,
        text: str,
        room: float,
        points: float,
        shade: str = INK,
        weight: str = "normal",
    ) -> None:
        """Write a text in one line, cut so that it needs no more than some room."""
        if fitting := self._fitting(one_line(text), room, points, weight):
            self._text(x, y, fitting, points, shade, weight)

    def write_whole(self, x: float, y: float, text: str, room: float) -> None:
        """Write a text if there is room for all of it."""
        if self.width(text, SMALL) <= room:
            self._text(x, y, text, SMALL, SOFT, "normal")

    def width(self, text: str, points: float, weight: str = "normal") -> float:
        """Return how much room a text needs."""
        written = self._text(0.0, 0.0, text, points, INK, weight)
        extent = written.get_window_extent(self.renderer)
        written.remove()
        return float(extent.width) / MEASURE

    def _text(
        self, x: float, y: float, text: str, points: float, shade: str, weight: str
    ) -> "Text":
        return self.axes.text(
            x,
            y,
            text,
            size=points,
            color=shade,
            weight=weight,
            verticalalignment="center_baseline",
            parse_math=False,
        )

    def _fitting(self, text: str, room: float, points: float, weight: str) -> str:
        """Return as much of a text as there is room for, nothing if that is almost none.

        It is cut in the middle, since names that are alike often differ at their ends.
        """
        if self.width(text, points, weight) <= room:
            return text
        if room < LEAST_ROOM:
            return ""
        low, high = 0, min(len(text), int(72 * room))
        while low < high:
            middle = (low + high + 1) // 2
            if self.width(cut_in_middle(text, middle), points, weight) <= room:
                low = middle
            else:
                high = middle - 1
        return cut_in_middle(text, low) if low > 1 else ""
