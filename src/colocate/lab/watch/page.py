"""A lab as one page of HTML that needs nothing else: no network, no script, no font."""

from collections.abc import Iterator, Sequence

from colocate.lab.archive import Archive
from colocate.lab.program import Program, best_first
from colocate.lab.watch.account import Account, best_facts, settings_line
from colocate.lab.watch.article import Articles
from colocate.lab.watch.html_lineage import html_lineage
from colocate.lab.watch.html_sheet import Links, html_facts, html_sheet
from colocate.lab.watch.ladder import Rung, ladder
from colocate.lab.watch.last_review import last_review
from colocate.lab.watch.lineage import lineage
from colocate.lab.watch.overview_sheets import (
    island_sheet,
    ladder_sheet,
    program_sheet,
    refusal_sheet,
)
from colocate.lab.watch.plot import Plot
from colocate.outputs.page.frame import legend, note, section, whole_page
from colocate.outputs.page.markup import Markup, tag

MOST_RUNGS = 100
MOST_PROGRAMS = 500
"""Programs on the page: few enough that a browser opens it at once."""
WIDE, NARROW = (912, 380), (360, 300)
"""Sizes of the plot for wide and narrow screens: scaling it down would make letters unreadable."""
LEGEND = (
    ("best", "best so far"),
    ("dot", "a program"),
    ("dot failed", "a program with failed cases"),
)
SCALE = (
    "Higher is better: the share of the {goal} that a program reaches, on the public or the "
    "hidden cases, whichever is lower. Each grid line is ten times closer to the {goal}."
)
READING = (
    "Read down: each program comes from the one above it, and what is further in branches off. "
    "Bold programs were the best so far when they came; only lines that lead to one are drawn."
)


def html_page(archive: Archive) -> str:
    """Return a lab as a page, which shows all text literally and runs none of it."""
    title = settings_line(archive)
    sections = _sections(archive)
    told = tag("pre", last_review(archive), class_="wrapped", tabindex=0)
    review = section("The last review", told)
    return whole_page(title, __package__, tag("h1", title), *sections, review)


def _sections(archive: Archive) -> Iterator[Markup]:
    """Yield the page from top to bottom."""
    programs, attempts = archive.programs(), archive.attempts()
    rungs = ladder(programs)
    told = [rung.number for rung in rungs[-MOST_RUNGS:]]
    ranked = best_first(programs)
    listed = [program.number for program in ranked[:MOST_PROGRAMS]]
    links = Links(frozenset(told), frozenset(listed))
    facts = [*best_facts(programs), *Account.of(programs, attempts, archive.unanswered()).facts()]
    articles = Articles(ranked, attempts, links)
    others = (island_sheet(programs), refusal_sheet(attempts))
    yield html_facts(facts, links, "summary")
    yield section("Best so far", _figure(programs, rungs))
    yield section("Ladder", html_sheet(ladder_sheet(rungs, MOST_RUNGS), links))
    yield section("Lineage", note(READING), html_lineage(lineage(programs), links))
    yield section("Programs of the ladder", *articles.draw(reversed(told)))
    yield section("Islands and refusals", *(html_sheet(s, links) for s in others if s.rows))
    table = html_sheet(program_sheet(programs, MOST_PROGRAMS), links, of_all=True)
    yield section("All programs", table)


def _figure(programs: Sequence[Program], rungs: Sequence[Rung]) -> Markup:
    plot = Plot(programs, rungs)
    marks = (*LEGEND, ("optimum", f"the {plot.goal}"))
    caption = tag("figcaption", legend(marks), note(SCALE.format(goal=plot.goal)))
    return tag("figure", plot.draw("wide", WIDE), plot.draw("narrow", NARROW), caption)
