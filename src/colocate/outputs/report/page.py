"""A plan as one page of HTML that needs nothing else: no network, no script, no font."""

from collections.abc import Iterator
from dataclasses import replace

from colocate.advise.comparison import Alternative, Comparison, gpus_used
from colocate.advise.latency import other_sharing, predictions_of
from colocate.inputs.fleet import Fleet
from colocate.latency.prediction import Prediction, ratios_of
from colocate.outputs.page.frame import fact_list, legend, note, section, whole_page
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.plan.fleet_bars import Bars, fleet_bars
from colocate.outputs.plan.latency_bars import latency_bars
from colocate.outputs.plan.latency_words import (
    felt_line,
    held_line,
    latency_line,
    of_target,
    saturated_lines,
    sharing_lines,
    value_line,
)
from colocate.outputs.plan.words import (
    NOTHING_PROVEN,
    as_sentence,
    levels_line,
    peak_line,
    proof_line,
    shown_pressure,
    sleep_line,
)
from colocate.outputs.report.bound import bound_sentences
from colocate.outputs.report.fleet_figure import fleet_figure
from colocate.outputs.report.history import NARROW, WIDE, History, shown_seconds
from colocate.outputs.report.latency_figure import latency_figure
from colocate.outputs.report.tables import (
    asleep_table,
    beside,
    comparison_table,
    gpu_table,
    latency_table,
    service_table,
    several_table,
    value_of,
)
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import gigabytes
from colocate.solver.plan import Plan

LONGEST_TITLE = 120
"""Letters: two lines of a heading."""
Facts = Iterator[tuple[str, str]]


def report_page(plan: Plan, fleet: Fleet, comparison: Comparison | None, command: str) -> str:
    """Return a plan as a page; the same plan gives the same page.

    Parameters
    ----------
    plan, fleet
        What is shown, and what it is for.
    comparison
        Other ways to place the models; None if there are none to show.
    command
        What made the plan, as a shell takes it.
    """
    predictions = predictions_of(plan)
    told = value_line(plan, predictions) if plan.placement else f"no plan: {plan.status.lower()}"
    headline = as_sentence(told)
    parts = [
        tag("p", "colocate plan", class_="kicker"),
        tag("h1", one_line(headline, LONGEST_TITLE)),
        tag("p", _lead(plan), class_="lead"),
    ]
    if plan.placement:
        bars = fleet_bars(plan, fleet)
        parts += [
            fact_list(_facts(plan, predictions, comparison), "summary"),
            *_sections(plan, fleet, bars, predictions, comparison),
        ]
    made = tag("pre", tag("code", command), class_="wrapped", tabindex=0)
    parts.append(section("How it was made", made, fact_list(_making(plan), "summary")))
    return whole_page(one_line(headline, LONGEST_TITLE), __package__, *parts)


def _lead(plan: Plan) -> str:
    return as_sentence(proof_line(plan)) or one_line(plan.reason) or NOTHING_PROVEN


def _sections(
    plan: Plan,
    fleet: Fleet,
    bars: Bars,
    predictions: tuple[Prediction, ...],
    comparison: Comparison | None,
) -> Iterator[Markup]:
    """Yield the page from top to bottom."""
    yield section("The fleet", fleet_figure(bars))
    if predictions:
        yield section("What users feel", *_latency(plan, predictions))
    if asleep := asleep_table(plan):
        yield section("Asleep", tag("p", as_sentence(one_line(sleep_line(plan)))), asleep)
    rest = [note(bars.rest)] if bars.rest else []
    ratios = ratios_of(predictions, plan.pressures) if predictions else {}
    yield section("GPU by GPU", gpu_table(bars, ratios), *rest)
    if len(plan.asleep) < len(plan.placement):
        yield section("Model by model", service_table(plan, fleet))
    if several := several_table(plan):
        yield section("Replicas and shards", several)
    if comparison:
        yield section("Compared with other ways", comparison_table(plan, comparison))
    yield section("How much better it could be", *_bound(plan))


def _latency(plan: Plan, predictions: tuple[Prediction, ...]) -> Iterator[Markup]:
    """Yield the latency of every model, and what another way to share would change."""
    yield tag("p", as_sentence(felt_line(predictions)))
    yield latency_figure(latency_bars(predictions))
    yield latency_table(predictions)
    for line in (*saturated_lines(predictions), *sharing_lines(other_sharing(plan, predictions))):
        yield note(as_sentence(line) + ".")


def _bound(plan: Plan) -> Iterator[Markup]:
    sentence, *meaning = bound_sentences(plan)
    yield tag("p", sentence)
    yield from map(note, meaning)
    if history := History.of(plan):
        wide, narrow = history.draw("wide", WIDE), history.draw("narrow", NARROW)
        yield tag("figure", wide, narrow, tag("figcaption", legend(history.keys)))


def _facts(plan: Plan, predictions: tuple[Prediction, ...], comparison: Comparison | None) -> Facts:
    """Yield what matters most."""
    problem = plan.problem
    asleep = len(plan.asleep)
    yield (
        "models",
        f"{len(problem.models) - asleep:,} on {gpus_used(plan):,} of {len(problem.gpus):,} GPUs",
    )
    if asleep:
        yield "asleep", f"{asleep:,} of {len(problem.models):,} models"
    yield "memory", _memory_line(plan)
    if predictions and plan.problem.objective == "latency":
        yield "targets", held_line(predictions)
        yield "pressure", peak_line(plan).removeprefix("peak pressure ")
    elif predictions:
        yield "latency", latency_line(predictions)
    if levels := levels_line(plan):
        yield "levels", levels.removeprefix("levels: ")
    if comparison:
        yield "greedy", _other(plan, comparison.greedy)
        yield "one model per GPU", _other(plan, comparison.dedicated)
    if plan.reason and proof_line(plan):
        yield "note", one_line(plan.reason)


def _memory_line(plan: Plan) -> str:
    """Return what the memory of all GPUs is for."""
    placed = plan.models_by_gpu()
    sizes = cache = idle = 0.0
    for gpu in plan.problem.gpus:
        parts = placed.get(gpu.name, ())
        used = sum(part.size_gb for part in parts)
        sizes += used
        cache += max(gpu.memory_gb - used, 0.0) if parts else 0.0
        idle += 0.0 if parts else gpu.memory_gb
    unused = f", {gigabytes(idle)} on GPUs without models" if idle else ""
    return f"{gigabytes(sizes)} of models, {gigabytes(cache)} KV cache{unused}"


def _other(plan: Plan, way: Alternative) -> str:
    value = value_of(plan, way)
    if value is None:
        return one_line(way.reason)
    by_latency = plan.problem.objective == "latency"
    shown = f"{of_target(value)} of a target" if by_latency else shown_pressure(value)
    return f"{shown}, {beside(plan, replace(way, reason=''))}"


def _making(plan: Plan) -> Facts:
    yield "status", plan.status.lower()
    yield "by", one_line(plan.strategy)
    yield "seed", f"{plan.seed}"
    if plan.seconds:
        yield "time", shown_seconds(plan.seconds)
    yield "version", f"colocate {one_line(plan.version)}"
