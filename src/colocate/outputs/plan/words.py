"""The words for a plan: the same on screen, page and picture."""

from math import inf, isinf

from colocate.outputs.text.wording import amount, listed
from colocate.problem.level import Level
from colocate.problem.tolerance import LEAST_SHOWN, PROVEN
from colocate.solver.plan import Plan, gap_between
from colocate.solver.proof_words import PROOFS

NOTHING_PROVEN = "Nothing is proven"
FIRST_LEVELS = 4
"""Levels that one line names."""
FEW_NAMES = 2
"""So many names fit where there is little room."""


def shown_pressure(pressure: float) -> str:
    """Return a pressure as it is written."""
    return "∞" if isinf(pressure) else f"{pressure:#.6g}"


def shown_gap(gap: float) -> str:
    """Return the largest possible distance from the optimum, in words."""
    if gap >= 1.0:
        return f"at most {1.0 + gap:.2g} times the optimum"
    if gap < LEAST_SHOWN:
        return f"less than {100 * LEAST_SHOWN:g}% above the optimum"
    return f"at most {100 * gap:.2g}% above the optimum"


def peak_line(plan: Plan) -> str:
    """Return the highest pressure and its GPU, in words."""
    peak = f"peak pressure {shown_pressure(plan.pressure)} on {plan.bottleneck}"
    return f"{peak}{_in_window(plan)}{_with_headroom(plan)}"


def _in_window(plan: Plan) -> str:
    """Return in which time window the bottleneck has its pressure; empty if there is only one."""
    windows = plan.problem.named_windows
    if len(windows) == 1 or not plan.pressure > 0.0 or not plan.bottleneck:
        return ""
    parts = plan.models_by_gpu()[plan.bottleneck]
    if all(len(part.load) == 1 for part in parts):
        return ""
    loads = [
        sum(part.load[window] if len(part.load) > 1 else part.load[0] for part in parts)
        for window in range(len(windows))
    ]
    busiest = max(range(len(windows)), key=loads.__getitem__)
    return f" in {windows[busiest].name}, the worst of {len(windows)} windows"


def _with_headroom(plan: Plan) -> str:
    headroom = plan.problem.headroom
    return f", with {100 * headroom:.3g}% more demand than stated" if headroom else ""


def proof_line(plan: Plan) -> str:
    """Return what is known about the optimum, and by which proof; empty if nothing is known."""
    if not plan.certificate or plan.gap == inf:
        return ""
    proven = f"to be {shown_gap(plan.gap)}"
    if plan.gap <= PROVEN:
        proven = "optimal" if plan.loses_least else "optimal for the models that are awake"
    return f"proven {proven}, by {PROOFS[plan.certificate.proof]}"


def levels_line(plan: Plan) -> str:
    """Return how many levels are proven, and the first of them; empty if only the peak counts."""
    if len(plan.levels) <= 1:
        return ""
    first = [_shown_level(level) for level in plan.levels[:FIRST_LEVELS]]
    more = ", …" if len(plan.levels) > FIRST_LEVELS else ""
    return f"levels: {plan.levels_proven} of {len(plan.levels)} proven: {', '.join(first)}{more}"


def _shown_level(level: Level) -> str:
    """Return the pressure of a level, and how far above the lowest possible it may be."""
    pressure, gap = shown_pressure(level.pressure), gap_between(level.pressure, level.bound)
    if gap <= PROVEN:
        return pressure
    return f"{pressure} (no bound)" if isinf(gap) else f"{pressure} (gap {100 * gap:.2g}%)"


def alarm_lines(plan: Plan) -> list[str]:
    """Return the claims that turned out to be false, one line each."""
    return [
        f"alarm: a bound of {shown_pressure(alarm.bound)} by {alarm.proof} is false and was not "
        f"used; please report it with this fleet"
        for alarm in plan.alarms
    ]


def sleep_line(plan: Plan) -> str:
    """Return the models left asleep and the loss, in words; empty if all models are awake."""
    if not plan.asleep:
        return ""
    return f"asleep: {listed(plan.asleep)}; {_lost(plan)}"


def short_sleep_line(plan: Plan) -> str:
    """Return the same for little room: with many models, only their number."""
    if len(plan.asleep) <= FEW_NAMES:
        return sleep_line(plan)
    return f"{amount(len(plan.asleep), 'model')} asleep; {_lost(plan)}"


def _lost(plan: Plan) -> str:
    least = ", proven to be the least" if plan.loses_least else ""
    return f"demand lost {plan.lost:.6g}{least}"


def as_sentence(line: str) -> str:
    """Return a line as the beginning of a text."""
    return line[:1].upper() + line[1:]
