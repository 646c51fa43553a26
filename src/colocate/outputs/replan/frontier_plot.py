"""The frontier as a picture: the value over what is loaded, with the bound below it."""

from math import isfinite

from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture, steps
from colocate.outputs.replan.words import noun, value_text
from colocate.outputs.text.wording import gigabytes
from colocate.replan.replanning import Replanning

WIDTH, HEIGHT = 640, 320
"""In pixels: as wide as a page of text."""
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 45
"""Margins for the figures beside the axes."""
TICKS = 4
"""Figures on each axis, less one: more would touch each other."""
STYLE = """
svg.frontier{max-width:100%;font:12px system-ui,sans-serif}
.frontier .frame{fill:none;stroke:#8884}
.frontier .value{fill:none;stroke:#2b5ea8;stroke-width:2}
.frontier .bound{fill:none;stroke:#2f7d4f;stroke-dasharray:5 4}
.frontier .point{fill:#2b5ea8}.frontier .chosen{fill:#b3361b}
.frontier text{fill:currentColor}
"""


def frontier_picture(found: Replanning) -> Markup:
    """Draw the points of a replan that are finite."""
    points = [point for point in found.points if isfinite(point.value)]
    most = max((point.moved_gb for point in points), default=0.0) or 1.0
    high = max((point.value for point in points), default=0.0) or 1.0

    def x(gb: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * gb / most

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / high)

    parts = [
        tag("rect", x=LEFT, y=TOP, width=WIDTH - LEFT - RIGHT, height=HEIGHT - TOP - BOTTOM,
            class_="frame"),
    ]  # fmt: skip
    for tick in range(TICKS + 1):
        share = tick / TICKS
        parts.append(label(LEFT - 6, y(high * share) + 4, value_text(high * share), "end"))
        parts.append(label(x(most * share), HEIGHT - 24, gigabytes(most * share), "middle"))
    parts.append(label((LEFT + WIDTH) / 2, HEIGHT - 6, "weights to load", "middle"))
    if points:
        line = [(x(point.moved_gb), y(point.value)) for point in points]
        bound = [(x(point.moved_gb), y(point.bound)) for point in points]
        parts += [steps(line, WIDTH - RIGHT, "value"), steps(bound, WIDTH - RIGHT, "bound")]
    for point, place in ((p, n) for n, p in enumerate(found.points) if isfinite(p.value)):
        kind = "chosen" if place == found.chosen else "point"
        told = f"{gigabytes(point.moved_gb)}: {value_text(point.value)}"
        parts.append(
            tag("circle", tag("title", told), cx=f"{x(point.moved_gb):.1f}",
                cy=f"{y(point.value):.1f}", r=4, class_=kind)
        )  # fmt: skip
    told = f"{len(points)} points, from {value_text(high)} without a move"
    return picture("frontier", (WIDTH, HEIGHT), f"{noun(found)} over what is loaded", told, *parts)


def frontier_svg(found: Replanning) -> str:
    """Return the picture as a file of its own."""
    drawn = str(frontier_picture(found))
    styled = drawn.replace(">", f"><style>{STYLE}svg{{color:#222;background:#fff}}</style>", 1)
    return styled.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"
