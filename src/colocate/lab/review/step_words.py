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
LONGEST_LINE = 70
"""Letters of a quoted statement."""


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
        place = code(each.name) if each.name else "the code outside of functions"
        old, new = (code(line, LONGEST_LINE) for line in (each.before, each.after))
        if each.added == each.removed == 1 and old != new:
            yield f"turns {old} into {new} in {place}"
        elif not each.removed:
            yield f"adds {_statements(each.added, new)} to {place}"
        elif not each.added:
            yield f"takes {_statements(each.removed, old)} out of {place}"
        else:
            count = max(each.added, each.removed)
            first = f", first {old} into {new}" if old != new else ""
            yield f"rewrites {amount(count, 'statement')} in {place}{first}"


def _statements(count: int, first: str) -> str:
    return first if count == 1 else f"{first} and {amount(count - 1, 'more statement')}"
