"""Try mixes of GPUs, one at a time, and remember what each trial showed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import inf

from colocate.advise.capacity.capacity_limit import CapacityLimit, ratio_of_targets
from colocate.advise.capacity.latency_needs import latency_needs, replica_needs
from colocate.advise.capacity.mixes import Market, Mix
from colocate.advise.capacity.requirements import Need, needs_of
from colocate.advise.remedies.lone_engines import FailedModel, kept_from_slow_gpus
from colocate.problem.problem import Problem
from colocate.problem.tolerance import OVER_LIMIT
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Plan, Status, confirmed_plan
from colocate.solver.solve import solve
from colocate.solver.warm_up import warm_up

FIRST_SLICE = 1 / 40
"""The share of the time for the first trial of a mix; each further trial gets twice as much."""
SHORTEST_SLICE = 0.05
"""Seconds that a trial takes at least; less is not enough to find anything."""
ENDED_EARLY = 0.5
"""A trial that took less than this share of its time would find no more in a longer one."""


class TimeIsUp(Exception):  # noqa: N818, no fault
    """The time for the search is over, or someone asked to stop."""


class Decision(StrEnum):
    """What is known about a mix."""

    REACHED = "reached"
    """There is a placement at or below the pressure, and all targets are kept."""
    EXCLUDED = "excluded"
    """There is provably none."""
    OPEN = "open"
    """Neither is known."""


@dataclass(frozen=True)
class MixTrial:
    """What a trial of a mix showed.

    Parameters
    ----------
    mix
        Units of each kind.
    decision
        Whether the pressure is reached, or the targets are kept.
    plan
        The best plan found; None where sums were enough.
    reason
        Why the mix is excluded, if not by a bound.
    ratio
        The worst latency over its target; None if there is no placement or no target.
    """

    mix: Mix
    decision: Decision
    plan: Plan | None = None
    reason: str = ""
    ratio: float | None = None

    @property
    def pressure(self) -> float:
        """The lowest pressure found; infinite if there is none."""
        return self.plan.pressure if self.plan else inf

    @property
    def value(self) -> float:
        """What the trial minimised: the pressure, or the ratio; infinite if there is none."""
        if self.plan and self.plan.problem.objective == "latency":
            return inf if self.ratio is None else self.ratio
        return self.pressure

    @property
    def bound(self) -> float:
        """No placement has a lower value; infinite if there is no placement at all."""
        if self.plan is None:
            return 0.0
        return inf if self.plan.status is Status.INFEASIBLE else self.plan.bound


@dataclass
class MixTrials:
    """All trials of mixes so far, and the means to make more.

    Parameters
    ----------
    market, target
        The GPUs that can be had, and the pressure to reach; infinite if targets alone decide.
    time_limit
        Seconds for all trials; compiling, at the first start, is extra.
    seed, workers
        Passed on to `solve`.
    on_trial
        Called with every mix that was tried.
    """

    market: Market
    target: float
    time_limit: float = 10.0
    seed: int = 0
    workers: int | None = None
    on_trial: Callable[[MixTrial], None] | None = None
    found: dict[Mix, MixTrial] = field(default_factory=dict)
    tries: dict[Mix, int] = field(default_factory=dict)
    kept: float = 0.0
    """Seconds that are kept for what comes after the search."""

    def __post_init__(self) -> None:
        problem, kind_of = self.market.sample()
        self.wanted = CapacityLimit(self.target)
        warm_up(self.wanted.trial_problem(problem))
        fast, self.too_slow = kept_from_slow_gpus(problem, queues=self.wanted.by_ratio)
        self.deadline = Deadline(self.time_limit)
        self.needs: list[Need] = self._needs(fast, self.too_slow, kind_of)
        self.decided: set[Mix] = set()
        """Mixes that stay open however long they are tried."""
        self.has_own_plan = not self.wanted.by_ratio and problem.objective == "pressure"
        """Whether trials minimise what the fleet itself does, so that their plans are its plans."""

    def _needs(
        self, problem: Problem, slow: FailedModel | None, kind_of: Sequence[int]
    ) -> list[Need]:
        """Return the sums that any mix must have.

        Parameters
        ----------
        problem
            The models and GPUs of every kind, without those that are too slow.
        slow
            A model that is too slow on all of them; None if there is none.
        kind_of
            The number of the kind of every GPU.
        """
        kinds = len(self.market.costs)
        if slow:
            purpose = f"on which {slow.target.model} alone is fast enough"
            return [Need((Fraction(),) * kinds, Fraction(1), "GPUs", purpose)]
        limit = self.wanted.pressure * (1.0 + OVER_LIMIT)
        replicas = replica_needs(problem, kind_of, queues=self.wanted.by_ratio)
        return [*needs_of(problem, kind_of, limit), *replicas, *latency_needs(problem, kinds)]

    def extend(self, seconds: float) -> None:
        """Let all trials take so many seconds more."""
        self.time_limit += seconds
        self.deadline.extend(seconds)

    def check_time(self) -> None:
        """Raise TimeIsUp if no more trials should be made."""
        if self.deadline.left <= self.kept:
            raise TimeIsUp

    def lacking(self, mix: Mix) -> Need | None:
        """Return a need that a mix does not meet; None if it meets all."""
        gpus = self.market.gpus(mix)
        return next((need for need in self.needs if not need.met(gpus)), None)

    def lacks(self, mix: Mix) -> str:
        """Say, in words, what a mix has too little of; empty if it has enough of everything."""
        need = self.lacking(mix)
        return self._lacks(mix, need) if need else ""

    def _lacks(self, mix: Mix, need: Need) -> str:
        useful = [n for n, amount in zip(self.market.names, need.amounts, strict=True) if amount]
        where = f" of {' and '.join(useful)}" if len(useful) < len(need.amounts) else ""
        have = float(need.sum_of(self.market.gpus(mix)))
        least = f"{float(need.least):.6g} {need.unit}{where}"
        return f"it needs {least} {need.purpose}, it has {have:.6g}"

    def spare(self, mix: Mix) -> float:
        """Return how much a mix has of its scarcest need, as a multiple of that need."""
        gpus = self.market.gpus(mix)
        return min((float(need.sum_of(gpus) / need.least) for need in self.needs), default=1.0)

    def excluded(self, mix: Mix) -> bool:
        """Return whether a mix, or one that contains it, is proven not to reach the pressure."""
        return any(
            trial.decision is Decision.EXCLUDED
            and all(n <= m for n, m in zip(mix, other, strict=True))
            for other, trial in self.found.items()
        )

    def try_out(self, mix: Mix) -> MixTrial:
        """Try a mix, for longer every time."""
        known = self.found.get(mix)
        if known and known.decision is not Decision.OPEN:
            return known
        if self.excluded(mix):
            return MixTrial(mix, Decision.EXCLUDED, reason="one with more GPUs cannot reach it")
        if reason := self.lacks(mix):
            return self._note(MixTrial(mix, Decision.EXCLUDED, reason=reason))
        self.check_time()
        tries = self.tries[mix] = self.tries.get(mix, 0) + 1
        seconds = max(self.time_limit * FIRST_SLICE * 2 ** (tries - 1), SHORTEST_SLICE)
        return self.solve(mix, seconds, to_target=True)

    def solve(
        self, mix: Mix, seconds: float, to_target: bool = False, gap: float = 0.0
    ) -> MixTrial:
        """Solve a mix and record the trial.

        Parameters
        ----------
        mix
            Units of each kind.
        seconds
            The time for it.
        to_target
            Whether to stop as soon as the target is reached or excluded.
        gap
            The gap at which to stop.
        """
        problem = self.market.sizes.problem(mix)
        if problem is None:
            reason = "a model has none of the GPUs that it must be on"
            return self._note(MixTrial(mix, Decision.EXCLUDED, reason=reason))
        limit = max(min(seconds, self.deadline.left), 0.001)
        target = self.wanted.limit if to_target else None
        plan = self._solved(self.wanted.trial_problem(problem), limit, gap, target)
        trial = self._judged(mix, plan)
        if trial.decision is Decision.OPEN and plan.seconds < ENDED_EARLY * limit:
            self.decided.add(mix)
        return self._note(trial)

    def answer_plan(self, trial: MixTrial) -> Plan | None:
        """Return the plan of the answer: for the fleet's own objective, with its targets as limits.

        If there is no time to find one, the placement of the trial is taken.
        """
        problem = self.market.sizes.problem(trial.mix)
        if self.has_own_plan or problem is None or trial.plan is None:
            return trial.plan
        wanted = self.wanted.plan_problem(problem)
        plan = self._solved(wanted, max(self.deadline.left, 0.001))
        if plan.placement:
            return plan
        found = confirmed_plan(wanted, trial.plan.placement)
        return replace(found, strategy=plan.strategy, seed=self.seed)

    def _solved(
        self, problem: Problem, seconds: float, gap: float = 0.0, target: float | None = None
    ) -> Plan:
        plan = solve(
            problem,
            time_limit=seconds,
            seed=self.seed,
            workers=self.workers,
            gap=gap,
            target=target,
        )
        if plan.interrupted:
            self.deadline.stop()
        return plan

    def _judged(self, mix: Mix, plan: Plan) -> MixTrial:
        if plan.status is Status.INFEASIBLE:
            return MixTrial(mix, Decision.EXCLUDED, plan, plan.reason)
        ratio = ratio_of_targets(plan.problem, plan.placement, stated=not self.wanted.by_ratio)
        trial = MixTrial(mix, Decision.OPEN, plan, ratio=ratio)
        if plan.placement and trial.value <= self.wanted.limit:
            return replace(trial, decision=Decision.REACHED)
        return (
            replace(trial, decision=Decision.EXCLUDED) if plan.bound > self.wanted.limit else trial
        )

    def _note(self, trial: MixTrial) -> MixTrial:
        """Keep a trial, unless an earlier one showed more."""
        known = self.found.get(trial.mix)
        if known is None or known.decision is Decision.OPEN or not _tells_less(trial, known):
            self.found[trial.mix] = trial
            if self.on_trial:
                self.on_trial(trial)
        return self.found[trial.mix]


def _tells_less(trial: MixTrial, known: MixTrial) -> bool:
    """Return whether a trial showed less than an earlier one that was decided."""
    return trial.decision is Decision.OPEN or trial.value > known.value
