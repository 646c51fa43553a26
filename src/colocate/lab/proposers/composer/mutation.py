"""From one composition to the next: small changes, new compositions, and crossings of two."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any, NamedTuple, TypeVar

from colocate.lab.proposers.composer.choices import Draw, drawn
from colocate.lab.proposers.composer.cost_model import LONGEST, milliseconds
from colocate.lab.proposers.composer.grammar import (
    CHOICES,
    EFFORTS,
    IMPROVERS,
    STARTS,
    Composition,
    Path,
    distinct,
    is_sound,
    matters,
    parts,
    replaced,
)
from colocate.lab.proposers.composer.notation import text_of
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.packing import Packing

Block = TypeVar("Block")

MORE_EFFORT = 5.0
"""How much more likely a change is that gives a block more time."""

GROUPS = ("starts", "each", "finish")


@dataclass(frozen=True)
class Mutation:
    """A step to another composition.

    Parameters
    ----------
    child
        The new composition.
    clause
        A description of the change.
    weight
        How likely it is to be drawn.
    """

    child: Composition
    clause: str
    weight: float = 1.0


def mutated(parent: Composition, draw: Draw) -> Mutation:
    """Return one small change; if none is possible, a new composition."""
    kinds = dict(KINDS)
    while kinds:
        kind = draw.pick(list(kinds), list(kinds.values()))
        if change := _picked(kind(parent, draw), parent, draw):
            return change
        del kinds[kind]
    return renewed(parent, draw)


def mutated_often(parent: Composition, draw: Draw) -> Mutation:
    """Return two or three small changes as one."""
    changes = [mutated(parent, draw)]
    count = 2 + int(draw.rng.random() * 2)
    while len(changes) < count or _is_same(changes[-1].child, parent):
        changes.append(mutated(changes[-1].child, draw))
    return Mutation(changes[-1].child, "; ".join(change.clause for change in changes))


def renewed(parent: Composition | None, draw: Draw) -> Mutation:
    """Return a new small composition: a start and, if there is a parent, improvers."""
    while True:
        count = int(draw.rng.random() * 3) if parent else 0
        each = tuple(_drawn_among(IMPROVERS, draw) for _ in range(count))
        child = Composition((_drawn_among(STARTS, draw),), each)
        if _is_allowed(child, parent, draw):
            told = ", then ".join(map(text_of, (*child.starts, *child.each)))
            return Mutation(child, f"compose anew: {told}")


def crossed(parent: Composition, other: Composition, draw: Draw) -> Mutation:
    """Return a mix of two compositions; if no other mix exists, one small change.

    Parameters
    ----------
    parent, other
        The two; the seed is that of the parent.
    draw
        The source of randomness and advice.
    """
    mixes = (each for each in _mixes(parent, other) if not _is_same(each.child, other))
    return _picked(mixes, parent, draw) or mutated(parent, draw)


def _mixes(parent: Composition, other: Composition) -> Iterator[Mutation]:
    for owners in product(("the parent", "the inspiration", "both"), repeat=len(GROUPS)):
        groups = {}
        for group, owner in zip(GROUPS, owners, strict=True):
            mine, theirs = getattr(parent, group), getattr(other, group)
            both = distinct((*mine, *theirs))
            groups[group] = {"the parent": mine, "the inspiration": theirs, "both": both}[owner]
        told = (f"{group.upper()} of {owner}" for group, owner in zip(GROUPS, owners, strict=True))
        yield Mutation(parent._replace(**groups), f"cross: {', '.join(told)}")


def _picked(changes: Iterable[Mutation], parent: Composition, draw: Draw) -> Mutation | None:
    """Draw one of the allowed changes, if there is one."""
    options = list(changes)
    while options:
        change = draw.pick(options, [option.weight for option in options])
        if _is_allowed(change.child, parent, draw):
            return change
        options.remove(change)
    return None


def _is_allowed(child: Composition, parent: Composition | None, draw: Draw) -> bool:
    usual = LONGEST / draw.slower
    longest = max(usual, milliseconds(parent)) if parent else usual
    return not _is_same(child, parent) and is_sound(child) and milliseconds(child) <= longest


def _is_same(one: Composition, other: Composition | None) -> bool:
    return len(distinct((one, other))) == 1


def _drawn_among(kinds: Mapping[type[Block], float], draw: Draw) -> Block:
    blocks = [drawn(kind, draw) for kind in kinds]
    favours = map(draw.favour, blocks)
    weights = [weight * favour for weight, favour in zip(kinds.values(), favours, strict=True)]
    return draw.pick(blocks, weights)


class _Row(NamedTuple):
    """A sequence of blocks in a composition."""

    name: str
    path: Path
    blocks: tuple[Any, ...]
    kinds: Mapping[type, float]
    """The kinds of blocks that it may hold, and how likely each is."""


def _rows(parent: Composition) -> Iterator[_Row]:
    yield _Row("STARTS", (0,), parent.starts, STARTS)
    yield _Row("EACH", (1,), parent.each, IMPROVERS)
    # With one start, improving each start and improving the best are the same.
    if len(parent.starts) > 1 or parent.finish:
        yield _Row("FINISH", (2,), parent.finish, IMPROVERS)
    for path, part in parts(parent):
        if isinstance(part, Bisection):
            yield _Row("packings", (*path, 0), part.packings, {Packing: 2.0})


def _additions(parent: Composition, draw: Draw) -> Iterator[Mutation]:
    for name, path, blocks, kinds in _rows(parent):
        for kind, weight in kinds.items():
            block: Any = drawn(kind, draw)
            child = replaced(parent, path, (*blocks, block))
            yield Mutation(child, f"add {text_of(block)} to {name}", weight * draw.favour(block))


def _replacements(parent: Composition, draw: Draw) -> Iterator[Mutation]:
    for _, path, blocks, kinds in _rows(parent):
        for place, old in enumerate(blocks):
            for kind, weight in kinds.items():
                new: Any = drawn(kind, draw)
                child = replaced(parent, (*path, place), new)
                clause = f"replace {text_of(old)} by {text_of(new)}"
                yield Mutation(child, clause, weight * draw.favour(new))


def _removals(parent: Composition, _draw: Draw) -> Iterator[Mutation]:
    for name, path, blocks, _ in _rows(parent):
        for place, block in enumerate(blocks):
            child = replaced(parent, path, blocks[:place] + blocks[place + 1 :])
            yield Mutation(child, f"leave {text_of(block)} out of {name}")


def _settings(parent: Composition, draw: Draw) -> Iterator[Mutation]:
    for path, part in parts(parent):
        kind = type(part)
        for field, options in CHOICES[kind].items():
            now, place = getattr(part, field), kind._fields.index(field)
            others = _next_to(now, options) if matters(part, field) else []
            for option in others:
                child = replaced(parent, (*path, place), option)
                clause = f"set {field} of {kind.__name__} to {text_of(option)}, not {text_of(now)}"
                weight = MORE_EFFORT if field in EFFORTS and option > now else 1.0 / len(others)
                yield Mutation(child, clause, weight * draw.favour(kind, option))


def _next_to(now: Any, options: Sequence[Any]) -> list[Any]:
    """Return the next lower and higher numbers; for options without an order, all others."""
    if isinstance(now, IntEnum) or now not in options:
        return [option for option in options if option != now]
    place = options.index(now)
    return [*options[max(0, place - 1) : place], *options[place + 1 : place + 2]]


KINDS = {
    _additions: 4.0,
    _settings: 4.0,
    _replacements: 1.5,
    _removals: 1.0,
}
"""Kinds of small changes, and how likely each is.

Another seed is none of them: the referee replaces it, so it is worth nothing.
"""
