"""Decides how many replicas pay: each holds the model's whole size and takes part of its load.

With fixed numbers of replicas, the ordinary solver takes over. This module searches for the
numbers. First it tries those with which a replica fills a share of a GPU at some pressure, then
those of a fractional packing by a linear program. The best of them race, and the winner runs
against numbers with one replica more or less.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
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
from colocate.solver.decide.replica_race import Contender, race
from colocate.solver.decide.replica_starts import places_nearby
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.bound_search import BoundSearch
from colocate.solver.prove.columns import shares_of_choices
from colocate.solver.prove.knapsack import Choices
from colocate.solver.prove.obstacles import too_many_parts
from colocate.solver.prove.replica_bounds import rows_of_choices
from colocate.solver.prove.solvers.two_solvers import places, search_all
from colocate.solver.search import attempt, search

PATIENCE, SHORTEST = 0.01, 0.01
"""The share of the time for each try at first, and the fewest seconds for one."""
INSISTING = (0.1, 0.3, 1.0)
"""Shares of the time left for the fewest replicas, one after the other, if no try found a place for
all models: those of a large fleet are too short."""
FIRST = 6
"""Replica counts that are tried before a linear program runs."""
PROVING = 0.4
"""The share of the time reserved for proofs: half by multipliers, half by CP-SAT and SCIP."""
POLISHING = 0.5
"""In a larger fleet, the share of the time in which the best replica counts stay fixed."""
MOST_PLACES = 4000
"""Choices times GPUs up to which CP-SAT and SCIP have a chance to search them all."""
RACING = 0.6
"""In a small fleet, the share of the time for all tries that races have."""
CONTENDERS, NEIGHBOURS = 16, 7
"""Numbers of replicas that take part in the first race, and that later run against the best."""
MISSES, LASTING = 40, 2.0
"""Races without an improvement after which the search ends. If no numbers are left to try, the best
goes on alone until the search has lasted so many times as long as it took to the last improvement.
"""
TARGETS, GRID, FOLLOWING = 8, 1000, 0.1
"""For fractional packings: how many pressures, the grid, and the share of the time for each."""


def place_awake(problem: Problem, budget: SolveBudget, start: Placement | None = None) -> Plan:
    """Place models that are all awake, with the numbers of replicas that pay.

    Parameters
    ----------
    problem
        The models and the GPUs to place them on.
    budget
        What the call may spend, and which answer is good enough.
    start
        A placement to improve; None to look for one.
    """
    if not problem.open_replicas or too_many_parts(problem):
        return search(problem, budget, start)
    return ReplicaSearch(problem, budget).solved(start)


class ReplicaSearch:
    """A search over numbers of replicas, with the ones tried so far."""

    def __init__(self, problem: Problem, budget: SolveBudget) -> None:
        self.problem = problem
        self._budget = budget
        self._progress = ReplicaProgress(problem, budget)
        self._tried: set[Counts] = set()
        self._placed: dict[Counts, Plan] = {}
        self._failure: Plan | None = None
        self._rng = np.random.default_rng(budget.seed)

    def solved(self, start: Placement | None = None) -> Plan:
        """Return the best plan found, with the proof that holds for all numbers of replicas."""
        if start is not None:
            self._progress.offer(start, "start")
        exact = places(self.problem) <= MOST_PLACES
        until = self._budget.deadline.left * (PROVING if exact else POLISHING)
        trying = until + (self._budget.deadline.left - until) * RACING if exact else until
        self._try_all(islice(by_pressure(self.problem, self._progress.bound), FIRST), trying)
        self._follow_program(trying)
        self._try_all(by_pressure(self.problem, self._progress.bound), trying)
        if not exact:
            self._insist()
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
        """Try replica counts while there is time, and the very first in any case."""
        for counts in options:
            if self._tried and self._progress.finished_but(until):
                return
            self._try(counts, PATIENCE)

    def _follow_program(self, until: float) -> None:
        """Try the counts of fractional packings at pressures between the bound and the value."""
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

    def _insist(self) -> None:
        """Take more time for the fewest replicas, while no placement is known."""
        fewest = tuple([model.replicas for model in self.problem.models])
        for share in INSISTING:
            hopeless = self._failure is not None and self._failure.status is Status.INFEASIBLE
            if self._progress.found or hopeless or self._progress.finished:
                return
            self._tried.discard(fewest)
            self._try(fewest, share)

    def _go_on(self, until: float) -> None:
        """Let the numbers tried so far race, then the best against one replica more or less."""
        over = partial(self._progress.finished_but, until)
        best = race(self._first_contenders(), over, self._offer)
        misses = 0
        while best is not None and misses < MISSES and not over():
            before, near = self._progress.value, list(self._neighbours(over))
            if not near and self._progress.seconds > LASTING * self._progress.history[-1].seconds:
                return
            best = race([best, *near], over, self._offer)
            misses = 0 if self._progress.value < before or not near else misses + 1

    def _first_contenders(self) -> Iterator[Contender]:
        """Yield the tries that came closest, as far as sums do not exclude that they pay."""
        placed = sorted(self._placed.items(), key=lambda row: row[1].pressure)
        for counts, plan in placed[:CONTENDERS]:
            if self._may_pay(counts):
                yield Contender(plan.problem, plan.placement, self._budget)

    def _neighbours(self, over: Callable[[], bool]) -> Iterator[Contender]:
        """Yield a few numbers with one replica more or less than the best, in random order."""
        best, near = self._progress.best, list(neighbours(self.problem, self._progress.counts))
        options = [near[number] for number in self._rng.permutation(len(near))]
        fresh = (each for each in options if each not in self._tried and self._may_pay(each))
        for counts in islice(fresh, NEIGHBOURS):
            if best is None or over():
                return
            fixed = self._with(counts)
            places = places_nearby(fixed, best.placement, best.pressures)
            if places is None:
                self._try(counts, PATIENCE)
                places = self._placed[counts].placement if counts in self._placed else None
            self._tried.add(counts)
            if places:
                yield Contender(fixed, places, self._budget)

    def _offer(self, contender: Contender) -> None:
        if contender.value < self._progress.value:
            self._progress.offer(contender.placement, "replicas")

    def _may_pay(self, counts: Counts) -> bool:
        """Whether sums leave it open that these numbers of replicas are better than the best."""
        return least_pressure(self.problem, counts) < self._progress.value

    def _try(self, counts: Counts, share: float) -> None:
        """Solve the problem with these replica counts, unless sums show that they cannot pay."""
        if counts in self._tried or (self._tried and not self._may_pay(counts)):
            return
        self._tried.add(counts)
        seconds = max(share * self._progress.seconds_left, SHORTEST)
        plan = attempt(self._with(counts), self._budget, seconds)
        for alarm in plan.alarms:
            self._progress.alarm(alarm)
        if plan.placement:
            self._placed[counts] = plan
            self._progress.offer(plan.placement, "replicas")
        else:
            self._failure = self._failure or self._failed(counts, plan)

    def _polish(self, until: float) -> None:
        """Improve the best placement without changing its numbers of replicas."""
        best = self._progress.best
        if best is None or self._progress.finished_but(until):
            return
        seconds = self._progress.seconds_left - until
        fixed = self._with(self._progress.counts)
        plan = attempt(fixed, self._budget, seconds, best.placement)
        self._progress.offer(plan.placement, "replicas")

    def _with(self, counts: Counts) -> Problem:
        """Return the problem with these numbers of replicas."""
        names = (model.name for model in self.problem.models)
        return self.problem.with_replicas(dict(zip(names, counts, strict=True)))

    def _failed(self, counts: Counts, plan: Plan) -> Plan:
        """Conclude from a failure with some numbers of replicas what holds for all numbers.

        The fewest replicas need the least of every resource, except of those that the replicas of
        a model share.
        """
        fewest = all(m.replicas == n for m, n in zip(self.problem.models, counts, strict=True))
        sharing = any(m.open_replicas and m.shared_uses for m in self.problem.models)
        if plan.status is Status.INFEASIBLE and (sharing or not fewest):
            reason = "no numbers of replicas that were tried fit; it is not proven that none do"
            return Plan(self.problem, Status.UNKNOWN, reason=reason)
        return replace(plan, problem=self.problem)

    def _raise_bound(self, until: float) -> None:
        """Raise the bound by multipliers, for all numbers of replicas at once."""
        raising = BoundSearch(*self._rows)
        while not raising.exhausted and not self._progress.finished_but(until):
            raising.step(self._progress)

    def _search_all(self) -> None:
        """Let CP-SAT and SCIP look for anything better, with any numbers of replicas."""
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
