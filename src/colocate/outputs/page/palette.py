"""A colour for every model, the same in every picture of a fleet.

Colours are given in OKLCH (B. Ottosson, 2020), in which equal steps look equally large: a hue of
its own for every model, far from those of its neighbours, and one of three lightnesses.
"""

from math import cos, radians, sin
from typing import NamedTuple

GOLDEN_ANGLE = 137.50776405
"""Steps of this angle never repeat a hue, and any few in a row are far apart."""
FIRST_HUE = 250.0
"""A blue, which nobody takes for a warning."""
TIERS = 3
"""Lightnesses: neighbours in hue differ in lightness."""
PAPER_LIGHTNESS, TIER_LIGHTNESS, CHROMA = 0.74, 0.06, 0.105
"""Of colours on white: dark enough to stand out, light enough for black letters."""


class Colour(NamedTuple):
    """The part of a colour that belongs to a model; the background decides how light it is."""

    hue: float
    tier: int
    """The larger, the lighter: from 0 to 2."""


def colour_of(number: int) -> Colour:
    """Return the colour of the model of that number."""
    return Colour((FIRST_HUE + number * GOLDEN_ANGLE) % 360.0, number % TIERS)


def on_paper(colour: Colour) -> tuple[float, float, float]:
    """Return red, green and blue, from 0 to 1, on a white background."""
    lightness = PAPER_LIGHTNESS + TIER_LIGHTNESS * colour.tier
    a = CHROMA * cos(radians(colour.hue))
    b = CHROMA * sin(radians(colour.hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encoded(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
        _encoded(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
        _encoded(-0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short),
    )


def _encoded(light: float) -> float:
    """Return an amount of light as sRGB keeps it."""
    light = min(max(light, 0.0), 1.0)
    return 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
