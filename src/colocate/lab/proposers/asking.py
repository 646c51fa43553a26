"""One request: asks, tries to make a program from the answer, and asks again if that fails."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from colocate.errors import ProposerError
from colocate.lab.messages import (
    NOBODY,
    Answer,
    Attempt,
    Kind,
    Proposer,
    Request,
    UnusableAnswer,
)
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import Patch, PatchedProgram, apply_patch
from colocate.lab.patches.refusal import PatchRefused, Refusal, RefusalCode
from colocate.lab.spending import BudgetSpent

CUT_OFF = "the answer was cut off before its end"
SHORTER = "give a shorter one, and all of it"


@dataclass(frozen=True)
class Child:
    """The program that an answer makes of its parent, before it is judged.

    Parameters
    ----------
    number
        The number of the program that it becomes.
    made
        The program, with the patch that made it.
    parents
        Numbers of its parents.
    """

    number: int
    made: PatchedProgram
    parents: tuple[int, ...]


def unanswered(request: Request, generation: int) -> Attempt:
    """Return the attempt at a request that has no answer yet."""
    others = request.inspirations[:1] if request.kind is Kind.CROSSING else ()
    parents = (request.parent.number, *(other.number for other in others))
    return Attempt(request.number, 0, generation, request.kind, parents, Answer("", NOBODY))


def ask(
    proposer: Proposer,
    request: Request,
    blank: Attempt,
    recorded: Sequence[Attempt],
    attempts: int,
    known: Mapping[str, int],
) -> tuple[list[Attempt], Child | None]:
    """Return the answers to a request, and the child if one of them was taken.

    Without a child, there are fewer answers than could be asked for only if the budget is spent.

    Parameters
    ----------
    proposer
        The proposer to ask.
    request
        The request; later attempts show why the previous answer was refused.
    blank
        An attempt to fill in, with number, generation, kind and parents.
    recorded
        Earlier answers, which are not asked for again.
    attempts
        The most answers to ask for.
    known
        Numbers of the known programs, by the key of their syntax tree.
    """
    answers: list[Attempt] = []
    for number in range(attempts):
        again = number < len(recorded)
        try:
            answer, silence = _recorded(recorded[number]) if again else _heard(proposer, request)
        except BudgetSpent:
            break
        kept = replace(answer, made=None)  # the child is kept as a program
        attempt = replace(blank, attempt=number, answer=kept, refusal=silence)
        if silence:
            answers.append(attempt)
            if answer.who != NOBODY:
                request = replace(request, refusal=silence)
            continue
        try:
            made = _made(answer, request, known)
        except PatchRefused as error:
            answers.append(replace(attempt, refusal=error.refusal))
            request = replace(request, refusal=error.refusal)
        else:
            taken = replace(attempt, kind=_kind_of(made.patch, blank.kind))
            return [*answers, taken], Child(blank.number, made, blank.parents)
    return answers, None


def _kind_of(patch: Patch, asked: Kind) -> Kind:
    """Return the kind of change made, which need not be the kind requested."""
    return asked if asked is Kind.CROSSING else Kind(patch.kind.value)


def _recorded(attempt: Attempt) -> tuple[Answer, Refusal | None]:
    """Return a recorded answer, or none and the reason."""
    return attempt.answer, None if attempt.answer.came else attempt.refusal


def _heard(proposer: Proposer, request: Request) -> tuple[Answer, Refusal | None]:
    """Return the answer, or none and the reason."""
    try:
        return proposer.propose(request), None
    except UnusableAnswer as error:
        return error.answer, error.refusal
    except ProposerError as error:
        return Answer("", NOBODY), Refusal(RefusalCode.NO_ANSWER, str(error))


def _made(answer: Answer, request: Request, known: Mapping[str, int]) -> PatchedProgram:
    if answer.cut_off:
        raise PatchRefused(RefusalCode.ANSWER_CUT_OFF, CUT_OFF, SHORTER)
    made = answer.made or apply_patch(
        read_patch(answer.text), request.parent.source, request.task.entry_point
    )
    twin = known.get(made.key)
    if twin is not None:
        fault = f"program {twin} is the same, but for its comments and seeds"
        raise PatchRefused(RefusalCode.KNOWN_PROGRAM, fault, "change something")
    return made


@contextmanager
def askers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Ask in parallel; wait for all answers, but for none after an interrupt or a fault."""
    pool = ThreadPoolExecutor(count)
    all_asked = False
    try:
        yield pool
        all_asked = True
    finally:
        pool.shutdown(wait=all_asked, cancel_futures=not all_asked)
