"""Pieces that the plots on pages share."""

from collections.abc import Sequence

from colocate.outputs.page.markup import Markup, tag

Point = tuple[float, float]


def picture(name: str, size: tuple[int, int], title: str, told: str, *parts: Markup) -> Markup:
    """Return a plot at a size.

    Parameters
    ----------
    name
        Tells its parts from those of the same plot at another size.
    size
        Width and height.
    title, told
        What it shows, and what can be seen in it, for those who cannot see it.
    parts
        What is drawn.
    """
    width, height = size
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", told, id=f"{name}-desc"),
        *parts,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_=f"plot {name}",
        viewBox=f"0 0 {width} {height}",
    )


def label(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> Markup:
    """Return a text of one line at a point.

    Parameters
    ----------
    x, y
        The point.
    text
        What to write.
    anchor
        Which end of the text is at the point: `start`, `middle` or `end`.
    kind
        The class in the style sheet.
    """
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def steps(points: Sequence[Point], right: float, kind: str) -> Markup:
    """Return a line on which every value holds until the next one.

    Parameters
    ----------
    points
        Where the values change.
    right
        Where the line ends.
    kind
        The class in the style sheet.
    """
    (x, y), *others = points
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return tag("path", d=f"{path}H{right:g}", class_=kind)
