"""Draw docs/gap_over_time.svg: the proven gap of ours over time, on fleets of the suite `scale`.

Usage: python benchmarks/gap_over_time.py [--seconds S]
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from pathlib import Path

from colocate import Plan, load_suite, solve

PICTURE = Path(__file__).parents[1] / "docs" / "gap_over_time.svg"
FLEETS = (64, 512)
COLOURS = {2: "#b5332e", 3: "#c77c11", 4: "#2f7d4f", 8: "#2b5ea8"}
"""By models a GPU."""
DASHES = {64: "6 4", 512: ""}
SMALLEST_GAP = 1e-6
WIDTH, HEIGHT = 960, 600
LEFT, RIGHT, TOP, BOTTOM = 90, 220, 60, 70

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """Gap over time on one fleet."""

    gpus: int
    models_per_gpu: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Axes:
    """Two logarithmic axes: powers of ten, and of time also the last one."""

    times: tuple[int, float]
    gaps: tuple[int, int]

    def x(self, seconds: float) -> float:
        """Return where a time is."""
        first, last = self.times
        return LEFT + (WIDTH - LEFT - RIGHT) * (log10(seconds) - first) / (last - first)

    def y(self, gap: float) -> float:
        """Return where a gap is."""
        lowest, highest = self.gaps
        return TOP + (HEIGHT - TOP - BOTTOM) * (highest - log10(gap)) / (highest - lowest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="time limit of every fleet")
    seconds = parser.parse_args().seconds
    solve(load_suite("adrs").cases[0].problem)
    curves = list(_curves(seconds))
    PICTURE.write_text(draw(curves, seconds), encoding="utf-8")
    print(f"wrote {PICTURE.name}")


def _curves(seconds: float) -> Iterable[Curve]:
    for case in load_suite("scale").cases:
        gpus = len(case.problem.gpus)
        if gpus in FLEETS:
            plan = solve(case.problem, time_limit=seconds)
            per_gpu = len(case.problem.models) // gpus
            print(f"{gpus} GPUs, {per_gpu} models a GPU: gap {plan.gap:.4%}")
            yield Curve(gpus, per_gpu, tuple(_points(plan, max(seconds, plan.seconds))))


def _points(plan: Plan, end: float) -> Iterable[Point]:
    """Yield when the gap became what; the last gap holds until the end."""
    gap = None
    for step in plan.history:
        if step.bound > 0 and isfinite(step.value):
            gap = max(step.value / step.bound - 1, SMALLEST_GAP)
            yield step.seconds, gap
    if gap is not None:
        yield end, gap


def draw(curves: Sequence[Curve], seconds: float) -> str:
    """Return the picture as SVG."""
    axes = _axes(curves)
    body = [*_frame(axes), *(_line(axes, curve) for curve in curves), *_legend(curves)]
    body.append(_text(LEFT, 32, f"Proven gap over time, up to {seconds:g} s", size=18, bold=True))
    style = 'font-family="system-ui, sans-serif" fill="#222"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fdfdfb"/>'
    return "\n".join([head, background, *body, "</svg>"]) + "\n"


def _axes(curves: Sequence[Curve]) -> Axes:
    times = [log10(seconds) for curve in curves for seconds, _ in curve.points]
    gaps = [log10(gap) for curve in curves for _, gap in curve.points]
    return Axes((floor(min(times)), max(times)), (floor(min(gaps)), ceil(max(gaps))))


def _frame(axes: Axes) -> Iterable[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for power in range(axes.times[0], floor(axes.times[1]) + 1):
        x = axes.x(10.0**power)
        yield _grid_line(x, TOP, x, bottom)
        yield _text(x, bottom + 22, _duration(power), anchor="middle")
    for power in range(axes.gaps[0], axes.gaps[1] + 1):
        y = axes.y(10.0**power)
        yield _grid_line(LEFT, y, right, y)
        yield _text(LEFT - 10, y + 5, f"{10.0 ** (power + 2):.10g}%", anchor="end")
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#555"/>'
    yield _text((LEFT + right) / 2, bottom + 50, "time since the start", anchor="middle")
    middle = (TOP + bottom) / 2
    yield _text(24, middle, "gap between value and bound", anchor="middle", turned=True)


def _line(axes: Axes, curve: Curve) -> str:
    """Draw steps: a gap holds until the next improvement."""
    (start, gap), *others = curve.points
    path = f"M{axes.x(start):.1f} {axes.y(gap):.1f}"
    path += "".join(f"H{axes.x(time):.1f}V{axes.y(gap):.1f}" for time, gap in others)
    return f'<path d="{path}" fill="none" {_stroke(curve)} stroke-linejoin="round"/>'


def _legend(curves: Sequence[Curve]) -> Iterable[str]:
    x, y = WIDTH - RIGHT + 24, TOP + 10
    for gpus in dict.fromkeys(curve.gpus for curve in curves):
        yield _text(x, y + 5, f"{gpus} GPUs", bold=True)
        for curve in (curve for curve in curves if curve.gpus == gpus):
            y += 26
            yield f'<path d="M{x} {y}h34" fill="none" {_stroke(curve)}/>'
            yield _text(x + 44, y + 5, f"{curve.models_per_gpu} models a GPU")
        y += 42


def _stroke(curve: Curve) -> str:
    dash = f' stroke-dasharray="{DASHES[curve.gpus]}"' if DASHES[curve.gpus] else ""
    return f'stroke="{COLOURS[curve.models_per_gpu]}" stroke-width="2.2"{dash}'


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#e2e2dc"/>'


def _text(
    x: float,
    y: float,
    text: str,
    size: int = 14,
    anchor: str = "start",
    bold: bool = False,
    turned: bool = False,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text {place}{weight}{turn}>{escape(text)}</text>"


def _duration(power: int) -> str:
    if power >= 0:
        return f"{10**power} s"
    return f"{10 ** (power + 3)} ms" if power >= -3 else f"{10 ** (power + 6)} µs"


if __name__ == "__main__":
    main()
