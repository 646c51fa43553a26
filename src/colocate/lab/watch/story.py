"""The origin of a program, as facts."""

from collections.abc import Sequence

from colocate.lab.messages import Attempt
from colocate.lab.program import Program
from colocate.lab.watch.account import Account, duration
from colocate.lab.watch.sheet import Cell, Fact, Mention
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line


def story(program: Program, programs: Sequence[Program], attempts: Sequence[Attempt]) -> list[Fact]:
    """Return the origin of a program, its proposer and its costs.

    Parameters
    ----------
    program
        The program in question.
    programs
        All programs of the archive, best first.
    attempts
        All attempts of the archive.
    """
    place = 1 + [other.number for other in programs].index(program.number)
    born = f"in generation {program.generation}, on island {program.island}"
    facts: list[Fact] = [("place", f"{place} of {len(programs)}"), ("made", born)]
    facts.append(("parents", _parents(program, programs)))
    own = [attempt for attempt in attempts if attempt.number == program.number]
    return facts + (_asking(own) if own else [])


def _parents(program: Program, programs: Sequence[Program]) -> Cell:
    names = {other.number: other.name for other in programs}
    return tuple(Mention(number, names.get(number, "")) for number in program.parents) or "none"


def _asking(own: Sequence[Attempt]) -> list[Fact]:
    account = Account.of((), own)
    last = own[-1]
    spent = account.spent
    tokens = f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out{account.doubt}"
    facts: list[Fact] = [
        ("proposed", f"as a {last.kind} by {one_line(last.answer.who, LONGEST_NAME)}"),
        ("spent", f"{tokens}, cost {spent.cost:,.4f}, {duration(account.asking_seconds)}"),
    ]
    refused = [attempt.refusal for attempt in own if attempt.refusal]
    if refused:
        last_reason = one_line(str(refused[-1]))
        facts.append(("refused", f"{len(refused)} before it, the last: {last_reason}"))
    return facts
