"""How many replicas pay: a replica holds its whole size, and takes its part of the load.

The problem with given numbers of replicas is one that the solver knows. Which numbers to give is
searched here: those with which every replica leaves a share of a GPU's room free at some pressure,
those by which a linear program fills GPUs part by part, and one replica more or less than the best.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import inf, isfinite, sqrt

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Floats, Instance
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.decide.replica_counts import (
    Counts,
    by_pressure,
    by_shares,
    least_pressure,
    neighbours,
)
from colocate.solver.plan import Plan, Status, confirmed_plan
from colocate.solver.progress import JUST_BELOW, PROVEN, Alarm, Improvement, gap_between
from colocate.solver.prove.bound_search import BoundSearch
from colocate.solver.prove.columns import shares_of_choices
from colocate.solver.prove.knapsack import Choices
from colocate.solver.prove.replica_bounds import prove_with_replicas, rows_of_choices
from colocate.solver.prove.two_solvers import places, search_all
from colocate.solver.run import Run

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
CHECKING = 0.05
"""Seconds for the last look of the checker."""
MISSES = 40
"""Numbers of replicas tried in vain, after which the search ends."""
TARGETS, GRID, FOLLOWING = 8, 1000, 0.1
"""Pressures that GPUs are filled part by part at, how finely, and the part of the time for one."""

SolveFixed = Callable[[Problem, float, Placement | None], Plan]
"""Places models with fixed numbers of replicas in some seconds, from a start or from none."""


class ReplicaSearch:
    """The best numbers of replicas so far, those that were tried, and what is proven for all."""

    def __init__(self, problem: Problem, run: Run, solve_fixed: SolveFixed) -> None:
        self.problem = problem
        self._run = run
        self._solve_fixed = solve_fixed
        self._tried: set[Counts] = set()
        self._history: list[Improvement] = []
        self._alarms: list[Alarm] = []
        self._best: Plan | None = None
        self._failure: Plan | None = None
        self._counts: Counts = ()
        self._proof = prove_with_replicas(problem)
        self._rng = np.random.default_rng(run.seed)

    def solved(self, start: Placement | None = None) -> Plan:
        """Return the best plan that was found, with the proof that holds for all numbers."""
        if start is not None:
            self._offer(start, "start")
        exact = places(self.problem) <= MOST_PLACES
        until = self._run.deadline.left * (PROVING if exact else POLISHING)
        self._try_all(islice(by_pressure(self.problem, self.bound), FIRST), until)
        self._follow_program(until)
        self._try_all(by_pressure(self.problem, self.bound), until)
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

    @property
    def value(self) -> float:
        """The peak pressure of the best placement so far."""
        return self._best.pressure if self._best else inf

    @property
    def bound(self) -> float:
        """The best bound so far, for any numbers of replicas."""
        return self._proof.bound

    @property
    def gap(self) -> float:
        """How far the value is from the bound."""
        return gap_between(self.value, self.bound)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return self._run.deadline.seconds

    @property
    def seconds_left(self) -> float:
        """Time until the limit, less what the checker will take."""
        return self._run.deadline.left - CHECKING

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to find, or no time."""
        return self._finished(0.0)

    def prove(self, certificate: Certificate | None) -> None:
        """Take note of a proof if its bound is the best so far, and holds."""
        if certificate is None or certificate.bound <= self.bound:
            return
        if refuted(self.problem, certificate) is None:
            self._proof = certificate
            self._note(certificate.proof.value)
        else:
            self._alarms.append(Alarm(certificate.proof.value, certificate.bound, self.value))

    def _finished(self, until: float) -> bool:
        reached = self._best is not None and self._run.wish.granted(
            self.value, self.bound, self.seconds
        )
        return reached or self.seconds_left <= until

    def _try_all(self, options: Iterable[Counts], until: float) -> None:
        """Try numbers of replicas while there is time, the first ones in any case."""
        for counts in options:
            if self._tried and self._finished(until):
                return
            self._try(counts, PATIENCE)

    def _follow_program(self, until: float) -> None:
        """Try what fills GPUs part by part, at pressures between the bound and the value."""
        low = self.bound
        for _ in range(TARGETS):
            target = sqrt(low * self.value)
            if self._finished(until) or not isfinite(target) or target == 0.0:
                return
            before = self.value
            shares = self._shares_at(target)
            if shares is not None:
                self._try_all(by_shares(self.problem, shares, self._rng), until)
            if self.value == before:
                low = target

    def _shares_at(self, target: float) -> Floats | None:
        instance, choices = self._rows
        window = int(instance.load.sum(axis=0).argmax())
        until = self.seconds + FOLLOWING * self.seconds_left
        return shares_of_choices(
            instance, target, window, GRID, lambda: until - self.seconds, choices
        )

    def _go_on(self, until: float) -> None:
        """Try one replica more or less than the best, in any order."""
        misses = 0
        while self._best and misses < MISSES and not self._finished(until):
            near = neighbours(self.problem, self._counts)
            options = [counts for counts in near if counts not in self._tried]
            if not options:
                return
            before = self.value
            self._try(options[int(self._rng.integers(len(options)))], 2 * PATIENCE)
            misses = 0 if self.value < before else misses + 1

    def _try(self, counts: Counts, share: float) -> None:
        """Solve the problem with such numbers of replicas, unless sums show that it cannot pay."""
        pays = not self._tried or least_pressure(self.problem, counts) < self.value
        if counts in self._tried or not pays:
            return
        self._tried.add(counts)
        names = (model.name for model in self.problem.models)
        fixed = self.problem.with_replicas(dict(zip(names, counts, strict=True)))
        plan = self._solve_fixed(fixed, max(share * self.seconds_left, SHORTEST), None)
        self._alarms += plan.alarms
        if plan.placement:
            self._offer(plan.placement, "replicas")
        else:
            self._failure = self._failure or self._failed(counts, plan)

    def _polish(self, until: float) -> None:
        """Improve the best placement, with the numbers of replicas that it has."""
        if self._best is None or self._finished(until):
            return
        names = (model.name for model in self.problem.models)
        fixed = self.problem.with_replicas(dict(zip(names, self._counts, strict=True)))
        seconds = self.seconds_left - until
        self._offer(self._solve_fixed(fixed, seconds, self._best.placement).placement, "replicas")

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

    def _offer(self, placement: Mapping[str, Sequence[str]], block: str) -> bool:
        """Take a placement if there is one, it is valid, and better than the best."""
        if not placement:
            return False
        verdict = verify(self.problem, placement)
        better = self._best is None or verdict.pressure < self.value * JUST_BELOW
        if not verdict.valid or not better:
            return False
        self._best = confirmed_plan(self.problem, Placement(placement))
        self._counts = tuple(len(placement[m.name]) // m.shards for m in self.problem.models)
        self._note(block)
        return True

    def _note(self, block: str) -> None:
        found = Improvement(self.seconds, self.value, self.bound, block)
        self._history.append(found)
        self._run.tell(found)

    def _raise_bound(self, until: float) -> None:
        """Prove by multipliers, for all numbers of replicas at once."""
        raising = BoundSearch(*self._rows)
        while not raising.exhausted and not self._finished(until):
            raising.step(self)

    def _search_all(self) -> None:
        """Let CP-SAT look for anything better, with any numbers of replicas."""
        run = self._run
        while not self.finished:
            target = self.value * JUST_BELOW
            answer = search_all(
                self.problem,
                target,
                self.seconds_left,
                run.workers,
                lambda: run.deadline.over,
                self.value,
            )
            if answer.alarm:
                alarm = answer.alarm
                self._alarms.append(Alarm(alarm.solver, alarm.target, alarm.known))
            if answer.outcome is Outcome.NONE:
                self._exclude(target)
                return
            if not self._offer(answer.placement, "constraint program"):
                return

    def _exclude(self, target: float) -> None:
        if self._best is not None:
            self.prove(Certificate(Proof.SOLVERS, target))
            return
        reason = "no number of replicas, and no way to place them, respects all rules"
        proof = Certificate(Proof.SOLVERS, inf)
        self._failure = Plan(self.problem, Status.INFEASIBLE, reason=reason, certificate=proof)

    def _concluded(self) -> Plan:
        if self._best is None:
            reason = "no placement was found in time"
            return self._failure or Plan(self.problem, Status.UNKNOWN, reason=reason)
        plan = replace(
            self._best,
            certificate=self._proof,
            history=tuple(self._history),
            alarms=tuple(self._alarms),
        )
        return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan
