"""Why programs failed, in the referee's words, and why answers were refused."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from colocate.arena.reasons import PARTICULARS
from colocate.lab.messages import Attempt
from colocate.lab.program import Program


@dataclass(frozen=True)
class FailureCause:
    """The failed cases of one kind, with the first of them."""

    kind: str
    programs: int
    cases: int
    number: int
    """Of the program in the example."""
    case: str
    reason: str


@dataclass(frozen=True)
class RefusalCause:
    """The answers that were refused with the same advice, with the first of them."""

    answers: int
    number: int
    refusal: str


def failure_causes(programs: Iterable[Program]) -> tuple[FailureCause, ...]:
    """Return why cases failed, the cause that most programs have first."""
    cases: defaultdict[str, list[tuple[Program, str, str]]] = defaultdict(list)
    for program in programs:
        for failed in (*program.verdict.public.failures, *program.verdict.hidden.failures):
            cases[str(failed.failure)].append((program, failed.case, failed.reason))
    causes = []
    for kind, found in cases.items():
        first, case, reason = found[0]
        numbers = {program.number for program, _, _ in found}
        causes.append(FailureCause(kind, len(numbers), len(found), first.number, case, reason))
    return tuple(sorted(causes, key=lambda cause: (-cause.programs, -cause.cases, cause.kind)))


def refusal_causes(attempts: Iterable[Attempt]) -> tuple[RefusalCause, ...]:
    """Return why answers were refused, the most frequent cause first."""
    same: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.refusal and attempt.answer.came:
            same[_advice(attempt.refusal)].append(attempt)
    causes = [RefusalCause(len(a), a[0].number, a[0].refusal) for a in same.values()]
    return tuple(sorted(causes, key=lambda cause: (-cause.answers, cause.number)))


def _advice(refusal: str) -> str:
    """Return what a refusal says to do, which is the same for the same cause."""
    return PARTICULARS.sub("...", " ".join(refusal.split()).rpartition("; ")[2])
