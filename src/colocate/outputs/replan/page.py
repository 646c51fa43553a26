"""A replan, or the difference of two plans, as a page."""

from colocate.outputs.page.frame import note, section, whole_page
from colocate.outputs.page.html_table import html_table
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.replan.frontier_plot import STYLE, frontier_figure
from colocate.outputs.replan.table import frontier_rows, moved_models
from colocate.outputs.replan.words import (
    choice_text,
    headline,
    noun,
    step_text,
    steps_text,
    worth_text,
)
from colocate.problem.parts import Places
from colocate.replan.choice import MoveChoice

SHEET = "colocate.outputs.report"
"""Where the style of tables whose cells stand one below the other is."""


def replan_page(choice: MoveChoice) -> str:
    """Return a page about a replan: its points, the way to the chosen one, and whether it pays."""
    found, steps, worth = choice.found, choice.steps, choice.worth
    rows = frontier_rows(choice, "chosen")
    columns = [("", "words"), ("to load", "figures"), (noun(found), "figures")]
    columns += [("bound", "figures"), ("net gain", "figures"), ("how good", "words")]
    way = [
        (str(s.number), f"{s.start:.0f} s", f"{s.seconds:.0f} s", step_text(s), _after(s.after))
        for s in steps.steps
    ]
    heads = [("step", "figures"), ("starts", "figures"), ("takes", "figures")]
    heads += [("what", "words"), ("after", "words")]
    return whole_page(
        headline(choice),
        SHEET,
        tag("style", Markup(STYLE)),
        tag("h1", headline(choice)),
        *(note(told) for told in (worth_text(worth) if worth else "", choice_text(choice)) if told),
        section("What moving brings", frontier_figure(found)),
        html_table("The frontier", columns, rows, stacked=True),
        section("What moves", moves_html(found.old, found.placement)),
        section("How", note(steps_text(steps)), html_table("The steps", heads, way, stacked=True)),
    )


def difference_page(title: str, facts: list[str], old: Places, new: Places) -> str:
    """Return a page about two plans.

    Parameters
    ----------
    title, facts
        What it says at the top.
    old, new
        Where models are in both.
    """
    told = [tag("p", fact) for fact in facts]
    return whole_page(title, (), tag("h1", title), *told, moves_html(old, new))


def moves_html(old: Places, new: Places) -> Markup:
    """Return a table of the models that are elsewhere."""
    rows = [(model, *told) for model, told in moved_models(old, new).items()]
    columns = [("model", "words"), ("from", "words"), ("to", "words")]
    return html_table("Models that are elsewhere", columns, rows)


def _after(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
