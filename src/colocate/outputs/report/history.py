"""How value and bound came together while the solver ran."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import Point, label, picture, steps
from colocate.outputs.plan.words import as_sentence, shown_pressure
from colocate.solver.plan import Improvement, Plan

WIDE, NARROW = (912, 260), (360, 240)
"""Sizes of the chart, since letters that shrink with it could not be read."""
LEFT, RIGHT, TOP, BOTTOM = 76, 14, 30, 46
"""Margins around the lines, in points: for the numbers and names of the axes."""
MOST_STEPS = 400
"""Steps of a line; with more, several would fall on one point of the screen."""
EARLIEST = 1e-4
"""Seconds, as far left as the chart goes."""
ROOM = 0.08
"""Above and below the lines, as a share of what they span."""
NOUNS = {"pressure": "peak pressure", "latency": "worst latency over its target"}
"""What a plan minimises, by objective."""
AXES = {"pressure": "pressure", "latency": "latency / target"}


@dataclass(frozen=True)
class History:
    """Value and bound over time."""

    steps: tuple[Improvement, ...]
    seconds: float
    objective: str = "pressure"

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The legend: the style of each line, and its meaning."""
        noun = NOUNS[self.objective]
        return (("best", f"the {noun} of the best so far"), ("optimum", "the bound"))

    @classmethod
    def of(cls, plan: Plan) -> "History | None":
        """Return the history of a plan, None if there is too little to be drawn."""
        told = [step for step in plan.history if isfinite(step.value) and step.bound > 0]
        thinned = (
            told[:: ceil(len(told) / MOST_STEPS)] + told[-1:] if len(told) > MOST_STEPS else told
        )
        objective = plan.problem.objective
        return cls(tuple(thinned), plan.seconds, objective) if len(told) > 1 else None

    def draw(self, name: str, size: tuple[int, int]) -> Markup:
        """Return the chart at a size; `name` tells its parts from those at other sizes."""
        width, height = size
        axes = _Frame(self, width - RIGHT, height - BOTTOM)
        values = [axes.point(step.seconds, step.value) for step in self.steps]
        bounds = [axes.point(step.seconds, step.bound) for step in self.steps]
        return picture(
            name,
            size,
            f"{as_sentence(NOUNS[self.objective])} and bound over time",
            self._described(),
            *_frame(axes),
            steps(bounds, axes.right, "optimum"),
            steps(values, axes.right, "best"),
        )

    def _described(self) -> str:
        first, last = self.steps[0], self.steps[-1]
        return (
            f"{len(self.steps)} improvements in {shown_seconds(last.seconds)}: the "
            f"{NOUNS[self.objective]} from {shown_pressure(first.value)} to "
            f"{shown_pressure(last.value)}, the bound from {shown_pressure(first.bound)} to "
            f"{shown_pressure(last.bound)}."
        )


@dataclass(frozen=True)
class _Frame:
    """Where times and pressures are."""

    history: History
    right: int
    bottom: int

    @property
    def times(self) -> tuple[float, float]:
        """The powers of ten at the edges."""
        shown = self.history.steps
        first = log10(max(shown[0].seconds, EARLIEST))
        last = log10(max(self.history.seconds, shown[-1].seconds, EARLIEST))
        return first, max(last, first + 0.3)

    @property
    def pressures(self) -> tuple[float, float]:
        """Those at the bottom and at the top."""
        lowest = min(step.bound for step in self.history.steps)
        highest = max(step.value for step in self.history.steps)
        room = ROOM * ((highest - lowest) or highest)
        return max(lowest - room, 0.0), highest + room

    def x(self, seconds: float) -> float:
        first, last = self.times
        share = (log10(max(seconds, EARLIEST)) - first) / (last - first)
        return LEFT + (self.right - LEFT) * min(max(share, 0.0), 1.0)

    def y(self, pressure: float) -> float:
        low, high = self.pressures
        return self.bottom - (self.bottom - TOP) * (pressure - low) / (high - low)

    def point(self, seconds: float, pressure: float) -> Point:
        return self.x(seconds), self.y(pressure)


def shown_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.3g} s"


def _frame(axes: _Frame) -> Iterator[Markup]:
    for pressure in _round_values(*axes.pressures):
        y = axes.y(pressure)
        yield tag("path", d=f"M{LEFT} {y:.1f}H{axes.right}", class_="grid")
        yield label(LEFT - 10, y + 4, f"{pressure:.6g}", "end")
    for seconds in _round_times(*axes.times):
        yield label(axes.x(seconds), axes.bottom + 20, shown_seconds(seconds), "middle")
    yield label((LEFT + axes.right) / 2, axes.bottom + BOTTOM - 6, "time (logarithmic)", "middle")
    yield label(0, 16, AXES[axes.history.objective], "start")


def _round_values(low: float, high: float) -> Sequence[float]:
    """Return about four values between two that are easy to read."""
    least = (high - low) / 4
    power = 10.0 ** floor(log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
    return [step * number for number in range(ceil(low / step), floor(high / step) + 1)]


def _round_times(first: float, last: float) -> Sequence[float]:
    """Return times between two powers of ten that are easy to read, more of them if these are near.

    There is always one: no two of them differ by more than the powers do.
    """
    factors = (1,) if last - first > 2 else (1, 3) if last - first > 1 else (1, 2, 3, 5, 7)
    powers = range(floor(first), floor(last) + 1)
    times = [10.0**power * factor for power in powers for factor in factors]
    return [time for time in times if first <= log10(time) <= last]
