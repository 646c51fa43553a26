"""Small pieces of the page: bars for figures, colours and names of models."""

from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.palette import colour_of
from colocate.outputs.plan.fleet_bars import BarPart
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import gigabytes


def gauge(share: float, worst: bool = False) -> Markup:
    """Draw a share as a bar."""
    filled = tag("span", style=f"width:{100 * share:.2f}%")
    return tag("span", filled, class_="gauge worst" if worst else "gauge", aria_hidden="true")


def colouring(part: BarPart) -> str:
    """Return the style that gives a model its colour; the sheet says how light it is."""
    colour = colour_of(part.number)
    return f"--hue:{colour.hue:.1f};--tier:{colour.tier}"


def described(part: BarPart) -> str:
    """Return the model and part, with its size and load, as a sentence."""
    which = f", {part.which}" if part.which else ""
    return f"{one_line(part.name)}{which}: {gigabytes(part.size_gb)}, load {part.load:.4g}"
