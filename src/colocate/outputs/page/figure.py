"""Pictures drawn by matplotlib, which is an extra, the same bytes on every machine.

Each is drawn on a figure of its own: nothing is set for others.
"""

from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from colocate.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, FAINT, ALARM = "#222222", "#62625e", "#ecece7", "#b5332e"
"""Colours of letters, lesser letters, the background, and warnings."""
LOOKS: Any = {
    "font.family": "DejaVu Sans",
    "hatch.linewidth": 0.6,
    "path.simplify": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "colocate",
    "text.usetex": False,
}
"""The same on every machine, whatever its settings."""
METADATA: Any = {"svg": {"Date": None, "Creator": "colocate"}, "png": {"Software": "colocate"}}
"""No time and no version: the same facts give the same picture."""
DOTS = {"svg": 72, "png": 160}
"""For each inch."""


def require_matplotlib() -> None:
    """Raise InputError if there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise InputError(
            "a plot needs matplotlib: pip install matplotlib, or '.[plot]' from a clone"
        )


def written_figure(draw: "Callable[[], Figure]", form: str) -> bytes:
    """Draw a figure and return it as `svg` or `png`; raises InputError without matplotlib."""
    require_matplotlib()
    from matplotlib import rc_context  # noqa: PLC0415, an extra

    written = BytesIO()
    with rc_context(LOOKS), catch_warnings():
        simplefilter("ignore")  # letters that the font lacks are drawn as boxes
        draw().savefig(written, format=form, dpi=DOTS[form], metadata=METADATA[form])
    return written.getvalue()
