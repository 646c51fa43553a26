"""Whether the models of a problem can be placed at all, with no regard to how well."""

from math import inf
from time import perf_counter

import numpy as np

from colocate.problem.instance import Ints, canonical
from colocate.problem.layout import empty_layout
from colocate.problem.parts import Parts, parts_of
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import SLACK, verify
from colocate.solver.construct.completion import Outcome, complete
from colocate.solver.construct.even import EvenFilling
from colocate.solver.feasibility import obvious_obstacle
from colocate.solver.prove.choice_program import search_choices
from colocate.solver.prove.choice_program import small_enough as few_choices
from colocate.solver.prove.constraint_program import search_by_constraints
from colocate.solver.squads import nodes_of, small_enough, start_with_squads
from colocate.solver.strategies import FOUR_PACKINGS

NODES = 20_000
"""Nodes of the first search; what it does not decide is for CP-SAT."""


class Stopwatch:
    """Time that several searches share."""

    def __init__(self, seconds: float, whole: "Stopwatch | None" = None) -> None:
        self._end = perf_counter() + seconds
        self._whole = whole

    @property
    def left(self) -> float:
        """Seconds that are left."""
        own = max(self._end - perf_counter(), 0.0)
        return own if self._whole is None else min(own, self._whole.left)

    @property
    def over(self) -> bool:
        """Whether there are none."""
        return self.left <= 0.0

    def part(self, parts: int) -> "Stopwatch":
        """Return one for an equal part of what is left, which stops when this one does."""
        return Stopwatch(self.left / parts, self)

    def stop(self) -> None:
        """Let there be none."""
        self._end = -inf


def any_placement(problem: Problem, seconds: float) -> tuple[Outcome, Placement]:
    """Return a placement that the checker has confirmed, or whether it is proven that none exists.

    Models that may sleep do so. Where the number of copies is open, the fewest are tried first; if
    they do not fit, more may do so only where copies share something that is limited.
    """
    asleep = {model.name for model in problem.sleepers}
    awake = problem.awake(asleep) if asleep else problem
    if awake is None:
        return Outcome.FOUND, Placement(dict.fromkeys(asleep, ()))
    fewest = awake.with_copies({model.name: model.replicas for model in awake.models})
    outcome, found = _decided(parts_of(fewest), seconds)
    if outcome is not Outcome.FOUND and _more_copies_may_fit(awake):
        outcome, found = _with_any_copies(awake, seconds)
    if outcome is not Outcome.FOUND:
        return outcome, Placement()
    placement = Placement({**found, **dict.fromkeys(asleep, ())})
    if not verify(problem, placement).valid:
        return Outcome.UNDECIDED, Placement()
    return Outcome.FOUND, placement


def _more_copies_may_fit(problem: Problem) -> bool:
    shared = problem.most_pressure is not None
    return any(model.elastic and (shared or model.shared_uses) for model in problem.models)


def _with_any_copies(problem: Problem, seconds: float) -> tuple[Outcome, Placement]:
    if not few_choices(problem):
        return Outcome.UNDECIDED, Placement()
    answer = search_choices(problem, _target(problem), seconds)
    return answer.outcome, Placement(answer.placement)


def _target(problem: Problem) -> float:
    """Return the pressure to search at: a little more than what the checker lets pass."""
    return inf if problem.most_pressure is None else problem.most_pressure * (1.0 + 2 * SLACK)


def _decided(parts: Parts, seconds: float) -> tuple[Outcome, Placement]:
    if obvious_obstacle(parts.problem):
        return Outcome.NONE, Placement()
    target = _target(parts.whole)
    if target == 0.0:
        return Outcome.UNDECIDED, Placement()
    outcome, gpu_of = _quickly(parts, target, seconds)
    if outcome is Outcome.FOUND and verify(parts.whole, parts.placement(gpu_of)).valid:
        return outcome, parts.placement(gpu_of)
    if outcome is Outcome.NONE or not small_enough(parts):
        return (Outcome.NONE if outcome is Outcome.NONE else Outcome.UNDECIDED), Placement()
    outcome, gpu_of = search_by_constraints(
        parts.problem.instance, target, seconds, 2, parts.squads, nodes_of(parts)
    )
    return outcome, parts.placement(gpu_of) if outcome is Outcome.FOUND else Placement()


def _quickly(parts: Parts, target: float, seconds: float) -> tuple[Outcome, Ints]:
    """Search a little: with shards, in the roomiest nodes; else everywhere."""
    if parts.squads:
        return start_with_squads(parts, seconds)
    instance = canonical(parts.problem.instance)
    layout = empty_layout(instance)
    for block in (EvenFilling(), FOUR_PACKINGS):
        fits = block.construct(instance, layout)
        if fits and verify(parts.whole, parts.placement(layout.gpu_of)).valid:
            return Outcome.FOUND, layout.gpu_of
    items, gpus = np.arange(len(parts.items)), np.arange(len(parts.whole.gpus))
    instance = parts.problem.instance
    outcome, found, places, _ = complete(instance, items, gpus, target, np.array([NODES]))
    if Outcome(outcome) is not Outcome.FOUND:
        return Outcome(outcome), items
    gpu_of = np.empty_like(items)
    gpu_of[found] = places
    return Outcome.FOUND, gpu_of
