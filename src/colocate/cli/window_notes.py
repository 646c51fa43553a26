"""What a plan over time windows says on stderr: whether these can be trusted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet

MOST_NAMES = 5
"""Names in a note, which should stay short."""


def say_whether_windows_hold(fleet: "Fleet") -> None:
    """Print on stderr whose windows are not worth trusting, by the history of their demand."""
    from colocate.inputs.window_trust import window_trust
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.wording import listed, quoted

    trust = window_trust(fleet.spec)
    if trust.doubtful:
        names = listed([quoted(name) for name in trust.doubtful], MOST_NAMES)
        advice = "give them one rate, their peak, or plan with --headroom"
        told = f"{names}: windows are not worth trusting, yesterday tells little of today; {advice}"
        notes().print(f"note: {told}", markup=False)
