"""Draws bars and texts on a picture whose units are inches, each text cut to its room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colocate.outputs.page.figure import INK, SOFT
from colocate.outputs.plan.distinct_names import distinct_names
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.text.sanitise import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.text import Text

ROW, THICKNESS = 0.3, 0.76
"""Inches of a row, and the share of it that a bar takes."""
LETTERS, SMALL = 9.0, 8.0
"""Points."""
LEAST_ROOM = 0.2
"""Inches, under which nothing is cut to fit."""
MEASURE = 160
"""Dots for each inch when letters are measured."""


@dataclass(frozen=True)
class Pen:
    """Draws on axes whose units are inches."""

    axes: "Axes"
    renderer: "RendererAgg"

    def fill(
        self, x: float, y: float, width: float, shade: Any, thickness: float = 1.0, hatch: str = ""
    ) -> None:
        """Draw a bar that begins at a point.

        Parameters
        ----------
        x, y
            Where it begins, and its middle from top to bottom.
        width
            Of the bar.
        shade
            Its colour.
        thickness
            As a share of the usual one.
        hatch
            The pattern of a bar that is not for use.
        """
        from matplotlib.patches import Rectangle  # noqa: PLC0415, an extra

        tall = ROW * THICKNESS * thickness
        edge = shade if hatch else "white"
        bar = Rectangle((x, y - tall / 2), width, tall, edgecolor=edge, linewidth=0.6, hatch=hatch)
        bar.set_facecolor("white" if hatch else shade)
        self.axes.add_patch(bar)

    def line(self, x: float, top: float, bottom: float) -> None:
        """Draw a line from the top down.

        Parameters
        ----------
        x, top, bottom
            Where it is, begins and ends.
        """
        from matplotlib.patches import Rectangle  # noqa: PLC0415, an extra

        self.axes.add_patch(Rectangle((x, top), 0.0, bottom - top, edgecolor=INK, linewidth=1.4))

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
        """Write a text in one line, cut so that it needs no more than some room.

        Parameters
        ----------
        x, y
            Where it begins, and its middle from top to bottom.
        text, room
            What to write, and how wide it may become.
        points, shade, weight
            The size, colour and thickness of the letters.
        """
        if fitting := self._fitting(one_line(text), room, points, weight):
            self._text(x, y, fitting, points, shade, weight)

    def write_whole(self, x: float, y: float, text: str, room: float) -> None:
        """Write a text in small letters if there is room for all of it.

        Parameters
        ----------
        x, y, text, room
            As in `write`.
        """
        if self.width(text, SMALL) <= room:
            self._text(x, y, text, SMALL, SOFT, "normal")

    def names(self, names: Sequence[tuple[str, float]], points: float) -> list[str]:
        """Return names, each cut to its room, so that no two different ones look alike.

        Parameters
        ----------
        names
            Each with its room.
        points
            The size of the letters.
        """
        lines = [(one_line(name), room) for name, room in names]
        return distinct_names(lines, lambda t, room: self._fitting(t, room, points, "normal"))

    def width(self, text: str, points: float, weight: str = "normal") -> float:
        """Return how much room a text needs.

        Parameters
        ----------
        text, points, weight
            As in `write`.
        """
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
