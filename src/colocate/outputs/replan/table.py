"""A replan for the screen: the frontier, what moves, and the steps."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.outputs.replan.words import (
    choice_text,
    headline,
    net_text,
    noun,
    proof_text,
    step_text,
    steps_text,
    value_text,
    worth_text,
)
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import gigabytes
from colocate.problem.parts import Places
from colocate.replan.choice import MoveChoice
from colocate.replan.steps.safe_steps import SafeSteps


def replan_table(choice: MoveChoice, width: int) -> RenderableType:
    """Show a replan.

    Parameters
    ----------
    choice
        The points, the way to the chosen one, and whether it pays.
    width
        Of the screen, in letters.
    """
    found = choice.found
    columns = (
        Column("", words=True),
        Column("to load"),
        Column(noun(found)),
        Column("bound", dispensable=1),
        Column("net gain"),
        Column("how good", words=True),
    )
    told = [headline(choice), worth_text(choice.worth) if choice.worth else "", choice_text(choice)]
    return Group(
        *(Text(each) for each in told if each),
        fitting_table(columns, frontier_rows(choice, "*"), width),
        moves_table(found.old, found.placement, width),
        Text(steps_text(choice.steps)),
    )


def frontier_rows(choice: MoveChoice, mark: str) -> list[tuple[str, ...]]:
    """Return a row for each point, with a mark at the chosen one."""
    found = choice.found
    return [
        (
            mark if number == found.chosen else "",
            gigabytes(point.moved_gb),
            value_text(point.value),
            value_text(point.bound),
            net_text(choice, number),
            proof_text(point),
        )
        for number, point in enumerate(found.points)
    ]


def moves_table(old: Places, new: Places, width: int) -> RenderableType:
    """Show which models are elsewhere.

    Parameters
    ----------
    old, new
        Where models were, and where they are.
    width
        Of the screen, in letters.
    """
    rows = [(model, *told) for model, told in moved_models(old, new).items()]
    if not rows:
        return Text("no model moves")
    columns = (Column("model", words=True), Column("from", words=True), Column("to", words=True))
    return fitting_table(columns, rows, width)


def moved_models(old: Places, new: Places) -> dict[str, tuple[str, str]]:
    """Return where models were and are, of those that are elsewhere or come or go."""
    found = {}
    for model in dict.fromkeys((*old, *new)):
        before, after = old.get(model), new.get(model)
        if sorted(before or ()) != sorted(after or ()) or (before is None) != (after is None):
            found[model] = (_told(before), _told(after))
    return found


def _told(gpus: Sequence[str] | None) -> str:
    if gpus is None:
        return "not in the fleet"
    return " + ".join(gpus) if gpus else "asleep"


def steps_table(steps: SafeSteps, width: int) -> RenderableType:
    """Show all steps, if there are any."""
    if not steps.steps:
        return Group()
    columns = (
        Column("step"),
        Column("starts"),
        Column("takes", dispensable=1),
        Column("what", words=True),
        Column("after", words=True),
        Column("undo", words=True, dispensable=2),
    )
    rows = [
        (
            str(step.number),
            f"{step.start:.0f} s",
            f"{step.seconds:.0f} s",
            step_text(step),
            " ".join(map(str, (*step.after, *step.behind))),
            step.undo.value if step.undo else "",
        )
        for step in steps.steps
    ]
    return fitting_table(columns, rows, width)
