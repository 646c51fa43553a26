"""What a plan over time windows says on stderr: whether these can be trusted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet

MOST_NAMES = 5
"""Names in a note, which should stay short."""


def say_about_windows(fleet: "Fleet") -> None:
    """Print on stderr which windows a plan leaves out, if any, and whose are not worth trusting."""
    from colocate.inputs.fleet_windows import kept_in_full, left_out
    from colocate.inputs.window_trust import window_trust
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.wording import listed, quoted

    without = left_out(fleet.spec)
    if without.windows:
        names = listed([quoted(window.name) for window in without.windows], MOST_NAMES)
        told = (
            f"{names}: left out, {100 * without.share:.3g}% of the time; the plan promises nothing"
        )
        notes().print(f"note: {told} there, and its proof is about the others", markup=False)
    if kept := kept_in_full(fleet.spec):
        (busiest,) = kept.windows
        told = f"a percentile of {fleet.spec.window_percentile:g} leaves nothing out"
        why = (
            "the fleet has no time windows"
            if kept.share == 1.0
            else f"{quoted(busiest.name)}, the window with most demand, is {100 * kept.share:.3g}% "
            "of the time"
        )
        notes().print(f"note: {told}: {why}", markup=False)
    trust = window_trust(fleet.spec)
    if trust.doubtful:
        names = listed([quoted(name) for name in trust.doubtful], MOST_NAMES)
        advice = "give them one rate, their peak, or plan with --headroom"
        told = f"{names}: windows are not worth trusting, yesterday tells little of today; {advice}"
        notes().print(f"note: {told}", markup=False)
