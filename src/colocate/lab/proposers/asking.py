"""One request: ask, see whether a program can be made of the answer, and ask again if not."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from colocate.errors import PatchRefused, ProposerError
from colocate.lab.messages import NOBODY, Answer, Attempt, Kind, Proposer, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import Patch, apply_patch
from colocate.lab.patches.syntax import syntax_key

CUT_OFF = "the answer was cut off before its end; give a shorter one, and all of it"


@dataclass(frozen=True)
class Child:
    """What an answer makes of its parent, before it is judged."""

    number: int
    name: str
    description: str
    source: str
    parents: tuple[int, ...]
    """The programs that it is made of."""


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
    """Return the answers to a request, and the child if one of them could be taken.

    Parameters
    ----------
    blank
        An attempt to fill in, with number, generation, kind and parents.
    recorded
        Answers that were given before; they are not asked for again.
    attempts
        How many answers to ask for at most.
    known
        Numbers of the programs there are, by the key of their syntax tree.
    """
    answers: list[Attempt] = []
    for number in range(attempts):
        again = number < len(recorded)
        answer, silence = _told(recorded[number]) if again else _heard(proposer, request)
        attempt = replace(blank, attempt=number, answer=answer, refusal=silence)
        try:
            patch, source = _made(answer, silence, request, known)
        except PatchRefused as refusal:
            answers.append(replace(attempt, refusal=str(refusal)))
            if not silence:
                request = replace(request, refusal=str(refusal))
        else:
            child = Child(blank.number, patch.name, patch.description, source, blank.parents)
            return [*answers, replace(attempt, kind=_kind_of(patch, blank.kind))], child
    return answers, None


def _kind_of(patch: Patch, asked: Kind) -> Kind:
    """Return what kind of change was made, which need not be the one that was asked for."""
    return asked if asked is Kind.CROSSING else Kind(patch.kind.value)


def _told(attempt: Attempt) -> tuple[Answer, str]:
    """Return a recorded answer, or none and the reason."""
    return attempt.answer, "" if attempt.answer.came else attempt.refusal


def _heard(proposer: Proposer, request: Request) -> tuple[Answer, str]:
    """Return the answer, or none and the reason."""
    try:
        return proposer.propose(request), ""
    except ProposerError as error:
        return Answer("", NOBODY), str(error)


def _made(
    answer: Answer, silence: str, request: Request, known: Mapping[str, int]
) -> tuple[Patch, str]:
    if silence:
        raise PatchRefused(silence)
    if answer.cut_off:
        raise PatchRefused(CUT_OFF)
    patch = read_patch(answer.text)
    source = apply_patch(patch, request.parent.source)
    twin = known.get(syntax_key(source))
    if twin is not None:
        raise PatchRefused(f"program {twin} is the same, but for its comments; change something")
    return patch, source


@contextmanager
def askers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Ask side by side; all answers are waited for, but none after an interrupt or a fault."""
    pool = ThreadPoolExecutor(count)
    all_asked = False
    try:
        yield pool
        all_asked = True
    finally:
        pool.shutdown(wait=all_asked, cancel_futures=not all_asked)
