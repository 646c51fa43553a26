"""Evidence in the archive about blocks: which of them go with which gain.

Ablation measures blocks: it compares a program with its parent. It compares only programs without a
failed case. A program that fails says nothing about its blocks, since an incomplete change may be
the cause of a crash.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import sqrt
from statistics import fmean, stdev

from colocate.lab.messages import Attempt, Kind
from colocate.lab.patches.syntax import ENTRY
from colocate.lab.program import Program
from colocate.lab.review.anatomy import Anatomy, anatomy, bare_name
from colocate.lab.review.pairs import Pair
from colocate.problem.tolerance import SAME_FITNESS

STANDARD_ERRORS = 2.0
"""A mean must be this many standard errors away from 0."""
MOST_TELLING = 2
"""Pairs that a sentence names."""


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
    better: int = 0
    """In how many of the pairs the program with it is fitter, beyond noise."""
    telling: tuple[tuple[int, int, float], ...] = ()
    """The pairs that gained or lost most: the numbers with and without it, and the gain."""


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
    owners
        For each pair, the number of the program with the block, and of the one without it.
    """

    block: str
    gains: tuple[float, ...]
    clean_gains: tuple[float, ...] = ()
    swaps: int = 0
    unsteadiness: float = SAME_FITNESS
    owners: tuple[tuple[int, int], ...] = ()

    @property
    def gain(self) -> float:
        """The mean over all pairs; 0 without any."""
        return fmean(self.gains) if self.gains else 0.0

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
    def better(self) -> int:
        """In how many pairs the program with it is fitter, beyond noise."""
        return sum(gain > self.unsteadiness for gain in self.gains)

    @property
    def telling(self) -> tuple[tuple[int, int, float], ...]:
        """The pairs that gained or lost most."""
        told = [(*pair, gain) for pair, gain in zip(self.owners, self.gains, strict=False)]
        return tuple(sorted(told, key=lambda each: (-abs(each[2]), each))[:MOST_TELLING])

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
        counts = self.pairs, self.clean, self.swaps, clean_gain, self.better, self.telling
        return Claim(self.block, direction, gain, *counts)

    @property
    def _clean_pairs_agree(self) -> bool:
        """Whether several clean pairs agree, however much the others scatter."""
        noise = max(self.unsteadiness, _error(self.clean_gains))
        return self.clean > 1 and abs(fmean(self.clean_gains)) > noise


@dataclass(frozen=True)
class Evidence:
    """The basis of a review.

    Parameters
    ----------
    programs
        By number.
    attempts
        In the order of the archive.
    entry
        The function that the task calls.
    """

    programs: tuple[Program, ...]
    attempts: tuple[Attempt, ...] = ()
    entry: str = ENTRY

    def anatomy(self, program: Program) -> Anatomy:
        """Return the blocks of a program."""
        return anatomy(program.source, self.entry)

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
            first.setdefault(self.anatomy(program).key, program)
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
                keys = frozenset(self.anatomy(each).key for each in (parent, child))
                found.setdefault(keys, Pair(parent, child, self.entry))
        return tuple(found.values())

    @cached_property
    def luck(self) -> tuple[Pair, ...]:
        """The pairs that differ in nothing but a seed."""
        return tuple(pair for pair in self.pairs if pair.only_seeds)

    @cached_property
    def unsteadiness(self) -> float:
        """The largest difference of fitness by luck: the same program, or another seed."""
        same: defaultdict[str, list[float]] = defaultdict(list)
        for program in filter(is_sound, self.programs):
            same[self.anatomy(program).key].append(program.verdict.fitness)
        seeds = (abs(pair.gain) for pair in self.luck)
        return max([SAME_FITNESS, *(max(seen) - min(seen) for seen in same.values()), *seeds])

    @cached_property
    def effects(self) -> Mapping[str, Effect]:
        """The measurements of each block that distinguishes a pair."""
        return self._measured(lambda pair: pair.added | pair.removed)

    @cached_property
    def families(self) -> Mapping[str, Effect]:
        """The measurements of each name of blocks that only one program of a pair has.

        A block comes with many settings, few of which occur twice; its name occurs often.
        """
        found = self._measured(lambda pair: pair.brought | pair.dropped)
        told = {(bare_name(block), effect.owners) for block, effect in self.effects.items()}
        return {
            name: replace(effect, swaps=0)
            for name, effect in found.items()
            if name not in self.effects and (name, effect.owners) not in told
        }

    @cached_property
    def trends(self) -> Mapping[tuple[str, str], tuple[Effect, Effect]]:
        """For each constant, by name and place: what raising and lowering it went with."""
        telling: defaultdict[tuple[str, str], list[tuple[bool, Pair]]] = defaultdict(list)
        for pair in self.pairs:
            for each in pair.difference.constants:
                if each.rises is not None and not each.is_seed:
                    telling[each.name, each.where].append((each.rises, pair))
        return {key: self._trend(key[0], telling[key]) for key in sorted(telling)}

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about blocks, the largest gain or loss first."""
        effects = (*self.effects.values(), *self.families.values())
        found = [effect.claim for effect in effects if effect.claim]
        return tuple(sorted(found, key=lambda claim: (-abs(claim.gain), claim.block)))

    def _measured(self, telling_blocks: Callable[[Pair], frozenset[str]]) -> Mapping[str, Effect]:
        telling: defaultdict[str, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            for block in telling_blocks(pair):
                telling[block].append(pair)
        return {block: self._effect(block, pairs) for block, pairs in sorted(telling.items())}

    def _effect(self, block: str, pairs: Sequence[Pair]) -> Effect:
        gains = tuple(pair.gain_with(block) for pair in pairs)
        clean_gains = tuple(pair.gain_with(block) for pair in pairs if pair.clean)
        swaps = sum(pair.swaps(block) for pair in pairs)
        owners = tuple(pair.owners(block) for pair in pairs)
        return Effect(block, gains, clean_gains, swaps, self.unsteadiness, owners)

    def _trend(self, name: str, pairs: Sequence[tuple[bool, Pair]]) -> tuple[Effect, Effect]:
        both = []
        for direction in (True, False):
            found = [pair for rises, pair in pairs if rises is direction]
            gains = tuple(pair.gain for pair in found)
            owners = tuple((pair.child.number, pair.parent.number) for pair in found)
            alone = tuple(pair.gain for pair in found if _is_alone(pair))
            both.append(Effect(name, gains, alone, 0, self.unsteadiness, owners))
        return both[0], both[1]

    def parent_of(self, program: Program) -> Program | None:
        """Return the parent of a program."""
        return self.by_number.get(program.parents[0]) if program.parents else None

    def repeats_parent(self, program: Program) -> bool:
        """Whether a program differs from its parent only in words for readers."""
        parent = self.parent_of(program)
        return parent is not None and self.anatomy(parent).key == self.anatomy(program).key


def is_sound(program: Program) -> bool:
    """Whether no case failed, public or hidden."""
    return not program.verdict.public.failures and not program.verdict.hidden.failures


def _is_alone(pair: Pair) -> bool:
    """Whether one constant is all that differs."""
    names = {bare_name(block) for block in pair.added | pair.removed}
    return len(pair.difference.constants) == 1 and (
        pair.difference.only_constants and len(names) <= 1
    )


def _error(gains: Sequence[float]) -> float:
    """Return how far from 0 the mean of gains may be by chance."""
    return STANDARD_ERRORS * stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else 0.0
