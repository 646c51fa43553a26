"""The figures of a plan: GPU by GPU, models on several GPUs, models asleep, other ways."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from colocate.advise.comparison import Alternative, Comparison, gpus_used
from colocate.advise.service import services_of
from colocate.inputs.fleet import Fleet
from colocate.latency.prediction import Prediction
from colocate.outputs.page.frame import note
from colocate.outputs.page.html_table import html_table
from colocate.outputs.page.markup import Markup, join, tag
from colocate.outputs.plan.fleet_bars import Bar, BarPart, Bars
from colocate.outputs.plan.latency_rows import HEADINGS as LATENCY_HEADINGS
from colocate.outputs.plan.latency_rows import ModelLatencyRow, latency_rows
from colocate.outputs.plan.latency_words import ASSUMED, of_target
from colocate.outputs.plan.service_rows import HEADINGS, ServiceRow, service_rows
from colocate.outputs.plan.words import as_sentence, shown_pressure
from colocate.outputs.report.gauge import colouring, gauge
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import gigabytes
from colocate.problem.model import Model
from colocate.problem.parts import replicas_in
from colocate.problem.tolerance import TIE
from colocate.solver.plan import Plan

MOST_ROWS = 64
"""Of models in a table."""
Rows = list[Sequence[str]]


def gpu_table(bars: Bars, ratios: Mapping[str, float]) -> Markup:
    """Draw what is on every GPU, and what it uses of all that is limited.

    `ratios` has the worst latency over its target by GPU, and nothing where none is known.
    """
    used = (use.resource for bar in bars.drawn for use in bar.uses if use.amount > 0)
    resources = list(dict.fromkeys(used))
    kinds = any(bar.gpu.kind for bar in bars.drawn)
    columns = [
        ("GPU", "words gpu-name"),
        *([("kind", "words gpu-kind")] if kinds else []),
        ("memory", "figure"),
        *((one_line(resource, LONGEST_NAME), "figure") for resource in resources),
        ("pressure", "figure"),
        *([("latency / target", "figure")] if ratios else []),
        ("models", "words models"),
    ]
    rows = [
        [
            one_line(bar.gpu.name, LONGEST_NAME),
            *([one_line(bar.gpu.kind, LONGEST_NAME)] if kinds else []),
            f"{bar.used_gb:.4g} / {bar.gpu.memory_gb:.4g} GB",
            *_uses(bar, resources),
            _pressure(bar),
            *([_ratio(ratios[bar.gpu.name])] if ratios else []),
            _models(bar),
        ]
        for bar in bars.drawn
    ]
    return html_table("The models on each GPU, with size and load", columns, rows, stacked=True)


def several_table(plan: Plan) -> Markup | None:
    """Draw the models with replicas or shards, None if there are none."""
    placed = ((m, plan.placement.get(m.name, ())) for m in plan.problem.models)
    several = [(model, places) for model, places in placed if len(places) > 1]
    replicas = replicas_in(plan.problem, plan.placement)
    if not several:
        return None
    columns = [
        ("model", "words models"),
        ("replicas", "figure"),
        ("shards of each", "figure"),
        ("load of each part", "figure"),
        ("GPUs", "words models"),
    ]
    rows: Rows = [
        [
            one_line(model.name, LONGEST_NAME),
            f"{replicas[model.name]}",
            f"{model.shards}",
            f"{max(model.load) / len(places):.4g}",
            _replicas(model, places),
        ]
        for model, places in several[:MOST_ROWS]
    ]
    title = _counted("Models on several GPUs", len(several))
    return html_table(title, columns, rows, stacked=True)


def service_table(plan: Plan, fleet: Fleet) -> Markup:
    """Draw what every model gets, in cache, tokens and requests."""
    rows, others = service_rows(services_of(plan, fleet), MOST_ROWS)
    kinds = ServiceRow("words models", "words models", "figure", "figure", "figure", "figure")
    columns = list(zip(HEADINGS, kinds, strict=True))
    cells: Rows = [[one_line(cell) for cell in row] for row in rows]
    title = _counted("What each model can serve", len(rows) + others)
    return html_table(title, columns, cells, stacked=True)


def latency_table(predictions: Sequence[Prediction]) -> Markup:
    """Draw what users of every model feel, and whether its targets hold."""
    rows, others = latency_rows(predictions, MOST_ROWS)
    kinds = ModelLatencyRow(
        "words models", "words models", "figure", "figure", "figure", "figure", "figure"
    )
    columns = list(zip(LATENCY_HEADINGS, kinds, strict=True))
    cells: Rows = [[one_line(cell) for cell in row] for row in rows]
    title = _counted("How fast each model answers", len(rows) + others)
    assumed = [note(as_sentence(ASSUMED) + ".")] if any("(" in row.target for row in rows) else []
    return join([html_table(title, columns, cells, stacked=True), *assumed])


def asleep_table(plan: Plan) -> Markup | None:
    """Draw the models that are left asleep, None if all are awake."""
    names = set(plan.asleep)
    asleep = [model for model in plan.problem.models if model.name in names]
    if not asleep:
        return None
    costly = sorted(asleep, key=lambda model: -(model.sleep_cost or 0.0))
    columns = [
        ("model", "words models"),
        ("size", "figure"),
        ("load", "figure"),
        ("demand lost", "figure"),
    ]
    rows: Rows = [
        [
            one_line(model.name, LONGEST_NAME),
            gigabytes(model.size_gb),
            f"{max(model.load):.4g}",
            f"{model.sleep_cost or 0.0:.4g}",
        ]
        for model in costly
    ]
    title = f"Models asleep ({len(asleep):,})"
    return html_table(title, columns, rows, stacked=True)


def comparison_table(plan: Plan, comparison: Comparison) -> Markup:
    """Draw a plan beside two other ways to place the same models."""
    ways = (
        (
            "this plan",
            Alternative(gpus_used(plan), plan.pressure, ratio=plan.ratio if plan.ratios else None),
        ),
        ("greedy: each model in turn to the GPU with the lowest pressure", comparison.greedy),
        ("one model per GPU", comparison.dedicated),
    )
    columns = [
        ("way", "words models"),
        ("GPUs", "figure"),
        ("peak pressure", "figure"),
        *([("worst latency / target", "figure")] if plan.problem.has_requests else []),
        ("", "words measure"),
        ("compared with this plan", "words"),
    ]
    values = [value_of(plan, way) for _, way in ways]
    highest = max((value for value in values if value is not None and isfinite(value)), default=0.0)
    rows: Rows = [
        [
            name,
            "-" if way.gpus is None else f"{way.gpus:,}",
            "-" if way.pressure is None else shown_pressure(way.pressure),
            *([_shown_ratio(way.ratio)] if plan.problem.has_requests else []),
            _measure(values[number], highest),
            "" if number == 0 else beside(plan, way),
        ]
        for number, (name, way) in enumerate(ways)
    ]
    return html_table("The same models, placed in other ways", columns, rows, stacked=True)


def value_of(plan: Plan, way: Alternative) -> float | None:
    """Return what the plan minimises, for another way; None if that has no placement."""
    return way.ratio if plan.problem.objective == "latency" else way.pressure


def beside(plan: Plan, way: Alternative) -> str:
    """Compare another way with a plan, in words."""
    value, own = value_of(plan, way), plan.value
    if value is None:
        return one_line(way.reason)
    remark = f" ({one_line(way.reason)})" if way.reason else ""
    if value == own or abs(value - own) <= TIE * own:
        return f"the same{remark}"
    if own == 0 or not isfinite(value) or not isfinite(own):
        return f"{'higher' if value > own else 'lower'}{remark}"
    return f"{value / own:.3g} times as high{remark}"


def _shown_ratio(ratio: float | None) -> str:
    return "-" if ratio is None else of_target(ratio)


def _measure(value: float | None, highest: float) -> Markup:
    if value is None or highest == 0:
        return Markup()
    return gauge(min(value / highest, 1.0))


def _uses(bar: Bar, resources: Sequence[str]) -> Iterator[str]:
    found = {use.resource: use for use in bar.uses}
    for resource in resources:
        use = found.get(resource)
        yield f"{use.amount:.3g} / {use.limit:.3g}" if use else "-"


def _pressure(bar: Bar) -> Markup:
    shown = shown_pressure(bar.pressure)
    worst = bar.worst and bar.ratio is None
    return tag("strong", f"{shown} ◀", class_="worst") if worst else join([shown])


def _ratio(ratio: float) -> Markup:
    shown = of_target(ratio)
    return tag("strong", shown, class_="worst") if ratio > 1.0 else join([shown])


def _models(bar: Bar) -> Markup:
    if not bar.parts:
        return join(["-"])
    items = [_model(part) for part in bar.largest]
    if bar.others:
        items.append(tag("li", f"and {len(bar.others)} smaller ones"))
    return tag("ul", *items, class_="parts")


def _model(part: BarPart) -> Markup:
    which = f"{part.which}, " if part.which else ""
    told = f"{which}{gigabytes(part.size_gb)}, load {part.load:.4g}"
    swatch = tag("span", class_="swatch", style=colouring(part))
    name = one_line(part.name, LONGEST_NAME)
    return tag("li", swatch, tag("span", name, " ", tag("small", told), title=one_line(part.name)))


def _replicas(model: Model, places: Sequence[str]) -> str:
    replicas = [
        places[first : first + model.shards] for first in range(0, len(places), model.shards)
    ]
    sign = " + " if model.shards > 1 else ", "
    if model.shards == 1:
        return one_line(sign.join(places))
    return "; ".join(one_line(sign.join(replica)) for replica in replicas)


def _counted(title: str, count: int) -> str:
    return title if count <= MOST_ROWS else f"{title}: {MOST_ROWS} of {count:,}"
