"""Evidence in the archive about blocks: which of them go with which gain.

Ablation measures blocks: it compares a program with its parent. It compares only programs without a
failed case. A program that fails says nothing about its blocks, since an incomplete change may be
the cause of a crash.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import sqrt
from statistics import fmean, stdev

from colocate.lab.messages import Attempt, Kind
from colocate.lab.program import Program
from colocate.lab.review.anatomy import anatomy, bare_name, differ_in_one_block
from colocate.problem.tolerance import SAME_FITNESS

STANDARD_ERRORS = 2.0
"""A mean must be this many standard errors away from 0."""


class Direction(StrEnum):
    """The effect of a block on the fitness of a program."""

    HELPS = "helps"
    HURTS = "hurts"


@dataclass(frozen=True)
class Claim:
    """A claim that a block helps or hurts."""

    block: str
    """Its name with its settings."""
    direction: Direction
    gain: float
    """Fitness with the block minus fitness without it, as a mean over the pairs."""
    pairs: int
    """How many pairs support it."""
    clean: int
    """How many of the pairs differ only in this block."""
    swaps: int
    """In how many pairs it takes the place of the same block with other settings."""
    clean_gain: float | None
    """The mean over the clean pairs; None if there are none."""


@dataclass(frozen=True)
class Effect:
    """The measurements of a block, whether they support a claim or not.

    Parameters
    ----------
    block
        Its name with its settings.
    gains
        For each pair, the fitness with the block minus the fitness without it.
    clean_gains
        The gains of pairs that differ in nothing else.
    swaps
        In how many pairs it takes the place of the same block with other settings.
    unsteadiness
        The largest difference in fitness seen for the same program.
    """

    block: str
    gains: tuple[float, ...]
    clean_gains: tuple[float, ...] = ()
    swaps: int = 0
    unsteadiness: float = SAME_FITNESS

    @property
    def gain(self) -> float:
        """The mean over all pairs."""
        return fmean(self.gains)

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.gains)

    @property
    def clean(self) -> int:
        """How many of them differ in nothing else."""
        return len(self.clean_gains)

    @property
    def clean_gain(self) -> float | None:
        """The mean over the clean pairs."""
        return fmean(self.clean_gains) if self.clean_gains else None

    @property
    def noise(self) -> float:
        """The level that the gain must exceed to mean something."""
        return max(self.unsteadiness, _error(self.gains))

    @property
    def claim(self) -> Claim | None:
        """The claim about the block; None for a single pair that is not clean, or for noise."""
        gain, clean_gain = self.gain, self.clean_gain
        contradicted = clean_gain is not None and clean_gain * gain <= 0
        told = self.clean or self.pairs > 1
        if not told or contradicted or not (abs(gain) > self.noise or self._clean_pairs_agree):
            return None
        direction = Direction.HELPS if gain > 0 else Direction.HURTS
        return Claim(self.block, direction, gain, self.pairs, self.clean, self.swaps, clean_gain)

    @property
    def _clean_pairs_agree(self) -> bool:
        """Whether several clean pairs agree, however much the others scatter."""
        noise = max(self.unsteadiness, _error(self.clean_gains))
        return self.clean > 1 and abs(fmean(self.clean_gains)) > noise


@dataclass(frozen=True)
class Pair:
    """A parent and its child, both without a failed case."""

    parent: Program
    child: Program

    @property
    def added(self) -> frozenset[str]:
        """The blocks that only the child has."""
        return anatomy(self.child.source).blocks - anatomy(self.parent.source).blocks

    @property
    def removed(self) -> frozenset[str]:
        """The blocks that only the parent has."""
        return anatomy(self.parent.source).blocks - anatomy(self.child.source).blocks

    @property
    def gain(self) -> float:
        """The child's fitness minus the parent's."""
        return self.child.verdict.fitness - self.parent.verdict.fitness

    @property
    def clean(self) -> bool:
        """Whether one block alone makes the difference, and not luck."""
        steady = self.parent.verdict.steady and self.child.verdict.steady
        return steady and differ_in_one_block(self.parent.source, self.child.source)

    def gain_with(self, block: str) -> float:
        """Return the fitness with a block minus the fitness without it."""
        return self.gain if block in self.added else -self.gain

    def swaps(self, block: str) -> bool:
        """Whether the other program has the same block with other settings."""
        others = self.removed if block in self.added else self.added
        return bare_name(block) in map(bare_name, others)


@dataclass(frozen=True)
class Evidence:
    """The basis of a review.

    Parameters
    ----------
    programs
        By number.
    attempts
        In the order of the archive.
    """

    programs: tuple[Program, ...]
    attempts: tuple[Attempt, ...] = ()

    @cached_property
    def by_number(self) -> Mapping[int, Program]:
        """The programs by their numbers."""
        return {program.number: program for program in self.programs}

    @cached_property
    def kinds(self) -> Mapping[int, Kind]:
        """How the programs were made, by their numbers."""
        return {each.number: each.kind for each in self.attempts if not each.refusal}

    @cached_property
    def sound(self) -> tuple[Program, ...]:
        """The programs without a failed case; of those that are the same to Python, the first."""
        first: dict[str, Program] = {}
        for program in filter(is_sound, self.programs):
            first.setdefault(anatomy(program.source).key, program)
        return tuple(first.values())

    @cached_property
    def best(self) -> Program | None:
        """The fittest sound program, the first of them if there are several."""
        top = max((program.verdict.fitness for program in self.sound), default=0.0)
        level = (program for program in self.sound if program.verdict.fitness > top - SAME_FITNESS)
        return next(level, None)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Sound programs with their sound parents; the same two programs count once."""
        found: dict[frozenset[str], Pair] = {}
        for child in filter(is_sound, self.programs):
            parent = self.parent_of(child)
            if parent and is_sound(parent) and not self.repeats_parent(child):
                keys = frozenset(anatomy(each.source).key for each in (parent, child))
                found.setdefault(keys, Pair(parent, child))
        return tuple(found.values())

    @cached_property
    def unsteadiness(self) -> float:
        """The largest difference of fitness between programs that are the same to Python."""
        same: defaultdict[str, list[float]] = defaultdict(list)
        for program in filter(is_sound, self.programs):
            same[anatomy(program.source).key].append(program.verdict.fitness)
        return max([SAME_FITNESS, *(max(seen) - min(seen) for seen in same.values())])

    @cached_property
    def effects(self) -> Mapping[str, Effect]:
        """The measurements of each block that distinguishes a pair."""
        telling: defaultdict[str, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            for block in pair.added | pair.removed:
                telling[block].append(pair)
        return {block: self._effect(block, pairs) for block, pairs in sorted(telling.items())}

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about blocks, the largest gain or loss first."""
        found = [effect.claim for effect in self.effects.values() if effect.claim]
        return tuple(sorted(found, key=lambda claim: (-abs(claim.gain), claim.block)))

    def _effect(self, block: str, pairs: Sequence[Pair]) -> Effect:
        gains = tuple(pair.gain_with(block) for pair in pairs)
        clean_gains = tuple(pair.gain_with(block) for pair in pairs if pair.clean)
        swaps = sum(pair.swaps(block) for pair in pairs)
        return Effect(block, gains, clean_gains, swaps, self.unsteadiness)

    def parent_of(self, program: Program) -> Program | None:
        """Return the parent of a program."""
        return self.by_number.get(program.parents[0]) if program.parents else None

    def repeats_parent(self, program: Program) -> bool:
        """Whether a program differs from its parent only in words for readers."""
        parent = self.parent_of(program)
        return parent is not None and anatomy(parent.source).key == anatomy(program.source).key


def is_sound(program: Program) -> bool:
    """Whether no case failed, public or hidden."""
    return not program.verdict.public.failures and not program.verdict.hidden.failures


def _error(gains: Sequence[float]) -> float:
    """Return how far from 0 the mean of gains may be by chance."""
    return STANDARD_ERRORS * stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else 0.0
