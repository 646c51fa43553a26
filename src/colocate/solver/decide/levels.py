"""Settles the levels of a plan: after the peak the second highest pressure, then the third.

Each level is a problem of its own, in which the GPUs that hold the levels above stay at or below
their ceilings (see `level_problem`). Identical GPUs can hold a level just as well as each other;
with unlike ones, another holder may leave a lower level below. So a bound on a level is the lowest
over all choices of holders that the levels above leave open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.level import Level, LevelProof
from colocate.problem.placement import Placement
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.problem.tolerance import CEILING, JUST_BELOW
from colocate.problem.verify import verify
from colocate.problem.verify_levels import refuted_level
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.decide.holders import HolderChoices, Holders
from colocate.solver.decide.level_problem import level_problem
from colocate.solver.decide.pressure_limit import without_limit
from colocate.solver.decide.replicas import place_awake
from colocate.solver.plan import Alarm, Plan
from colocate.solver.prove.obstacles import obvious_obstacle, too_many_parts
from colocate.solver.prove.replica_bounds import prove_with_replicas
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.prove.volume import prove_by_model, prove_by_volume

PEAK = 0.8
"""The share of the time that the peak may take; the other levels have the rest."""
AT_ONCE = 1.0
"""Where the gap that is good enough changes with time, nobody waits for the lower levels: they have
this many seconds since the start, or as long again as the peak took.
"""
LEVEL = 0.4
"""The share of the time left that one level may take."""
LOOSE, TIGHT = 0.5, 1.0 - 1e-4
"""Floors, as shares of the pressure of a level. The first leaves room for a better placement; the
second hides nothing that matters and makes for the best bounds."""
ROOF = 1.001
"""The roof, as a multiple of the pressure of a level: enough to exclude holders beyond doubt."""
FIRST, SECOND = 0.3, 0.5
"""The share of a choice's time for a better placement, before its bound is raised; and the share of
the rest for the bound, before two solvers search all numbers of replicas."""
OUT = 1.0005
"""The pressure that solvers look for with other holders, as a multiple of that of the level: if
there is none, these holders are out."""
FLOORS = (TIGHT, 0.999, 0.99, 0.95, 0.9, 0.75, LOOSE)
"""Floors for bounds by sums, the best first: a bound counts only if it is above its floor."""
MOST_CHOICES = 48
"""Choices of holders; with more, the levels below are improved, but no longer proven."""
SHORTEST, MARGIN = 0.02, 3.0
"""Seconds under which no search is begun, and the same as a multiple of what stating its problem
takes: the search and the check of its proof handle all of it again."""


def settle_levels(problem: Problem, plan: Plan, budget: SolveBudget, levels: int | None) -> Plan:
    """Improve the levels below the peak of a plan, and prove bounds on them.

    Parameters
    ----------
    problem
        The problem of the models that are awake.
    plan
        The plan whose peak is settled, for the problem with its sleepers.
    budget
        What the call may still spend, and which gap is good enough for a level.
    levels
        How many levels are settled; None for all.
    """
    if not plan.placement or not isfinite(plan.pressure):
        return plan
    if callable(budget.gap):
        taken = budget.deadline.seconds
        budget = replace(budget, deadline=budget.deadline.part(max(taken, AT_ONCE - taken)))
    awake = Placement({model.name: plan.placement[model.name] for model in problem.models})
    search = LevelSearch(without_limit(problem), awake, plan, budget)
    search.settle(min(levels or len(problem.gpus), len(problem.gpus)))
    places = {**plan.placement, **search.placement}
    return replace(
        plan,
        placement=Placement({model: places[model] for model in plan.placement}),
        pressures=search.pressures,
        levels=search.levels,
        alarms=(*plan.alarms, *search.alarms),
    )


class LevelSearch:
    """The levels settled so far, the best placement, and the choices of holders left open.

    Parameters
    ----------
    problem
        The problem of the models that are awake, without a limit on the pressure.
    placement
        A placement whose peak is settled.
    plan
        The plan of that placement, with the bound on its peak.
    budget
        What the call may still spend.
    """

    def __init__(
        self, problem: Problem, placement: Placement, plan: Plan, budget: SolveBudget
    ) -> None:
        self.problem = problem
        self.placement = placement
        self.pressures = dict(plan.pressures)
        self.alarms: list[Alarm] = []
        self.stating = 0.0
        """Seconds that stating a level problem takes."""
        self._budget = replace(budget, target=None, on_improvement=None)
        self._holders = HolderChoices(problem)
        self._opens: list[list[Holders] | None] = [[()]]
        self._known: dict[tuple[Holders, tuple[float, ...]], LevelProof] = {}
        self._ceilings = [self._row[0][1] * CEILING]
        self._bounds: list[tuple[float, tuple[LevelProof, ...]]] = [(plan.bound, ())]

    @property
    def _row(self) -> list[tuple[str, float]]:
        """The GPUs with their pressures, the highest first."""
        return sorted(self.pressures.items(), key=lambda pair: -pair[1])

    @property
    def value(self) -> float:
        """The pressure of the level that is being settled."""
        return self._row[len(self._ceilings)][1]

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels of the placement; those that were not settled have no bound."""
        nothing: tuple[float, tuple[LevelProof, ...]] = (0.0, ())
        found = []
        for number, (gpu, pressure) in enumerate(self._row):
            bound, proofs = self._bounds[number] if number < len(self._bounds) else nothing
            known = number < len(self._ceilings)
            ceiling = self._ceilings[number] if known else pressure * CEILING
            found.append(Level(gpu, pressure, ceiling, bound, proofs))
        return tuple(found)

    def settle(self, levels: int) -> None:
        """Settle levels from the top; while time is left, go back to the first without a proof."""
        self._settle_down(levels)
        first = self._first_unproven()
        while first is not None and not self.time_is_up:
            for kept in (self._ceilings, self._bounds, self._opens):
                del kept[first:]
            self._settle_down(levels)
            first = self._first_unproven()

    def _settle_down(self, levels: int) -> None:
        """Settle levels until time is up, then those that proofs are known for."""
        while len(self._ceilings) < levels and self.value > 0.0:
            if self.time_is_up and self.known(self._own) is None:
                return
            self._settle_next()

    @property
    def time_is_up(self) -> bool:
        """Whether too little time is left to state one more problem."""
        return self._budget.deadline.left < self.least_seconds

    @property
    def least_seconds(self) -> float:
        """The seconds that one search takes at least."""
        return max(SHORTEST, MARGIN * self.stating)

    def _first_unproven(self) -> int | None:
        """Return the first level whose bound is too low, if more time may raise it."""
        for number, (bound, _) in enumerate(self._bounds):
            if number > 0 and not self._budget.enough(self._row[number][1], bound):
                return None if self._opens[number] is None else number
        return None

    def known(self, holders: Holders) -> LevelProof | None:
        """Return the best proof so far for a choice of holders of the levels above."""
        return self._known.get((holders, tuple(self._ceilings)))

    def keep(self, proof: LevelProof | None) -> None:
        """Keep a proof if it is the best for its choice of holders."""
        if proof is not None:
            best = self.known(proof.holders)
            if best is None or proof.bound > best.bound:
                self._known[proof.holders, tuple(self._ceilings)] = proof

    def _settle_next(self) -> None:
        """Settle one level: improve it, and prove a bound for every choice of holders."""
        stage = replace(
            self._budget, deadline=self._budget.deadline.part(self._budget.deadline.left * LEVEL)
        )
        choices = self._choices()
        _LevelWork(self, choices or [self._own], stage).run()
        proofs = [proof for each in choices or () if (proof := self.known(each))]
        complete = choices is not None and len(proofs) == len(choices)
        bound = min(proof.bound for proof in proofs) if complete else 0.0
        self._bounds.append((min(bound, self.value), tuple(proofs) if complete else ()))
        self._ceilings.append(self.value * CEILING)
        if complete:
            excluded = {p.holders for p in proofs if p.bound > self._ceilings[-1]}
            choices = [holders for holders in choices or () if holders not in excluded]
        self._opens.append(choices)

    @property
    def _own(self) -> Holders:
        """The holders of the best placement."""
        return tuple([gpu for gpu, _ in self._row[: len(self._ceilings)]])

    def _choices(self) -> list[Holders] | None:
        """Return the choices of holders to look at, that of the best placement first.

        None if there are too many.
        """
        above = self._opens[-1]
        if above is None:
            return None
        own = self._own
        mine = self._holders.key(own, self._ceilings)
        found = [own]
        for holders in self._holders.longer(above, self._ceilings):
            if self._holders.key(holders, self._ceilings) != mine:
                found.append(holders)
            if len(found) > MOST_CHOICES:
                return None
        return found

    def is_own(self, holders: Holders) -> bool:
        """Whether the best placement is one with these holders."""
        by_gpu = dict(zip(holders, self._ceilings, strict=True))
        return all(
            pressure <= by_gpu.get(gpu, self.value) for gpu, pressure in self.pressures.items()
        )

    def _offer(self, placement: Placement) -> bool:
        """Take a placement if it keeps the levels above and is better below."""
        verdict = verify(self.problem, placement)
        if not verdict.valid:
            return False
        found = sorted(verdict.pressures.values(), reverse=True)
        above = zip(found, self._ceilings, strict=False)
        if any(pressure > ceiling for pressure, ceiling in above):
            return False
        for new, (_, old) in zip(found, self._row, strict=True):
            if lower(new, old):
                self.placement, self.pressures = placement, dict(verdict.pressures)
                return True
            if lower(old, new):
                return False
        return False

    def by_sums(self, holders: Holders) -> LevelProof | None:
        """Return the best proof by sums for a choice of holders: it takes no search."""
        for floor in FLOORS:
            problem = self._stated(holders, floor)
            certificates = sorted(_sums(problem), key=lambda each: -each.bound)
            for certificate in certificates:
                if proof := self._confirmed(holders, floor, certificate):
                    return proof
            if self._budget.deadline.left < MARGIN * self.stating:
                return None
        return None

    def searched(self, holders: Holders, floor: float, stage: SolveBudget) -> LevelProof | None:
        """Search one choice of holders; take a better placement, and return its proof.

        Parameters
        ----------
        holders
            The GPUs that hold the levels above.
        floor
            The floor of the level problem, as a share of the pressure of the level.
        stage
            What the search may spend.
        """
        problem = self._stated(holders, floor)
        value, own = self.value, self.is_own(holders)
        if not own:
            stage = replace(stage, ceiling=value * CEILING)
        plan = place_awake(problem, stage, self.placement if own else None)
        self.alarms.extend(plan.alarms)
        if plan.placement:
            self._offer(plan.placement)
        return self._confirmed(holders, floor, plan.certificate, value)

    def asked(self, holders: Holders, stage: SolveBudget) -> LevelProof | None:
        """Let two solvers search one choice of holders, with any numbers of replicas.

        Parameters
        ----------
        holders
            The GPUs that hold the levels above.
        stage
            What the solvers may spend.
        """
        problem, value = self._stated(holders, TIGHT), self.value
        steps = (JUST_BELOW,) if self.is_own(holders) else (OUT, JUST_BELOW)
        for step in steps if small_enough(problem) else ():
            deadline = stage.deadline.part(stage.deadline.left)
            answer = search_all(problem, value * step, deadline, stage.workers)
            self.alarms.extend([answer.alarm] if answer.alarm else [])
            if answer.outcome is Outcome.NONE:
                proof = Certificate(Proof.SOLVERS, value * step)
                return self._confirmed(holders, TIGHT, proof, value)
            if answer.outcome is Outcome.FOUND and self._offer(Placement(answer.placement)):
                return None
        return None

    def _stated(self, holders: Holders, floor: float) -> Problem:
        """Return the problem of the level, and note how long that took."""
        started = self._budget.deadline.seconds
        ceilings = dict(zip(holders, self._ceilings, strict=True))
        problem = level_problem(self.problem, ceilings, self.value * floor, self.value * ROOF)
        self.stating = self._budget.deadline.seconds - started
        return problem

    def _confirmed(
        self,
        holders: Holders,
        floor: float,
        certificate: Certificate | None,
        value: float | None = None,
    ) -> LevelProof | None:
        """Return a proof if it says something and the checker does not refute it."""
        if certificate is None:
            return None
        value = self.value if value is None else value
        proof = LevelProof(holders, value * floor, value * ROOF, certificate)
        ceilings = dict(zip(holders, self._ceilings, strict=True))
        if proof.bound == 0.0 or refuted_level(self.problem, ceilings, proof) is not None:
            return None
        return proof


