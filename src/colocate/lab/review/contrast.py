"""Why the best programs differ from the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from colocate.lab.program import Program
from colocate.lab.review.evidence import Evidence, is_sound
from colocate.lab.review.pairs import Pair
from colocate.problem.tolerance import SAME_FITNESS

TOP_SHARE = 0.25
"""The fittest quarter of the programs is compared with the rest."""
FEWEST = 4
"""Programs below which there is no quarter to compare."""
FEWEST_TOP = 2
"""Fittest programs below which what they have in common says nothing."""
CLEAR = 0.4
"""How much more frequent a block must be among the fittest than among the rest."""
MOST_BLOCKS = 4
MOST_CASES = 3
MOST_STEPS = 4
"""How many of each are told."""


@dataclass(frozen=True)
class Mark:
    """A block that the fittest programs have more often than the rest."""

    name: str
    """Its name without settings, or with the settings that all of them have."""
    in_top: int
    top: int
    in_rest: int
    rest: int
    """How many of the fittest and of the others have it, of how many."""
    with_it: float
    without_it: float
    """The mean fitness of programs with and without it."""


@dataclass(frozen=True)
class HardCase:
    """A case on which few programs do as well as the fittest."""

    case: str
    solved_by: tuple[int, ...]
    """The numbers of these programs."""
    programs: int
    """Of how many."""
    ratio: float
    """The share of the optimum that they reach."""
    next_ratio: float
    """The highest share that the others reach."""
    shared: tuple[tuple[str, int], ...]
    """Blocks that all of them have and few others, with how many others have them."""


def marks(evidence: Evidence) -> tuple[Mark, ...]:
    """Return the blocks that tell the fittest quarter from the rest, the clearest first."""
    top, rest = _quarter(evidence)
    if len(top) < FEWEST_TOP or not rest:
        return ()
    found = []
    for name in sorted(_names(evidence, top)):
        has = {each.number for each in evidence.sound if name in _all_names(evidence, each)}
        in_top, in_rest = (sum(each.number in has for each in group) for group in (top, rest))
        if in_top / len(top) - in_rest / len(rest) >= CLEAR:
            with_it = fmean(e.verdict.fitness for e in evidence.sound if e.number in has)
            without = [e.verdict.fitness for e in evidence.sound if e.number not in has]
            counts = in_top, len(top), in_rest, len(rest)
            found.append(Mark(name, *counts, with_it, fmean(without)))
    found.sort(key=lambda m: (m.in_rest / m.rest - m.in_top / m.top, -m.in_top, m.name))
    return tuple(_distinct(found)[:MOST_BLOCKS])


def hard_cases(evidence: Evidence) -> tuple[HardCase, ...]:
    """Return the public cases on which the fittest beats most others, the rarest success first."""
    best, sound = evidence.best, evidence.sound
    if best is None or len(sound) < FEWEST:
        return ()
    found = []
    for place, result in enumerate(best.verdict.public.results):
        reached = {
            each.number: each.verdict.public.results[place].ratio
            for each in sound
            if place < each.verdict.public.cases
        }
        level = tuple(n for n, ratio in reached.items() if ratio >= result.ratio - SAME_FITNESS)
        others = [ratio for number, ratio in reached.items() if number not in level]
        if others and len(level) <= len(sound) / 2:
            shared = tuple(_shared(evidence, level))
            counts = len(sound), result.ratio, max(others)
            found.append(HardCase(result.case, level, *counts, shared))
    found.sort(key=lambda each: (len(each.solved_by), each.next_ratio - each.ratio, each.case))
    return tuple(found[:MOST_CASES])


def path_to_best(evidence: Evidence) -> tuple[Pair, ...]:
    """Return the steps from the first ancestor to the fittest, those that gained most."""
    steps = []
    child = evidence.best
    seen: set[int] = set()
    while child is not None and child.number not in seen:
        seen.add(child.number)
        parent = evidence.parent_of(child)
        if parent is not None and is_sound(parent):
            steps.append(Pair(parent, child, evidence.entry))
        child = parent
    gaining = [step for step in steps if step.gain > evidence.unsteadiness]
    largest = sorted(gaining, key=lambda step: -step.gain)[:MOST_STEPS]
    return tuple(sorted(largest, key=lambda step: step.child.number))


def complements(evidence: Evidence) -> Iterator[tuple[Program, str, float, float]]:
    """Yield programs that do better than the fittest on a case, with both shares, most first."""
    best = evidence.best
    if best is None:
        return
    found = []
    for place, result in enumerate(best.verdict.public.results):
        for other in evidence.sound:
            if other is not best and place < other.verdict.public.cases:
                reached = other.verdict.public.results[place].ratio
                if reached > result.ratio + SAME_FITNESS:
                    found.append((other, result.case, reached, result.ratio))
    found.sort(key=lambda each: (each[3] - each[2], -each[0].verdict.fitness, each[0].number))
    yield from found


def _quarter(evidence: Evidence) -> tuple[list[Program], list[Program]]:
    """Return the fittest quarter, with all that are as fit as the last of it, and the rest."""
    ranked = sorted(evidence.sound, key=lambda each: (-each.verdict.fitness, each.number))
    if len(ranked) < FEWEST:
        return [], []
    least = ranked[max(1, int(len(ranked) * TOP_SHARE)) - 1].verdict.fitness - SAME_FITNESS
    top = [each for each in ranked if each.verdict.fitness >= least]
    return top, ranked[len(top) :]


def _names(evidence: Evidence, programs: Sequence[Program]) -> set[str]:
    return {name for each in programs for name in _all_names(evidence, each)}


def _all_names(evidence: Evidence, program: Program) -> frozenset[str]:
    """Return the blocks of a program, with and without their settings."""
    found = evidence.anatomy(program)
    return found.blocks | found.names


def _distinct(found: Sequence[Mark]) -> list[Mark]:
    """Return the first of several marks with the same counts: they are in the same programs."""
    first: dict[tuple[int, int, float], Mark] = {}
    for mark in found:
        first.setdefault((mark.in_top, mark.in_rest, mark.with_it), mark)
    return list(first.values())


def _shared(evidence: Evidence, level: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield what all programs of a group have, and at most half of the others."""
    group = [evidence.by_number[number] for number in level]
    others = [each for each in evidence.sound if each.number not in level]
    common = frozenset.intersection(*(_all_names(evidence, each) for each in group))
    counted = [(name, sum(name in _all_names(evidence, e) for e in others)) for name in common]
    rare = [(name, count) for name, count in counted if count <= len(others) / 2]
    yield from sorted(rare, key=lambda each: (each[1], each[0]))[:2]
