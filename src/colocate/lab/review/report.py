"""A review of the archive: a summary per program, insights in five sections, five recommendations.

It states only facts. A model may reword it, but may not change its figures.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from colocate.errors import ArchiveError, ColocateError
from colocate.lab.messages import Attempt
from colocate.lab.patches.syntax import ENTRY
from colocate.lab.program import Program
from colocate.lab.review.anatomy import likely_entry
from colocate.lab.review.evidence import Claim, Evidence
from colocate.lab.review.fact_check import figures, unfounded
from colocate.lab.review.insights import Insights, withdrawals, write_insights
from colocate.lab.review.recommendations import recommendations
from colocate.lab.review.summary import Summary, summary_of
from colocate.outputs.text.wording import amount

QUOTED = re.compile("`([^`]*)`")
MOST_STRANGE = 5
"""Figures that a refusal names; a wording that is wrong throughout has many."""


class ReviewRefused(ColocateError):  # noqa: N818, a refusal is an answer, not a fault
    """A wording with a figure that is not in the archive; the message names it."""


@dataclass(frozen=True)
class Review:
    """A review of the archive at one time."""

    programs: int
    """How many programs there were."""
    summaries: tuple[Summary, ...]
    """One for each program since the last review."""
    insights: Insights
    recommendations: tuple[str, ...]
    claims: tuple[Claim, ...]
    """The claims of the insights about blocks."""
    withdrawn: tuple[str, ...]
    """Claims of the last review that the archive no longer supports."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a review that `as_dict` wrote.

        Raises
        ------
        ArchiveError
            If the data is not a review.
        """
        try:
            return TypeAdapter(cls).validate_python(data)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"])) or "it"
            raise ArchiveError(f"a review cannot be read, {place}: {fault['msg']}") from error

    def text(self) -> str:
        """Return the review as a page."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"# Review after {amount(self.programs, 'program')}\n"
        yield "## 1. The programs since the last review\n"
        for summary in self.summaries:
            yield from summary.lines()
        yield "## 2. Insights\n"
        sections = [*self.insights.sections(), ("Withdrawn", self.withdrawn)]
        for title, sentences in sections:
            if sentences:
                yield "\n".join([f"### {title}\n", *(f"- {each}" for each in sentences), ""])
        yield "## 3. Recommendations\n"
        for number, sentence in enumerate(self.recommendations, 1):
            yield f"{number}. {sentence}"


def write_review(
    programs: Sequence[Program],
    attempts: Sequence[Attempt],
    previous: Review | None = None,
    entry: str | None = None,
) -> Review:
    """Review an archive.

    Parameters
    ----------
    programs
        All programs of the archive.
    attempts
        All answers to requests.
    previous
        The last review. The new one does not repeat its summaries, and withdraws claims that the
        archive no longer supports.
    entry
        The function that the task calls; by default the one that the first program seems made for.
    """
    by_number = tuple(sorted(programs, key=lambda each: each.number))
    called = entry or (likely_entry(by_number[0].source) if by_number else ENTRY)
    evidence = Evidence(by_number, tuple(attempts), called)
    known = previous.programs if previous else 0
    return Review(
        len(evidence.programs),
        tuple(summary_of(program, evidence) for program in evidence.programs[known:]),
        write_insights(evidence),
        recommendations(evidence),
        evidence.claims,
        tuple(withdrawals(previous.claims, evidence)) if previous else (),
    )


def worded(review: Review, text: str) -> str:
    """Return a model's wording of a review if every figure in it is a fact of the review.

    The comparison uses the digits of each figure. A percentage may state a ratio, milliseconds may
    state seconds, and anything that the review quotes may be quoted.

    Raises
    ------
    ReviewRefused
        If it has any other figure, or is empty.
    """
    if not text.strip():
        raise ReviewRefused("the wording of the review is empty, must say what the review says")
    strange = unfounded(text, _facts(review), QUOTED.findall(review.text()))
    if strange:
        named = ", ".join(strange[:MOST_STRANGE])
        raise ReviewRefused(
            f"the wording of the review says {named}, which the archive does not; "
            "use the figures of the review, with as many digits or fewer"
        )
    return text


def _facts(review: Review) -> Iterator[float]:
    """Yield every figure that a wording may use.

    Figures in quotations do not count, since a program may put any figure in its name or its
    errors. Figures in blocks and cases do.
    """
    yield from _numbers(review.as_dict())
    lists = (review.summaries, review.recommendations, review.claims, review.withdrawn)
    yield from (float(len(each)) for each in lists)
    insights = chain.from_iterable(sentences for _, sentences in review.insights.sections())
    for sentence in (*insights, *review.recommendations, *review.withdrawn):
        yield from (figure.value for figure in figures(QUOTED.sub(" ", sentence)))
    for summary in review.summaries:
        yield summary.valid_cases / summary.cases
        yield summary.hidden_valid_cases / max(summary.hidden_cases, 1)
        for name in (*summary.blocks, *summary.removed, summary.worst_case):
            yield from (figure.value for figure in figures(name))
    for claim in review.claims:
        yield from (figure.value for figure in figures(claim.block))


def _numbers(data: object) -> Iterator[float]:
    """Yield the numbers in plain data."""
    if isinstance(data, int | float) and not isinstance(data, bool):
        yield float(data)
    elif isinstance(data, dict):
        yield from chain.from_iterable(map(_numbers, data.values()))
    elif isinstance(data, tuple):
        yield from chain.from_iterable(map(_numbers, data))
