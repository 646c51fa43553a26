"""A plan as a picture: stacked bars of memory, and the pressure of every GPU beside its bar."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colocate.advise.latency import predictions_of
from colocate.errors import InputError
from colocate.inputs.fleet import Fleet
from colocate.latency.prediction import Prediction
from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure
from colocate.outputs.page.palette import colour_of, on_paper
from colocate.outputs.plan.fleet_bars import Bar, Bars, fleet_bars
from colocate.outputs.plan.latency_bars import latency_bars
from colocate.outputs.plan.latency_plot import LatencyPlot
from colocate.outputs.plan.latency_words import value_line
from colocate.outputs.plan.pen import LETTERS, MEASURE, ROW, SMALL, Pen
from colocate.outputs.plan.words import (
    NOTHING_PROVEN,
    as_sentence,
    proof_line,
    short_sleep_line,
)
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.solver.plan import Plan

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure

WIDTH, HEAD, FOOT, NOTE = 10.0, 0.85, 0.4, 0.22
"""Inches: of the picture, above and below the rows, and for what is left out."""
LEFT, RIGHT, GUTTER, GAUGES = 0.15, 0.15, 0.12, 1.6
"""Inches: the edges, between columns, and of the bars of pressure."""
MOST_NAMES, FIGURES = 2.2, 0.85
"""Inches: of the longest name that is not cut, and of a pressure."""
LARGE = 13.0
"""Points."""
PADDING = 5.0
"""Points between the edge of a bar's segment and the letters in it."""
RESERVE, GAUGE = "#c9c9c2", "#7d8794"


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
    drawing = _Drawing(plan, fleet_bars(plan, fleet), predictions_of(plan))
    return written_figure(drawing.figure, form)


@dataclass(frozen=True)
class _Drawing:
    """A picture of bars."""

    plan: Plan
    bars: Bars
    predictions: tuple[Prediction, ...] = ()

    def figure(self) -> "Figure":
        """Return the whole picture; all lengths in it are inches from its top left."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415, an extra
        from matplotlib.figure import Figure  # noqa: PLC0415, an extra

        fleet = HEAD + ROW * len(self.bars.drawn) + FOOT + (NOTE if self.bars.rest else 0.0)
        panel = LatencyPlot(latency_bars(self.predictions), fleet, (LEFT, WIDTH - RIGHT))
        height = fleet + panel.height
        figure = Figure(figsize=(WIDTH, height), dpi=MEASURE, facecolor="white")
        renderer: RendererAgg = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, WIDTH), ylim=(height, 0.0))
        axes.set_axis_off()
        pen = Pen(axes, renderer)
        self._head(pen)
        names = max(
            pen.width(one_line(bar.gpu.name, LONGEST_NAME), LETTERS) for bar in self.bars.drawn
        )
        columns = _Columns(min(names, MOST_NAMES))
        gpus = pen.names([(bar.gpu.name, columns.names) for bar in self.bars.drawn], LETTERS)
        models = iter(pen.names(self._models(columns), SMALL))
        for number, (bar, name) in enumerate(zip(self.bars.drawn, gpus, strict=True)):
            y = HEAD + ROW * (number + 0.5)
            pen.write(LEFT, y, name, columns.names, LETTERS)
            self._row(pen, columns, y, bar, models)
        self._foot(pen, columns)
        panel.draw(pen)
        return figure

    def _head(self, pen: "Pen") -> None:
        room = WIDTH - LEFT - RIGHT
        headline = as_sentence(value_line(self.plan, self.predictions))
        pen.write(LEFT, 0.3, headline, room, LARGE, weight="bold")
        told = [as_sentence(proof_line(self.plan)) or NOTHING_PROVEN, short_sleep_line(self.plan)]
        pen.write(LEFT, 0.58, "; ".join(filter(None, told)), room, LETTERS, SOFT)

    def _models(self, columns: "_Columns") -> list[tuple[str, float]]:
        """Return the names of all parts that are drawn, each with its room."""
        scale = columns.bars / self.bars.largest_gb
        return [
            (
                f"{part.name} ({part.which})" if part.which else part.name,
                part.size_gb * scale - 2 * PADDING / 72,
            )
            for bar in self.bars.drawn
            for part in bar.largest
        ]

    def _row(
        self, pen: "Pen", columns: "_Columns", y: float, bar: Bar, names: Iterator[str]
    ) -> None:
        """Draw a GPU; the names of its parts come next."""
        scale = columns.bars / self.bars.largest_gb
        x = columns.first_bar
        for part in bar.largest:
            width = part.size_gb * scale
            pen.fill(x, y, width, on_paper(colour_of(part.number)))
            pen.write(x + PADDING / 72, y, next(names), width - 2 * PADDING / 72, SMALL)
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
        pen.write(columns.figures, y, bar.shown, FIGURES, LETTERS, shade)
        pen.fill(columns.gauges, y, GAUGES, FAINT, 0.25)
        pen.fill(columns.gauges, y, GAUGES * bar.of_peak, ALARM if bar.worst else GAUGE, 0.25)

    def _foot(self, pen: "Pen", columns: "_Columns") -> None:
        y = HEAD + ROW * len(self.bars.drawn) + 0.16
        held = "memory, to scale: models in colours, free for KV cache in grey"
        if any(bar.reserve_gb for bar in self.bars.drawn):
            held += ", reserve hatched"
        pen.write(columns.first_bar, y, held, columns.bars, SMALL, SOFT)
        told = "worst latency / target" if self.bars.by_latency else "pressure"
        pen.write(columns.figures, y, told, FIGURES + GAUGES, SMALL, SOFT)
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
