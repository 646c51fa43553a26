"""Why programs failed, in the referee's words, and why answers were refused."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from colocate.lab.messages import Attempt
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.program import Program


@dataclass(frozen=True)
class FailureCause:
    """The failed cases of one kind, with the first of them."""

    kind: str
    """A `Failure`, as text."""
    programs: int
    cases: int
    """How many programs and cases failed for this cause."""
    number: int
    """The number of the program in the example."""
    case: str
    reason: str
    """The case and the reason of the example; a hidden case has no reason to show."""


@dataclass(frozen=True)
class RefusalCause:
    """The answers that were refused for one cause, with the first of them."""

    answers: int
    number: int
    """The number of the program that the first of them was to become."""
    refusal: Refusal
    """The first of them."""


def failure_causes(programs: Iterable[Program]) -> tuple[FailureCause, ...]:
    """Return why cases failed, the cause that most programs have first.

    The example is a public case where there is one. What a program says after it has seen a hidden
    case is never quoted, since a review may reach the model that proposes.
    """
    cases: defaultdict[str, list[tuple[Program, str, str]]] = defaultdict(list)
    examples: dict[str, tuple[Program, str, str]] = {}
    for program in programs:
        for failed in program.verdict.public.failures:
            kind = str(failed.failure)
            cases[kind].append((program, failed.case, failed.reason))
            examples.setdefault(kind, cases[kind][-1])
        for failed in program.verdict.hidden.failures:
            cases[str(failed.failure)].append((program, failed.case, ""))
    causes = []
    for kind, found in cases.items():
        first, case, reason = examples.get(kind, found[0])
        numbers = {program.number for program, _, _ in found}
        causes.append(FailureCause(kind, len(numbers), len(found), first.number, case, reason))
    return tuple(sorted(causes, key=lambda cause: (-cause.programs, -cause.cases, cause.kind)))


def refusal_causes(attempts: Iterable[Attempt]) -> tuple[RefusalCause, ...]:
    """Return why answers were refused, the most frequent cause first."""
    first: dict[RefusalCode, RefusalCause] = {}
    for attempt in attempts:
        refusal = attempt.refusal
        if refusal and attempt.answer.came:
            new = RefusalCause(0, attempt.number, refusal)
            cause = first.setdefault(refusal.code, new)
            first[refusal.code] = replace(cause, answers=cause.answers + 1)
    return tuple(sorted(first.values(), key=lambda cause: (-cause.answers, cause.number)))
