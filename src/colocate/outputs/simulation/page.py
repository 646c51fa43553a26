"""Replays as one page of HTML that needs nothing else: no network, no script, no font."""

from collections.abc import Iterator, Sequence

from colocate.advise.simulation.comparison import SimulatedWay
from colocate.outputs.page.frame import fact_list, note, section, whole_page
from colocate.outputs.page.html_table import html_table
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.plan.words import as_sentence
from colocate.outputs.simulation.comparison_bars import comparison_figure
from colocate.outputs.simulation.strips import strip_figure
from colocate.outputs.simulation.table import (
    DONE,
    FELT,
    OTHERS,
    comparison_text,
    done_row,
    felt_row,
    other_rows,
)
from colocate.outputs.simulation.timelines import timeline_figures
from colocate.outputs.simulation.words import (
    NONE_JUDGED,
    OVERLOAD,
    UNJUDGED,
    kept_line,
    law_lines,
    miss_line,
    rate_interval,
    share_interval,
    shown_share,
    shown_span,
    unanswered,
)
from colocate.outputs.text.fitting_table import Column
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import amount

MOST_ROWS = 64
"""Of models in a table."""
LEAST = 6
"""Columns that matter less are left to JSON."""
SHEETS = ("colocate.outputs.report", "colocate.outputs.simulation")


def simulation_page(ways: Sequence[SimulatedWay], steady: bool, command: str) -> str:
    """Return replays as a page.

    Parameters
    ----------
    ways
        The placements, the one that the page is about first.
    steady
        Whether requests came as the law takes them to.
    command
        What made it, as a shell takes it.
    """
    first = ways[0]
    headline, lead = _headline(first)
    parts = [
        tag("p", "colocate simulate", class_="kicker"),
        tag("h1", headline),
        tag("p", lead, class_="lead"),
        fact_list(_facts(first), "summary"),
        *_sections(ways, steady),
        section("How it was made", tag("pre", tag("code", command), class_="wrapped", tabindex=0)),
    ]
    return whole_page(headline, SHEETS, *parts)


def _headline(way: SimulatedWay) -> tuple[str, str]:
    """Return what matters most and what comes next: in overload, who got no answer."""
    share = shown_share(way.found.attainment.mean)
    models = f"{as_sentence(kept_line(way))}."
    if not way.judged_requests:
        return as_sentence(NONE_JUDGED), models
    unfinished, asked = unanswered(way), way.found.requests.mean
    kept, judged = "kept their targets", f"{share} of those judged"
    if not unfinished:
        return f"{share} of requests {kept}", models
    left = f"{unfinished:,} of {amount(round(asked), 'request')} had no whole answer at the end"
    if unfinished > OVERLOAD * asked:
        return left, f"{models} {judged} {kept}; {UNJUDGED}."
    return f"{judged} {kept}", f"{models} {left}; {UNJUDGED}."


def _facts(way: SimulatedWay) -> Iterator[tuple[str, str]]:
    found, seeds = way.found, len(way.found.runs)
    yield "placement", one_line(way.name)
    yield "requests", f"{found.requests.mean:,.0f} in {shown_span(found.seconds)}"
    yield "in time", share_interval(found.attainment) if way.judged_requests else "-"
    yield "goodput", f"{rate_interval(found.goodput)} requests a second"
    worst = way.worst.found
    if worst.judged.mean:
        yield "worst", f"{one_line(worst.name)}, {shown_share(worst.attainment.mean)} in time"
    if seeds > 1:
        yield "seeds", f"{seeds}; ± is half of the 95% interval of a mean over them"
    if not found.complete:
        yield "interrupted", "this is what was simulated so far"


def _sections(ways: Sequence[SimulatedWay], steady: bool) -> Iterator[Markup]:
    """Yield the page from top to bottom."""
    first = ways[0]
    if len(ways) > 1:
        told = (tag("p", as_sentence(line) + ".") for line in comparison_text(ways).splitlines())
        table = _table("The same requests on other placements", OTHERS, other_rows(ways))
        yield section("Compared", comparison_figure(ways), *told, table)
    run = first.found.runs[0]
    yield section("What users felt", *_causes(first), strip_figure(first.models, run.models))
    on = {
        gpu.name: [each.found.name for each in first.models if gpu.name in each.gpus]
        for gpu in run.gpus
    }
    of_seed = [note("Of the first seed.")] if len(first.found.runs) > 1 else []
    yield section("GPU by GPU", *of_seed, *timeline_figures(run.gpus, run.seconds, on))
    shown = first.models[:MOST_ROWS]
    some = f", the first {MOST_ROWS}" if len(first.models) > MOST_ROWS else ""
    felt = _table(f"Latencies{some}", FELT, [felt_row(model) for model in shown])
    law = [note(as_sentence(line.strip()) + ".") for line in law_lines(first.models) if steady]
    yield section("Model by model", felt, *law)
    done = _table(f"Work, queues and caches{some}", DONE, [done_row(model) for model in shown])
    yield section("What engines did", done)


def _causes(way: SimulatedWay) -> Iterator[Markup]:
    """Yield why models missed their targets, if some did."""
    missing = [model for model in way.models if model.misses]
    if missing:
        worst = sorted(missing, key=lambda model: model.found.attainment.mean)[:MOST_ROWS]
        lines = (tag("li", one_line(miss_line(model))) for model in worst)
        yield tag("p", "These models missed their targets:")
        yield tag("ul", *lines, class_="causes")


def _table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Markup:
    """Return a table of the screen as one of the page.

    Parameters
    ----------
    title
        What it shows.
    columns, rows
        As on the screen.
    """
    kept = [place for place, column in enumerate(columns) if column.dispensable <= LEAST]
    heads = [(columns[at].heading, "words" if columns[at].words else "figure") for at in kept]
    cells = [[one_line(row[at]) for at in kept] for row in rows]
    return html_table(title, heads, cells, stacked=True)
