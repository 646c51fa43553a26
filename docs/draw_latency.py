"""Draw docs/latency.svg: the lowest pressure and the latency plan of one fleet, side by side.

python docs/draw_latency.py
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colocate import Plan, Problem, read_fleet, solve
from colocate.latency.prediction import Prediction, predict_placement
from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure
from colocate.solver.targets import without_targets

ROOT = Path(__file__).parents[1]
EXAMPLE, PICTURE = ROOT / "examples" / "latency.yaml", ROOT / "docs" / "latency.svg"
SECONDS = 10.0
"""For each plan."""
SIZE = (11.0, 5.6)
"""Inches."""
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
KEPT, LIMIT = "#2b5ea8", "#2f7d4f"
WIDEST = 2.0
"""The highest ratio that a bar shows in full."""


def lowest_pressure(problem: Problem) -> Plan:
    """Return the plan of lowest pressure, as if nobody had stated targets."""
    return solve(without_targets(problem), time_limit=SECONDS, levels=None)


def lowest_latency(problem: Problem) -> Plan:
    """Return the plan that keeps the targets by the widest margin."""
    return solve(replace(problem, objective="latency"), time_limit=SECONDS)


def missed(problem: Problem, plan: Plan) -> list[Prediction]:
    """Return what is predicted for the models that miss a target, in the order of the fleet."""
    return [each for each in predict_placement(problem, plan.placement) if not each.keeps_targets]


def _figure(problem: Problem, plans: dict[str, Plan]) -> Figure:
    figure = Figure(figsize=SIZE, facecolor="white")
    for number, (name, plan) in enumerate(plans.items()):
        axes = figure.add_axes((0.115 + 0.5 * number, 0.09, 0.37, 0.76))
        _draw(axes, name, problem, plan)
    return figure


def _draw(axes: Axes, name: str, problem: Problem, plan: Plan) -> None:
    found = sorted(predict_placement(problem, plan.placement), key=lambda each: each.gpus)
    row, labels = 0.0, []
    for place, each in enumerate(found):
        row += 0.6 if place and each.gpus != found[place - 1].gpus else 0.0
        labels.append((row, each))
        row += 1.0
    for at, each in labels:
        _draw_bar(axes, at, each)
    for gpu in dict.fromkeys(each.gpus[0] for _, each in labels):
        rows = [at for at, each in labels if each.gpus[0] == gpu]
        axes.text(-0.26, sum(rows) / len(rows), gpu, size=SMALL, color=SOFT, va="center",
                  rotation=90, transform=axes.get_yaxis_transform())  # fmt: skip
    axes.axvline(1.0, color=LIMIT, linestyle=(0, (5, 4)), linewidth=1.3)
    broken = sum(not each.keeps_targets for each in found)
    verdict = f"{broken} of {len(found)} models too slow" if broken else "all targets hold"
    axes.set_title(f"{name}: {verdict}", loc="left", size=LARGE, weight="bold", color=INK, pad=22)
    told = f"peak pressure {plan.pressure:.2f}, worst ratio {_worst(found):.2f}"
    axes.text(0.0, 1.02, told, size=LETTERS, color=SOFT, transform=axes.transAxes)
    _frame(axes, labels)


def _draw_bar(axes: Axes, at: float, each: Prediction) -> None:
    ratio, requests = each.shared.ratio, each.requests
    colour = KEPT if each.keeps_targets else ALARM
    axes.barh(at, min(ratio, WIDEST), height=0.72, color=colour)
    mean, target = 1000.0 * each.shared.tpot.mean, 1000.0 * requests.tpot_slo
    axes.text(WIDEST + 0.4, at, f"{mean:.0f} of {target:.0f} ms", size=SMALL, color=INK,
              va="center", ha="right")  # fmt: skip


def _worst(found: list[Prediction]) -> float:
    return max(each.shared.ratio for each in found)


def _frame(axes: Axes, labels: list[tuple[float, Prediction]]) -> None:
    axes.set_yticks([at for at, _ in labels], [each.model for _, each in labels], size=SMALL)
    axes.invert_yaxis()
    axes.set_xlim(0.0, WIDEST + 0.4)
    axes.set_xticks([0.0, 0.5, 1.0, 1.5, 2.0])
    axes.set_xlabel("predicted latency / target", size=LETTERS, color=INK)
    axes.text(1.0, 1.01, "time per token", size=SMALL, color=SOFT, ha="right",
              transform=axes.transAxes)  # fmt: skip
    axes.tick_params(labelsize=SMALL, colors=SOFT, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def main() -> None:
    """Draw it."""
    problem = read_fleet(EXAMPLE).problem
    plans = {
        "Lowest pressure": lowest_pressure(problem),
        "Lowest latency": lowest_latency(problem),
    }
    PICTURE.write_bytes(written_figure(partial(_figure, problem, plans), "svg"))


if __name__ == "__main__":
    main()