def _sums(problem: Problem) -> Iterator[Certificate]:
    """Yield what follows from sums about any placement."""
    if obstacle := too_many_parts(problem):
        yield obstacle.proof
        return
    if problem.open_replicas:
        yield prove_with_replicas(problem)
        return
    reduction = reduction_of(problem)
    if obstacle := obvious_obstacle(reduction):
        yield obstacle.proof
    yield prove_by_volume(reduction.instance)
    yield prove_by_model(reduction)


class _LevelWork:
    """The work on one level: the choices of holders to look at, that of the best plan first."""

    def __init__(self, search: LevelSearch, choices: Sequence[Holders], stage: SolveBudget) -> None:
        self._search = search
        self._stage = stage
        self._choices = list(choices)

    def run(self) -> None:
        """Look at all choices; at one that turned out better, again."""
        for holders in self._choices:
            if not self._time_is_up and self._search.known(holders) is None:
                self._search.keep(self._search.by_sums(holders))
        left = list(self._choices)
        while left and not self._time_is_up:
            holders, before = left[0], self._search.value
            if not self._good_enough(holders):
                self._look(holders, len(left))
            if self._good_enough(holders) or not lower(self._search.value, before):
                left.pop(0)

    @property
    def _time_is_up(self) -> bool:
        return self._stage.deadline.left < self._search.least_seconds

    def _look(self, holders: Holders, left: int) -> None:
        """Search one choice of holders: for a better placement first, then for a bound."""
        whole = replace(
            self._stage, deadline=self._stage.deadline.part(self._stage.deadline.left / left)
        )
        if self._search.is_own(holders):
            self._try(holders, LOOSE, whole, FIRST)
        asking = self._search.problem.open_replicas
        self._try(holders, TIGHT, whole, SECOND if asking else 1.0)
        if asking and not self._good_enough(holders) and not self._time_is_up:
            self._search.keep(self._search.asked(holders, whole))

    def _try(self, holders: Holders, floor: float, whole: SolveBudget, share: float) -> None:
        """Search with a share of the time left, unless the bound is high enough."""
        if self._good_enough(holders) or self._time_is_up:
            return
        stage = replace(whole, deadline=whole.deadline.part(whole.deadline.left * share))
        self._search.keep(self._search.searched(holders, floor, stage))

    def _good_enough(self, holders: Holders) -> bool:
        """Whether the bound is high enough for the level, or for this choice to be out."""
        proof = self._search.known(holders)
        return proof is not None and self._stage.enough(self._search.value, proof.bound)
