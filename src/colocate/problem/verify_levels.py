"""Check the bounds on the levels of a plan: for every choice of GPUs that could hold them.

A placement that stays within the ceilings of the first k levels has k GPUs that hold them, and all
other GPUs are at or below its next pressure. So a bound on the next level holds if it holds for
every choice of k holders. A choice is out once a bound on some level above shows that it exceeds
the ceiling there. Exchanging identical GPUs changes nothing, so one choice of those alike is
enough.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import NamedTuple

from colocate.problem.checker.items import open_to
from colocate.problem.checker.level_problem import LevelProblem
from colocate.problem.level import Level, LevelProof
from colocate.problem.problem import Problem
from colocate.problem.verify_bound import refuted

MOST_CHOICES = 64
"""Choices of holders that are followed; levels below more of them cannot be confirmed."""


class LevelFinding(NamedTuple):
    """What a check of one level found."""

    fault: str | None
    """Why its bound is not proven; None if it is."""
    uncheckable: tuple[LevelProof, ...] = ()
    """Proofs that the bound rests on and that cannot be checked."""


def refuted_level(problem: Problem, ceilings: Mapping[str, float], proof: LevelProof) -> str | None:
    """Return why a proof does not hold for its choice of holders, or None if it is not refuted.

    Parameters
    ----------
    problem
        The problem of the models that are awake, without a limit on the pressure.
    ceilings
        The ceiling of every holder.
    proof
        The proof.
    """
    if not 0.0 < proof.floor < proof.roof < inf:
        return f"a floor of {proof.floor:.15g} and a roof of {proof.roof:.15g} prove nothing"
    if not all(ceiling > 0.0 and isfinite(ceiling) for ceiling in ceilings.values()):
        return "a ceiling is not a positive number"
    if min(ceilings.values()) < proof.floor:
        return "the floor is above a ceiling"
    statement = LevelProblem(problem, ceilings, proof.floor, proof.roof)
    if statement.impossible:
        return None
    return refuted(statement.stated(), proof.certificate)


def stated_again(problem: Problem, ceilings: Mapping[str, float], proof: LevelProof) -> Problem:
    """Return the level problem of a proof, for solvers that repeat it.

    Parameters
    ----------
    problem, ceilings, proof
        As `refuted_level` takes them.
    """
    return LevelProblem(problem, ceilings, proof.floor, proof.roof).stated()


def fault_of_levels(
    levels: Sequence[Level], pressures: Mapping[str, float], bound: float
) -> str | None:
    """Return why levels are not those of a plan; None if they are.

    Parameters
    ----------
    levels
        The levels, the peak first.
    pressures
        The pressures of the plan, by GPU.
    bound
        The bound of the plan.
    """
    peak, stated = levels[0], [(level.gpu, level.pressure) for level in levels]
    falling = all(high.pressure >= low.pressure for high, low in pairwise(levels))
    if not falling or sorted(stated) != sorted(pressures.items()):
        return "not the pressures of the plan, the highest first"
    if peak.bound != bound or peak.proofs:
        return "the first is the peak, whose bound is that of the plan"
    return None if _within_ceiling(peak) else "the peak is above its own ceiling"


def check_levels(problem: Problem, levels: Sequence[Level]) -> Iterator[LevelFinding]:
    """Yield what is found about every level from the second on.

    Parameters
    ----------
    problem
        The problem of the models that are awake, without a limit on the pressure.
    levels
        The levels of a plan, the peak first.
    """
    sorts = _Sorts(problem)
    choices: list[tuple[str, ...]] | None = [()]
    ceilings: list[float] = []
    claims = [number for number, level in enumerate(levels) if level.proofs or level.bound > 0.0]
    for number, level in enumerate(levels):
        if number > max(claims, default=0):
            choices = None
        if ceilings:
            choices = None if choices is None else sorts.longer(choices, ceilings)
            proofs = {
                sorts.key(p.holders, ceilings): p for p in level.proofs if sorts.fit(p, ceilings)
            }
            yield _checked(problem, level, choices, proofs, sorts, ceilings)
            if choices is not None and proofs:
                choices = [
                    choice
                    for choice in choices
                    if _bound(proofs.get(sorts.key(choice, ceilings))) <= level.ceiling
                ]
        ceilings.append(level.ceiling)


def _within_ceiling(level: Level) -> bool:
    """Whether a level is at or below its ceiling, which is a number: nothing is above NaN."""
    return level.pressure <= level.ceiling < inf


def _bound(proof: LevelProof | None) -> float:
    return proof.bound if proof else 0.0


def _checked(
    problem: Problem,
    level: Level,
    choices: Sequence[tuple[str, ...]] | None,
    proofs: Mapping[object, LevelProof],
    sorts: "_Sorts",
    ceilings: Sequence[float],
) -> LevelFinding:
    """Check the bound on one level, and every proof that it states."""
    fault = _fault_of_proofs(problem, level, proofs, ceilings)
    if fault is None and level.bound > 0.0:
        fault = _fault_of_choices(level, choices, proofs, sorts, ceilings)
    unsure = (proof for proof in proofs.values() if not proof.certificate.proof.checkable)
    return LevelFinding(fault, tuple(unsure))


def _fault_of_proofs(
    problem: Problem,
    level: Level,
    proofs: Mapping[object, LevelProof],
    ceilings: Sequence[float],
) -> str | None:
    """Return what is wrong with a level or with one of its proofs."""
    if not _within_ceiling(level):
        return f"the pressure is above the ceiling of {level.ceiling:.15g}"
    if len(proofs) < len(level.proofs):
        return "its proofs are not about GPUs that could hold the levels above"
    for proof in proofs.values():
        held = dict(zip(proof.holders, ceilings, strict=True))
        if fault := refuted_level(problem, held, proof):
            return f"with the levels above on {', '.join(proof.holders)}, {fault}"
    return None


def _fault_of_choices(
    level: Level,
    choices: Sequence[tuple[str, ...]] | None,
    proofs: Mapping[object, LevelProof],
    sorts: "_Sorts",
    ceilings: Sequence[float],
) -> str | None:
    """Return a choice of holders for which nothing proves the bound."""
    if choices is None:
        return "too many choices of GPUs could hold the levels above"
    for choice in choices:
        if _bound(proofs.get(sorts.key(choice, ceilings))) < level.bound:
            return f"nothing proves it with the levels above on {', '.join(choice)}"
    return None


class _Sorts:
    """GPUs that are alike: with them exchanged, a placement stays one, with the same pressures."""

    def __init__(self, problem: Problem) -> None:
        pins = {(frozenset(m.only), frozenset(m.never)) for m in problem.models}
        ordered = sorted(pins, key=lambda pin: (sorted(pin[0]), sorted(pin[1])))
        sharded = any(model.shards > 1 for model in problem.models)
        numbers: dict[object, int] = {}
        self._sort = {}
        for gpu in problem.gpus:
            open_here = tuple([open_to((pin,), gpu) for pin in ordered])
            sort = (gpu.memory_gb, gpu.kind, gpu.limits, open_here)
            self._sort[gpu.name] = numbers.setdefault(sort, len(numbers))
        self._node = {gpu.name: gpu.node if sharded else "" for gpu in problem.gpus}

    def key(self, holders: Sequence[str], ceilings: Sequence[float]) -> object:
        """Return every node as the sorts of its GPUs, each with its ceiling if it holds a level."""
        held = dict(zip(holders, ceilings, strict=True))
        nodes: dict[str, list[tuple[int, float]]] = {}
        for gpu, node in self._node.items():
            nodes.setdefault(node, []).append((self._sort[gpu], held.get(gpu, -1.0)))
        return tuple(sorted(tuple(sorted(gpus)) for gpus in nodes.values()))

    def fit(self, proof: LevelProof, ceilings: Sequence[float]) -> bool:
        """Return whether a proof names as many different GPUs as there are levels above."""
        known = self._sort.keys() >= set(proof.holders)
        return known and len(set(proof.holders)) == len(proof.holders) == len(ceilings)

    def longer(
        self, choices: Sequence[tuple[str, ...]], ceilings: Sequence[float]
    ) -> list[tuple[str, ...]] | None:
        """Return all choices of one more holder, one of those alike; None if they are too many."""
        found: dict[object, tuple[str, ...]] = {}
        for choice in choices:
            free = [gpu for gpu in reversed(self._sort) if gpu not in choice]
            unlike = {(self._node[gpu], self._sort[gpu]): gpu for gpu in free}
            for gpu in unlike.values():
                found.setdefault(self.key((*choice, gpu), ceilings), (*choice, gpu))
            if len(found) > MOST_CHOICES:
                return None
        return list(found.values())
