"""A parent and its child: the step between two programs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from colocate.lab.patches.syntax import ENTRY
from colocate.lab.program import Program
from colocate.lab.review.anatomy import Anatomy, anatomy, bare_name, differ_in_one_block
from colocate.lab.review.block_words import block_settings
from colocate.lab.review.differences import CodeDifference, ConstantChange, difference

DEFAULT = "its default"
"""What a setting that a block does not name is."""


@dataclass(frozen=True)
class Pair:
    """A parent and its child.

    Parameters
    ----------
    parent, child
        The two programs.
    entry
        The function that the task calls.
    """

    parent: Program
    child: Program
    entry: str = field(default=ENTRY)

    @cached_property
    def before(self) -> Anatomy:
        """The blocks of the parent."""
        return anatomy(self.parent.source, self.entry)

    @cached_property
    def after(self) -> Anatomy:
        """The blocks of the child."""
        return anatomy(self.child.source, self.entry)

    @property
    def added(self) -> frozenset[str]:
        """The blocks that only the child has."""
        return self.after.blocks - self.before.blocks

    @property
    def removed(self) -> frozenset[str]:
        """The blocks that only the parent has."""
        return self.before.blocks - self.after.blocks

    @property
    def brought(self) -> frozenset[str]:
        """The names that only the child has, whatever their settings."""
        return self.after.names - self.before.names

    @property
    def dropped(self) -> frozenset[str]:
        """The names that only the parent has, whatever their settings."""
        return self.before.names - self.after.names

    @property
    def gain(self) -> float:
        """The child's fitness minus the parent's."""
        return self.child.verdict.fitness - self.parent.verdict.fitness

    @cached_property
    def clean(self) -> bool:
        """Whether one block alone makes the difference, and not luck."""
        steady = self.parent.verdict.steady and self.child.verdict.steady
        return steady and differ_in_one_block(self.parent.source, self.child.source, self.entry)

    @cached_property
    def difference(self) -> CodeDifference:
        """What differs; of composed programs, settings: their code follows from their blocks."""
        if not (self.before.groups and self.after.groups):
            return difference(self.parent.source, self.child.source)
        mine, theirs = dict(self.before.seeds), dict(self.after.seeds)
        seeds = [
            ConstantChange(name, "", mine[name], theirs[name])
            for name in mine
            if theirs.get(name, mine[name]) != mine[name]
        ]
        settings = [each for old, new in self.replaced for each in _other_settings(old, new)]
        return CodeDifference(constants=(*seeds, *settings))

    @property
    def anew(self) -> bool:
        """Whether a composition takes the place of other code, or the other way round."""
        return bool(self.before.groups) != bool(self.after.groups)

    @property
    def only_seeds(self) -> bool:
        """Whether nothing but seeds differs."""
        others = {bare_name(block) for block in self.added | self.removed} - {"seed"}
        return self.difference.only_seeds and not others and self._same_elements

    @property
    def _same_elements(self) -> bool:
        return self.before.elements == self.after.elements

    @cached_property
    def came(self) -> tuple[str, ...]:
        """The blocks that only the child has, as often as it has them."""
        return _more(self.after, self.before)

    @cached_property
    def went(self) -> tuple[str, ...]:
        """The blocks that only the parent has, as often as it has them."""
        return _more(self.before, self.after)

    @cached_property
    def replaced(self) -> tuple[tuple[str, str], ...]:
        """Blocks that take the place of one of the same name: the old and the new."""
        new, old = (Counter(map(bare_name, each)) for each in (self.came, self.went))
        both = [name for name in sorted(new) if new[name] == old[name] == 1]
        return tuple((_named(self.went, name), _named(self.came, name)) for name in both)

    def gain_with(self, block: str) -> float:
        """Return the fitness with a block minus the fitness without it."""
        return self.gain if self.has(block) else -self.gain

    def has(self, block: str) -> bool:
        """Whether it is the child that has a block, or a name of blocks."""
        return block in self.added or block in self.brought

    def owners(self, block: str) -> tuple[int, int]:
        """Return the number of the program with a block, and of the one without it."""
        numbers = self.child.number, self.parent.number
        return numbers if self.has(block) else numbers[::-1]

    def swaps(self, block: str) -> bool:
        """Whether the other program has the same block with other settings."""
        others = self.removed if block in self.added else self.added
        return bare_name(block) in map(bare_name, others)


def _more(one: Anatomy, other: Anatomy) -> tuple[str, ...]:
    """Return the blocks that one program has more often than another."""
    mine, theirs = (
        Counter(block for _, held in each.groups for block in held) or Counter(each.blocks)
        for each in (one, other)
    )
    return tuple(sorted((mine - theirs).elements()))


def _named(blocks: Iterable[str], name: str) -> str:
    return next(block for block in blocks if bare_name(block) == name)


def _other_settings(old: str, new: str) -> Iterator[ConstantChange]:
    """Yield the settings in which two blocks of the same name differ."""
    before, after = block_settings(old), block_settings(new)
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name, DEFAULT), after.get(name, DEFAULT)
        if one != other:
            yield ConstantChange(name, bare_name(new), one, other)
