"""How many replicas pay: a replica holds its whole size, and takes its part of the load.

The problem with given numbers of replicas is one that the solver knows. Which numbers to give is
searched here: those with which every replica leaves a share of a GPU's room free at some pressure,
those by which a linear program fills GPUs part by part, and one replica more or less than the best.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import inf, isfinite, sqrt

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Floats, Instance
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import JUST_BELOW, PROVEN
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.decide.replica_counts import (
    Counts,
    by_pressure,
    by_shares,
    least_pressure,
    neighbours,
)
from colocate.solver.decide.replica_progress import ReplicaProgress
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.bound_search import BoundSearch
from colocate.solver.prove.columns import shares_of_choices
from colocate.solver.prove.knapsack import Choices
from colocate.solver.prove.obstacles import too_many_parts
from colocate.solver.prove.replica_bounds import rows_of_choices
from colocate.solver.prove.two_solvers import places, search_all
from colocate.solver.search import attempt, search

PATIENCE, SHORTEST = 0.01, 0.01
"""The part of the time that numbers of replicas get at first, and the seconds at least."""
FIRST = 6
"""Numbers of replicas that are tried before a linear program is asked."""
PROVING = 0.4
"""The part of the time that is kept for proofs: half by multipliers, the rest by CP-SAT."""
POLISHING = 0.5
"""The part of the time that a larger fleet gets for the best numbers of replicas alone."""
MOST_PLACES = 4000
"""Choices times GPUs up to which CP-SAT has a chance to search them all."""
MISSES = 40
"""Numbers of replicas tried in vain, after which the search ends."""
TARGETS, GRID, FOLLOWING = 8, 1000, 0.1
"""Pressures that GPUs are filled part by part at, how finely, and the part of the time for one."""


def place_awake(problem: Problem, budget: SolveBudget, start: Placement | None = None) -> Plan:
    """Place models that are all awake, with the numbers of replicas that pay.

    Parameters
    ----------
    problem
        What to place where.
    budget
        What it may spend, and what is good enough.
    start
        A placement to improve; None to look for one.
    """
    if not problem.open_replicas or too_many_parts(problem):
        return search(problem, budget, start)
    return ReplicaSearch(problem, budget).solved(start)


class ReplicaSearch:
    """Which numbers of replicas to try next, and those that were tried."""

    def __init__(self, problem: Problem, budget: SolveBudget) -> None:
        self.problem = problem
        self._budget = budget
        self._progress = ReplicaProgress(problem, budget)
        self._tried: set[Counts] = set()
        self._failure: Plan | None = None
        self._rng = np.random.default_rng(budget.seed)

    def solved(self, start: Placement | None = None) -> Plan:
        """Return the best plan that was found, with the proof that holds for all numbers."""
        if start is not None:
            self._progress.offer(start, "start")
        exact = places(self.problem) <= MOST_PLACES
        until = self._budget.deadline.left * (PROVING if exact else POLISHING)
        self._try_all(islice(by_pressure(self.problem, self._progress.bound), FIRST), until)
        self._follow_program(until)
        self._try_all(by_pressure(self.problem, self._progress.bound), until)
        self._go_on(until)
        if not exact:
            self._polish(until * PROVING)
        self._raise_bound(until / 2 if exact else 0.0)
        if exact:
            self._search_all()
        return self._concluded()

    @cached_property
    def _rows(self) -> tuple[Instance, Choices]:
        """The problem with a row for every choice."""
        return rows_of_choices(self.problem)

    def _try_all(self, options: Iterable[Counts], until: float) -> None:
        """Try numbers of replicas while there is time, the first ones in any case."""
        for counts in options:
            if self._tried and self._progress.finished_but(until):
                return
            self._try(counts, PATIENCE)

    def _follow_program(self, until: float) -> None:
        """Try what fills GPUs part by part, at pressures between the bound and the value."""
        low = self._progress.bound
        for _ in range(TARGETS):
            target = sqrt(low * self._progress.value)
            if self._progress.finished_but(until) or not isfinite(target) or target == 0.0:
                return
            before = self._progress.value
            shares = self._shares_at(target)
            if shares is not None:
                self._try_all(by_shares(self.problem, shares, self._rng), until)
            if self._progress.value == before:
                low = target

    def _shares_at(self, target: float) -> Floats | None:
        instance, choices = self._rows
        window = int(instance.load.sum(axis=0).argmax())
        deadline = self._budget.deadline.part(FOLLOWING * self._progress.seconds_left)
        return shares_of_choices(instance, target, window, GRID, deadline, choices)

    def _go_on(self, until: float) -> None:
        """Try one replica more or less than the best, in any order."""
        misses = 0
        while self._progress.found and misses < MISSES and not self._progress.finished_but(until):
            near = neighbours(self.problem, self._progress.counts)
            options = [counts for counts in near if counts not in self._tried]
            if not options:
                return
            before = self._progress.value
            self._try(options[int(self._rng.integers(len(options)))], 2 * PATIENCE)
            misses = 0 if self._progress.value < before else misses + 1

    def _try(self, counts: Counts, share: float) -> None:
        """Solve the problem with such numbers of replicas, unless sums show that it cannot pay."""
        pays = not self._tried or least_pressure(self.problem, counts) < self._progress.value
        if counts in self._tried or not pays:
            return
        self._tried.add(counts)
        seconds = max(share * self._progress.seconds_left, SHORTEST)
        plan = attempt(self._with(counts), self._budget, seconds)
        for alarm in plan.alarms:
            self._progress.alarm(alarm)
        if plan.placement:
            self._progress.offer(plan.placement, "replicas")
        else:
            self._failure = self._failure or self._failed(counts, plan)

    def _polish(self, until: float) -> None:
        """Improve the best placement, with the numbers of replicas that it has."""
        best = self._progress.best
        if best is None or self._progress.finished_but(until):
            return
        seconds = self._progress.seconds_left - until
        fixed = self._with(self._progress.counts)
        plan = attempt(fixed, self._budget, seconds, best.placement)
        self._progress.offer(plan.placement, "replicas")

    def _with(self, counts: Counts) -> Problem:
        """Return the problem with such numbers of replicas."""
        names = (model.name for model in self.problem.models)
        return self.problem.with_replicas(dict(zip(names, counts, strict=True)))

    def _failed(self, counts: Counts, plan: Plan) -> Plan:
        """Return what it means for all numbers of replicas that there is no placement with some.

        The fewest replicas take least of everything, but for what the replicas of a model share.
        """
        fewest = all(m.replicas == n for m, n in zip(self.problem.models, counts, strict=True))
        sharing = any(m.open_replicas and m.shared_uses for m in self.problem.models)
        if plan.status is Status.INFEASIBLE and (sharing or not fewest):
            reason = "no numbers of replicas that were tried fit; it is not proven that none do"
            return Plan(self.problem, Status.UNKNOWN, reason=reason)
        return replace(plan, problem=self.problem)

    def _raise_bound(self, until: float) -> None:
        """Prove by multipliers, for all numbers of replicas at once."""
        raising = BoundSearch(*self._rows)
        while not raising.exhausted and not self._progress.finished_but(until):
            raising.step(self._progress)

    def _search_all(self) -> None:
        """Let CP-SAT look for anything better, with any numbers of replicas."""
        while not self._progress.finished:
            target = self._progress.value * JUST_BELOW
            deadline = self._budget.deadline.part(self._progress.seconds_left)
            answer = search_all(
                self.problem, target, deadline, self._budget.workers, self._progress.value
            )
            if answer.alarm:
                self._progress.alarm(answer.alarm)
            if answer.outcome is Outcome.NONE:
                self._exclude(target)
                return
            if not self._progress.offer(answer.placement, "constraint program"):
                return

    def _exclude(self, target: float) -> None:
        if self._progress.found:
            self._progress.prove(Certificate(Proof.SOLVERS, target))
            return
        reason = "no number of replicas, and no way to place them, respects all rules"
        proof = Certificate(Proof.SOLVERS, inf)
        self._failure = Plan(self.problem, Status.INFEASIBLE, reason=reason, certificate=proof)

    def _concluded(self) -> Plan:
        progress = self._progress
        if progress.best is None:
            reason = "no placement was found in time"
            return self._failure or Plan(self.problem, Status.UNKNOWN, reason=reason)
        plan = replace(
            progress.best,
            certificate=progress.certificate,
            history=tuple(progress.history),
            alarms=tuple(progress.alarms),
        )
        return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan
