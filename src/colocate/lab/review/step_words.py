"""The step from a parent to its child, in words."""

from collections.abc import Iterator, Sequence

from colocate.lab.review.anatomy import bare_name
from colocate.lab.review.differences import CodeDifference, ConstantChange
from colocate.lab.review.pairs import Pair
from colocate.lab.review.phrases import code, code_list
from colocate.outputs.text.wording import amount, listed

MOST_CONSTANTS = 4
MOST_FUNCTIONS = 3
"""Constants and functions that a sentence names."""


def step_words(pair: Pair) -> str:
    """Return what a child changes, such as: brings in `swap`, `restarts` from 10 to 40."""
    told = list(_parts(pair))
    return listed(told, len(told)) if told else "changes nothing that has a name"


def constant_words(change: ConstantChange) -> str:
    """Return a change of a constant."""
    name = code(change.name) if change.name else "a constant"
    where = f" of {code(change.where)}" if change.where else ""
    return f"{name}{where} from {change.old} to {change.new}"


def _parts(pair: Pair) -> Iterator[str]:
    if pair.only_seeds:
        yield f"changes the seed alone: {constant_words(pair.difference.constants[0])}"
        return
    if pair.anew:
        kind = "a composition" if pair.after.groups else "code"
        yield f"writes the program anew as {kind} with {code_list(pair.came) or 'no block'}"
        return
    settled = {block for each in pair.replaced for block in each}
    if came := [block for block in pair.came if block not in settled]:
        yield f"brings in {code_list(came)}"
    if went := [block for block in pair.went if block not in settled]:
        yield f"takes out {code_list(went)}"
    constants = pair.difference.constants
    in_settings = {each.where for each in constants} if pair.after.groups else set()
    for old, new in pair.replaced:
        # A block whose setting is a constant that is told needs no words of its own.
        if bare_name(new) not in in_settings and not _is_told(new, constants):
            yield f"turns {code(old)} into {code(new)}"
    if constants:
        shown = [constant_words(each) for each in constants[:MOST_CONSTANTS]]
        left = [f"{len(constants) - len(shown)} more"] if len(constants) > len(shown) else []
        yield f"changes {listed([*shown, *left], len(shown) + 1)}"
    yield from _functions(pair.difference)


def _is_told(block: str, constants: Sequence[ConstantChange]) -> bool:
    setting = block.partition("(")[2].rstrip(")")
    return any(setting in (each.new, f"{each.new} times") for each in constants)


def _functions(found: CodeDifference) -> Iterator[str]:
    for each in found.changed[:MOST_FUNCTIONS]:
        where = f"in {code(each.name)}" if each.name else "outside of functions"
        count = max(each.added, each.removed)
        yield f"rewrites {amount(count, 'statement')} {where}"
