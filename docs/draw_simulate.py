"""Draw docs/simulate.svg: one GPU of a fleet while a real trace is replayed, at two speeds.

python docs/draw_simulate.py
"""

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colocate import Simulation, read_fleet, simulate, solve
from colocate.inputs.trace.reading import Trace
from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure
from colocate.outputs.simulation.words import shown_share
from colocate.simulate.demand.kinds import TraceDemand
from colocate.simulate.result import GpuOutcome, Timeline

ROOT = Path(__file__).parents[1]
FLEET, TRACE = ROOT / "examples" / "lmsys.yaml", ROOT / "examples" / "lmsys_trace.csv"
PICTURE = ROOT / "docs" / "simulate.svg"
SPEEDS = {"as recorded": 1.0, "four times as fast": 4.0}
"""How many times faster than it was the trace is replayed."""
GPU = "a100-1"
SECONDS = 10.0
"""For the plan."""
SIZE = (11.0, 5.2)
"""Inches."""
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
PANELS = (
    ("busy engines", "busy_engines", "#2b5ea8"),
    ("requests in flight", "in_flight", "#2b5ea8"),
    ("requests waiting", "waiting", ALARM),
    ("cache in use, GB", "cache_gb", "#2f7d4f"),
)


def replays() -> dict[str, Simulation]:
    """Return the replays of the trace, by how fast they are."""
    problem = read_fleet(FLEET).problem
    plan = solve(problem, time_limit=SECONDS)
    found = {
        name: simulate(plan, demand=TraceDemand(Trace(TRACE), condense=speed), minutes=10 / speed)
        for name, speed in SPEEDS.items()
    }
    return {name: each for name, each in found.items() if isinstance(each, Simulation)}


def _figure(found: dict[str, Simulation]) -> Figure:
    figure = Figure(figsize=SIZE, facecolor="white")
    gpus = {name: _gpu(each) for name, each in found.items()}
    for row, (told, field, colour) in enumerate(PANELS):
        highest = max(float(getattr(gpu, field).values.max()) for gpu in gpus.values())
        for column, (name, gpu) in enumerate(gpus.items()):
            left, bottom = 0.05 + 0.5 * column, 0.075 + 0.212 * (3 - row)
            axes = figure.add_axes((left, bottom, 0.435, 0.145))
            _draw(axes, getattr(gpu, field), found[name].seconds, colour)
            axes.set_ylim(0.0, 1.05 * highest)
            axes.set_title(told, loc="left", size=LETTERS, color=INK, pad=3)
            if row == 0:
                kept = sum(each.goodput for each in found[name].models) * found[name].seconds
                share = kept / sum(each.judged for each in found[name].models)
                title = f"{GPU}, {name}: {shown_share(share)} of all requests in time"
                axes.text(0.0, 1.33, title, size=LARGE, weight="bold", color=INK,
                          transform=axes.transAxes)  # fmt: skip
            if row == len(PANELS) - 1:
                axes.set_xlabel("seconds", size=SMALL, color=SOFT, labelpad=1)
    return figure


def _gpu(found: Simulation) -> GpuOutcome:
    return next(gpu for gpu in found.gpus if gpu.name == GPU)


def _draw(axes: Axes, timeline: Timeline, seconds: float, colour: str) -> None:
    edges = [*timeline.seconds.tolist(), seconds]
    axes.stairs(timeline.values, edges, color=colour, linewidth=1.0)
    axes.stairs(timeline.values, edges, color=colour, alpha=0.2, fill=True)
    axes.set_xlim(0.0, seconds)
    axes.tick_params(labelsize=SMALL, colors=SOFT, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def main() -> None:
    """Draw it."""
    PICTURE.write_bytes(written_figure(partial(_figure, replays()), "svg"))


if __name__ == "__main__":
    main()
