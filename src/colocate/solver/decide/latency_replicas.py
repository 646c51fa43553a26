"""Decides how many replicas pay for latency: each takes part of the requests, and a place.

The search begins with the fewest replicas. It gives one more to a model of the GPU that costs most,
or takes one away, and places what changed. A few replicas of a small fleet are all tried.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.parts import replicas_in
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.pressure_limit import without_limit
from colocate.solver.decide.replica_counts import Counts, neighbours
from colocate.solver.latency.bounding import bound_of
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.search import (
    Start,
    concluded,
    first_places,
    improve,
    smooth,
    start_over,
)
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.obstacles import too_many_parts
from colocate.solver.search import NOT_FOUND

FEW = 64
"""Numbers of replicas that are all tried if there are no more choices than this."""
TRYING, SHORTEST = 0.1, 0.05
"""The share of the time that one try may take at most, and the fewest seconds for it."""
STEPS = 3
"""Steps of the search in one try."""
MISSES = 60
"""Tries without an improvement after which the search ends."""
PROVING = 0.3
"""The share of the time for bounds that hold for all numbers of replicas."""
POLISHING = 0.2
"""The share of the time in which the best numbers of replicas stay fixed."""


class LatencyReplicas:
    """A search over numbers of replicas, with the best placement so far.

    Parameters
    ----------
    problem, budget
        The models, all awake, with the GPUs, and what the call may spend.
    proof
        A bound on the value that holds for all numbers of replicas, if one is known.
    """

    def __init__(
        self, problem: Problem, budget: SolveBudget, proof: Certificate | None = None
    ) -> None:
        self._problem = problem
        self._budget = budget
        self._proof = proof
        self._tried: set[Counts] = set()
        self._rng = np.random.default_rng(budget.seed)
        self._best: LatencyProgress | None = None
        self._checking = 0.0
        """Seconds that the checker takes for the proof."""
        self._hopeless: Certificate | None = None
        self._failure = Plan(problem, Status.UNKNOWN, reason=NOT_FOUND)

    def solved(self, start: Start | None = None) -> Plan:
        """Return the best plan found.

        Parameters
        ----------
        start
            A placement to begin with; None to look for one with the fewest replicas.
        """
        polishing = self._budget.deadline.left * POLISHING
        proving = self._budget.deadline.left * PROVING
        if start:
            self._try(tuple(replicas_in(self._problem, start).values()), start)
        else:
            self._try(tuple(model.replicas for model in self._problem.models), None)
        for counts in self._all_counts():
            if self._best is None or self._budget.deadline.over:
                break
            self._try(counts, self._placement)
        self._go_on(polishing + proving)
        self._raise_bound(polishing)
        return self._polished()

    @property
    def _placement(self) -> Placement:
        assert self._best is not None, "there is a placement"
        return self._best.placement

    def _all_counts(self) -> Iterator[Counts]:
        """Yield all numbers of replicas, if they are few."""
        models = self._problem.models
        if prod(m.most_replicas - m.replicas + 1 for m in models) <= FEW:
            yield from product(*(range(m.replicas, m.most_replicas + 1) for m in models))

    def _go_on(self, until: float) -> None:
        """Change one number at a time, as long as that helps now and then."""
        misses = 0
        while self._best is not None and misses < MISSES and not self._enough:
            counts = self._next()
            if counts is None or self._budget.deadline.left < until:
                return
            misses = 0 if self._try(counts, self._placement) else misses + 1

    @property
    def _enough(self) -> bool:
        best = self._best
        bound = self._proof.bound if self._proof else 0.0
        return best is not None and best.found and self._budget.enough(best.value, bound)

    def _next(self) -> Counts | None:
        """Return numbers that were not tried, likely for a model of the GPU that costs most."""
        best = self._placement
        counts = tuple(replicas_in(self._problem, best).values())
        options = [each for each in neighbours(self._problem, counts) if each not in self._tried]
        if not options:
            return None
        worst = self._worst_gpu()
        there = [worst in best[model.name] for model in self._problem.models]
        weights = np.array(
            [
                4.0
                if any(t for t, a, b in zip(there, each, counts, strict=True) if a != b)
                else 1.0
                for each in options
            ]
        )
        return options[int(self._rng.choice(len(options), p=weights / weights.sum()))]

    def _worst_gpu(self) -> str:
        assert self._best is not None, "there is a placement"
        return self._problem.gpus[self._best.worst_gpu].name

    def _try(self, counts: Counts, start: Start | None) -> bool:
        """Place the models with these numbers of replicas; return whether that is the best."""
        if counts in self._tried:
            return False
        self._tried.add(counts)
        fixed = self._with(counts)
        if too_many_parts(fixed):
            return False
        seconds = max(TRYING * self._budget.deadline.left, SHORTEST)
        places = None if start is None else self._fewer(fixed, start)
        first = first_places(without_limit(fixed), self._budget, seconds, places)
        if not first.placement:
            self._failure = self._failed(first)
            return False
        stage = self._budget.attempt(seconds)
        progress = LatencyProgress(reduction_of(fixed), stage)
        improve(progress, self._budget.seed, first.placement, STEPS)
        if not len(progress.best) or not progress.better_than(self._best):
            return False
        self._best = progress
        if progress.found and self._budget.on_improvement and progress.history:
            self._budget.on_improvement(progress.history[-1])
        return True

    def _with(self, counts: Counts) -> Problem:
        names = (model.name for model in self._problem.models)
        return self._problem.with_replicas(dict(zip(names, counts, strict=True)))

    def _fewer(self, fixed: Problem, start: Start) -> Start:
        """Return the start without the replicas that are too many, at random."""
        kept = {}
        for model in fixed.models:
            places, shards = list(start[model.name]), model.shards
            while len(places) > model.parts:
                drop = int(self._rng.integers(len(places) // shards)) * shards
                del places[drop : drop + shards]
            kept[model.name] = places
        return kept

    def _failed(self, plan: Plan) -> Plan:
        """Conclude from a failure with the fewest replicas: they need least of everything.

        Their pressure is not the lowest, so the failure is one without a limit on it.
        """
        sharing = any(m.open_replicas and m.shared_uses for m in self._problem.models)
        if self._tried and plan.status is Status.INFEASIBLE and (sharing or len(self._tried) > 1):
            return self._failure
        return replace(plan, problem=self._problem)

    def _raise_bound(self, until: float) -> None:
        """Raise the bound for all numbers of replicas, with some seconds left for the rest."""
        best = self._best
        seconds = self._budget.deadline.left - until
        if best is None or seconds <= 0.0 or self._enough:
            return
        part = self._budget.deadline.part(seconds)
        found, checking = bound_of(self._problem, part, best.value)
        if not best.found:
            self._hopeless = found
        elif found is not None and (self._proof is None or found.bound > self._proof.bound):
            self._proof, self._checking = found, checking

    def _polished(self) -> Plan:
        """Improve the best placement with its numbers of replicas, and return it."""
        best = self._best
        if best is None:
            return self._failure
        best.hopeless = self._hopeless
        if best.hopeless is not None:
            return concluded(best, self._problem)
        best.time_check()
        best.to_check += self._checking
        if not self._enough and not self._budget.deadline.over:
            kept = self._budget.keeping(best.to_check)
            progress = LatencyProgress(best.reduction, kept, best.to_check)
            if not best.found:
                start_over(progress, self._budget)
            improve(progress, self._budget.seed, self._placement)
            best = progress if progress.better_than(best) else best
        smooth(best, self._budget)
        best.prove(self._proof)
        return concluded(best, self._problem)
