"""The state of a search for levels: the best placement, the ceilings above, the proofs known."""

from dataclasses import replace

from colocate.problem.level import LevelProof
from colocate.problem.placement import Placement
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.problem.tolerance import CEILING
from colocate.problem.verify import verify
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.holders import Holders
from colocate.solver.plan import Alarm, Plan

SHORTEST, MARGIN = 0.02, 3.0
"""Seconds under which no search is begun, and the same as a multiple of what stating its problem
takes: the search and the check of its proof handle all of it again."""


class LevelState:
    """What is known while levels are settled from the top.

    Parameters
    ----------
    problem
        The problem of the models that are awake, without a limit on the pressure.
    placement
        A placement whose peak is settled.
    plan
        The plan of that placement.
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
        self.budget = replace(budget, target=None, on_improvement=None)
        self.ceilings = [self.row[0][1] * CEILING]
        self._known: dict[tuple[Holders, tuple[float, ...]], LevelProof] = {}

    @property
    def row(self) -> list[tuple[str, float]]:
        """The GPUs with their pressures, the highest first."""
        return sorted(self.pressures.items(), key=lambda pair: -pair[1])

    @property
    def value(self) -> float:
        """The pressure of the level that is being settled."""
        return self.row[len(self.ceilings)][1]

    @property
    def own(self) -> Holders:
        """The holders of the best placement."""
        return tuple([gpu for gpu, _ in self.row[: len(self.ceilings)]])

    def is_own(self, holders: Holders) -> bool:
        """Whether the best placement is one with these holders."""
        by_gpu, value = dict(zip(holders, self.ceilings, strict=True)), self.value
        return all(pressure <= by_gpu.get(gpu, value) for gpu, pressure in self.pressures.items())

    def offer(self, placement: Placement) -> bool:
        """Take a placement if it keeps the levels above and is better below."""
        verdict = verify(self.problem, placement)
        if not verdict.valid:
            return False
        found = sorted(verdict.pressures.values(), reverse=True)
        above = zip(found, self.ceilings, strict=False)
        if any(pressure > ceiling for pressure, ceiling in above):
            return False
        for new, (_, old) in zip(found, self.row, strict=True):
            if lower(new, old):
                self.placement, self.pressures = placement, dict(verdict.pressures)
                return True
            if lower(old, new):
                return False
        return False

    @property
    def time_is_up(self) -> bool:
        """Whether too little time is left to state one more problem."""
        return self.budget.deadline.left < self.least_seconds

    @property
    def least_seconds(self) -> float:
        """The seconds that one search takes at least."""
        return max(SHORTEST, MARGIN * self.stating)

    def known(self, holders: Holders) -> LevelProof | None:
        """Return the best proof so far for a choice of holders of the levels above."""
        return self._known.get((holders, tuple(self.ceilings)))

    def keep(self, proof: LevelProof | None) -> None:
        """Keep a proof if it is the best for its choice of holders."""
        if proof is not None:
            best = self.known(proof.holders)
            if best is None or proof.bound > best.bound:
                self._known[proof.holders, tuple(self.ceilings)] = proof
