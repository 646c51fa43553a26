"""Lines of descent as nested lists."""

from collections.abc import Sequence

from colocate.lab.watch.html_sheet import Links
from colocate.lab.watch.lineage import Line, Step
from colocate.lab.watch.sheet import mention, numbers
from colocate.outputs.page.markup import Markup, join, tag
from colocate.outputs.text.wording import fixed


def html_lineage(lines: Sequence[Line], links: Links) -> Markup:
    """Draw every line as a list, with its branches nested inside."""
    lists = (tag("ol", *(_item(step, links) for step in line)) for line in lines)
    return tag("div", *lists, class_="lineage")


def _item(step: Step, links: Links) -> Markup:
    gap = tag("li", step.gap, class_="rest") if step.skipped else Markup()
    branches = [_branch(line, links) for line in step.branches]
    below = tag("ul", *branches) if branches else Markup()
    kind = "better" if step.improves else "other"
    return join([gap, tag("li", tag("div", *_told(step, links)), below, class_=kind)])


def _branch(line: Line, links: Links) -> Markup:
    return tag("li", tag("ol", *(_item(step, links) for step in line)))


def _told(step: Step, links: Links) -> list[Markup]:
    program = step.program
    verdict = program.verdict
    figures = f"score {fixed(verdict.score, 4)}, fitness {fixed(verdict.fitness, 6)}"
    parts = [
        tag("span", links.cell(mention(program)), class_="name"),
        tag("span", figures, class_="figures"),
    ]
    if program.parents:
        origin = join(["from ", links.cell(numbers(program.parents))])
        parts.append(tag("span", origin, class_="origin"))
    if step.others:
        parts.append(tag("span", step.rest, class_="rest"))
    return [part for told in parts for part in (told, Markup(" "))]
