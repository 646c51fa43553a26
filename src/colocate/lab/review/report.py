"""A review of the archive: a summary per program, insights in four sections, five recommendations.

It states only facts. A model may reword it, but may not change its figures.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from colocate.errors import ArchiveError, ColocateError
from colocate.lab.messages import Attempt, Kind
from colocate.lab.program import Program
from colocate.lab.review.anatomy import anatomy
from colocate.lab.review.causes import FailureCause, failure_causes
from colocate.lab.review.evidence import Claim, Evidence
from colocate.lab.review.fact_check import figures, unfounded
from colocate.lab.review.insights import Insights, withdrawals, write_insights
from colocate.lab.review.phrases import code, code_list, share
from colocate.lab.review.recommendations import recommendations
from colocate.outputs.text.wording import amount

QUOTED = re.compile("`([^`]*)`")
MOST_STRANGE = 5
"""Figures that a refusal names; a wording that is wrong throughout has many."""


class ReviewRefused(ColocateError):  # noqa: N818, a refusal is an answer, not a fault
    """A wording with a figure that is not in the archive; the message names it."""


@dataclass(frozen=True)
class Summary:
    """A summary of one program."""

    number: int
    name: str
    generation: int
    kind: Kind | None
    """How it was made; None for a program without a request."""
    parent: int | None
    added: tuple[str, ...]
    """Blocks that its parent does not have."""
    removed: tuple[str, ...]
    """Blocks that only its parent has."""
    repeats_parent: bool
    """Whether it differs from its parent only in words for readers."""
    score: float
    ratio: float
    hidden_ratio: float
    """Figures of the verdict, see `Verdict`."""
    valid_cases: int
    cases: int
    hidden_valid_cases: int
    hidden_cases: int
    """Cases that did not fail, and all cases, public and hidden."""
    steady: bool
    """Whether all runs gave the same pressures."""
    seconds: float
    worst_case: str
    worst_ratio: float
    """The public case furthest from its optimum."""
    failures: tuple[FailureCause, ...]
    """Why cases failed."""
    blocks: tuple[str, ...]
    """All its blocks."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield f"### Number {self.number}: {code(self.name)}\n"
        yield f"- Implementation: {self._implementation()}."
        yield f"- Performance: {self._performance()}."
        yield f"- Feedback: {self._feedback()}."
        made_of = f", made of {code_list(self.blocks)}" if self.blocks else ""
        yield f"- Identity: number {self.number} of generation {self.generation}{made_of}.\n"

    def _implementation(self) -> str:
        if self.parent is None:
            return "not made from another program"
        made = f"made from number {self.parent}{f' by {self.kind.value}' if self.kind else ''}"
        if self.repeats_parent:
            return f"{made}, the same program but for words for readers"
        changes = (("adds", self.added), ("takes out", self.removed))
        told = [f"{verb} {code_list(blocks)}" for verb, blocks in changes if blocks]
        return f"{made}, {' and '.join(told) or 'changes no block by name'}"

    def _performance(self) -> str:
        steadiness = "" if self.steady else ", in the worst of runs that differ"
        return (
            f"score {self.score:.4f}, ratio {share(self.ratio)}, hidden ratio "
            f"{share(self.hidden_ratio)}, valid on {self.valid_cases} of {self.cases} public and "
            f"{self.hidden_valid_cases} of {self.hidden_cases} hidden cases, "
            f"{self.seconds:.3f} s{steadiness}"
        )

    def _feedback(self) -> str:
        if not self.failures:
            return (
                f"worst case {code(self.worst_case)}, at {share(self.worst_ratio)} of its optimum"
            )
        told = (
            f"{code(cause.kind)} on {amount(cause.cases, 'case')}, first {code(cause.case)}: "
            f"{code(cause.reason)}"
            for cause in self.failures
        )
        return f"failed, which says nothing about its blocks: {'; '.join(told)}"


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
    """
    evidence = Evidence(tuple(sorted(programs, key=lambda each: each.number)), tuple(attempts))
    known = previous.programs if previous else 0
    return Review(
        len(evidence.programs),
        tuple(_summary(program, evidence) for program in evidence.programs[known:]),
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


def _summary(program: Program, evidence: Evidence) -> Summary:
    verdict, parent = program.verdict, evidence.parent_of(program)
    own = anatomy(program.source).blocks
    before = anatomy(parent.source).blocks if parent else own
    return Summary(
        number=program.number,
        name=program.name,
        generation=program.generation,
        kind=evidence.kinds.get(program.number),
        parent=parent.number if parent else None,
        added=tuple(sorted(own - before)),
        removed=tuple(sorted(before - own)),
        repeats_parent=evidence.repeats_parent(program),
        score=verdict.score,
        ratio=verdict.ratio,
        hidden_ratio=verdict.hidden.ratio,
        valid_cases=verdict.public.valid_cases,
        cases=verdict.public.cases,
        hidden_valid_cases=verdict.hidden.valid_cases,
        hidden_cases=verdict.hidden.cases,
        steady=verdict.steady,
        seconds=verdict.seconds,
        worst_case=verdict.public.worst.case,
        worst_ratio=verdict.public.worst.ratio,
        failures=failure_causes([program]),
        blocks=tuple(sorted(own)),
    )


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
        yield summary.hidden_valid_cases / summary.hidden_cases
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
