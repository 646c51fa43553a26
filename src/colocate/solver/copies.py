"""How many copies pay: a copy holds its whole size, and takes its part of the load.

The problem with given numbers of copies is one that the solver knows. Which numbers to give is
searched here: first those with which every copy leaves a share of a GPU's room free at some
pressure, then one copy more or less of a model on or beside the bottleneck.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.place import feasible_plan
from colocate.solver.plan import Plan, Status
from colocate.solver.progress import JUST_BELOW, PROVEN, Improvement
from colocate.solver.prove.choice_program import search_choices, small_enough
from colocate.solver.prove.elastic import prove_with_copies
from colocate.solver.run import Run

STEPS = (1.0, 1.05, 1.15, 1.3, 1.6, 2.0, 3.0)
"""Pressures that copies are first made for, as multiples of the bound."""
SHARES = (1.0, 0.75, 0.5, 0.33, 0.2)
"""Parts of a GPU that a copy may fill at such a pressure."""
PATIENCE = 0.02
"""The part of the time that the first look at numbers of copies gets."""
PROVING = 0.4
"""The part of the time that is kept for CP-SAT, where the problem is small enough for it."""
MISSES = 30
"""Numbers of copies tried in vain, after which the search ends."""

Counts = tuple[int, ...]
"""How many copies every model has, in the order of the problem."""


class CopySearch:
    """The best numbers of copies so far, and those that were tried."""

    def __init__(
        self, problem: Problem, run: Run, solve_fixed: Callable[[Problem, float], Plan]
    ) -> None:
        self._problem = problem
        self._run = run
        self._solve_fixed = solve_fixed
        self._tried: dict[Counts, float] = {}
        self._history: list[Improvement] = []
        self._best: Plan | None = None
        self._counts: Counts = tuple(model.replicas for model in problem.models)
        self._proof = prove_with_copies(problem)
        self._failure: Plan | None = None

    def solved(self, start: Placement | None = None) -> Plan:
        """Return the best plan that was found, with the proof that holds for all numbers."""
        if start is not None:
            self._offer(start, "start")
        exact = small_enough(self._problem)
        until = self._run.seconds_left * (PROVING if exact else 0.0)
        self._look_around(until)
        self._go_on(until, np.random.default_rng(self._run.seed))
        if exact:
            self._search_all()
        return self._concluded()

    def _look_around(self, until: float) -> None:
        for counts in self._first_counts():
            if self._finished(until):
                return
            self._try(counts, max(PATIENCE * self._run.seconds_left, 0.01))

    def _first_counts(self) -> Iterator[Counts]:
        """Yield the numbers to begin with: as few as allowed, then what pressures ask for."""
        yield self._counts
        for step, share in product(STEPS, SHARES):
            target = self._proof.bound * step
            yield tuple(
                _copies_for(self._problem, model, target * share) for model in self._problem.models
            )

    def _go_on(self, until: float, rng: np.random.Generator) -> None:
        """Try one copy more or less, longer where it is closer."""
        misses = 0
        while misses < MISSES and not self._finished(until):
            options = [c for c in self._neighbours() if c not in self._tried]
            if not options:
                return
            counts = options[int(rng.integers(len(options)))]
            before = self._value
            self._try(counts, max(2 * PATIENCE * self._run.seconds_left, 0.02))
            misses = 0 if self._value < before else misses + 1

    def _neighbours(self) -> Iterator[Counts]:
        for number, model in enumerate(self._problem.models):
            for copies in (self._counts[number] + 1, self._counts[number] - 1):
                if model.replicas <= copies <= model.most_replicas:
                    yield (*self._counts[:number], copies, *self._counts[number + 1 :])

    @property
    def _value(self) -> float:
        return self._best.pressure if self._best else inf

    def _finished(self, until: float) -> bool:
        reached = self._best is not None and self._run.good_enough(self._value, self._proof.bound)
        return reached or self._run.seconds_left <= until

    def _try(self, counts: Counts, seconds: float) -> None:
        """Solve the problem with such numbers of copies, unless sums show that it cannot pay."""
        pays = not self._tried or _volume(self._problem, counts) < self._value
        if counts in self._tried or not pays:
            return
        names = (model.name for model in self._problem.models)
        plan = self._solve_fixed(
            self._problem.with_copies(dict(zip(names, counts, strict=True))), seconds
        )
        self._tried[counts] = plan.pressure
        if not plan.placement:
            self._failure = self._failure or plan
        else:
            self._offer(plan.placement, "copies")

    def _offer(self, placement: Mapping[str, Sequence[str]], block: str) -> bool:
        """Take a placement if there is one, it is valid, and better than the best."""
        if not placement:
            return False
        verdict = verify(self._problem, placement)
        better = self._best is None or verdict.pressure < self._value * JUST_BELOW
        if not verdict.valid or not better:
            return False
        self._best = feasible_plan(self._problem, Placement(placement))
        self._counts = tuple(len(placement[m.name]) // m.shards for m in self._problem.models)
        self._note(block)
        return True

    def _note(self, block: str) -> None:
        found = Improvement(self._run.seconds, self._value, self._proof.bound, block)
        self._history.append(found)
        self._run.tell(found)

    def _search_all(self) -> None:
        """Let CP-SAT look for anything better, with any numbers of copies."""
        while not self._finished(0.0):
            target = self._value * JUST_BELOW
            answer = search_choices(self._problem, target, self._run.seconds_left)
            if answer.outcome is Outcome.NONE:
                if self._best is None:
                    reason = "no number of copies, and no way to place them, respects all rules"
                    self._failure = Plan(self._problem, Status.INFEASIBLE, reason=reason)
                    return
                self._proof = Certificate(Proof.SEARCH, target)
                self._note("constraint program")
            elif not self._offer(answer.placement, "constraint program"):
                return

    def _concluded(self) -> Plan:
        if self._best is None:
            return self._failure or Plan(
                self._problem, Status.UNKNOWN, reason="no placement was found in time"
            )
        plan = replace(self._best, certificate=self._proof, history=tuple(self._history))
        return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan


def _copies_for(problem: Problem, model: Model, target: float) -> int:
    """Return the fewest copies of which one fits alone on a GPU at a pressure."""
    rooms = [gpu.memory_gb for gpu in problem.gpus if model.may_be_on(gpu)]
    free = (max(rooms, default=0.0) - model.size_gb / model.shards) * target
    load = max(model.load) / model.shards
    needed = int(np.ceil(load / free * (1.0 - 1e-9))) if free > 0.0 else model.most_replicas
    return min(max(needed, model.replicas), model.most_replicas)


def _volume(problem: Problem, counts: Sequence[int]) -> float:
    """Return a pressure that no placement with such numbers of copies is below."""
    free = sum(gpu.memory_gb for gpu in problem.gpus)
    free -= sum(m.size_gb * copies for m, copies in zip(problem.models, counts, strict=True))
    load = max(
        sum(m.load[min(t, len(m.load) - 1)] for m in problem.models) for t in range(problem.windows)
    )
    if load == 0.0:
        return 0.0
    return load / free if free > 0.0 else inf
