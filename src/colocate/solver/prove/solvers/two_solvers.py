"""Ask two solvers that share no code: "none" counts only if both say so.

CP-SAT finds placements quickly, but has called feasible programs infeasible. SCIP, with its own
program, confirms. `verify` judges every placement that either finds. A confirmed placement refutes
a contrary claim of the other solver, which raises an alarm.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.tolerance import SAME_COST
from colocate.problem.verify import highest_pressure, verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline, TimeOverError
from colocate.solver.plan import Alarm
from colocate.solver.prove.solvers.choices import choices_of, cost_of
from colocate.solver.prove.solvers.cpsat_program import CpSatProgram
from colocate.solver.prove.solvers.same_target import robust_target
from colocate.solver.prove.solvers.scip import ScipMissingError
from colocate.solver.prove.solvers.scip_program import ScipProgram
from colocate.solver.prove.solvers.searching import UNDECIDED, Finding, search_exactly

CP_SAT, SCIP = "CP-SAT", "SCIP"
MOST_PLACES = 20_000
"""The most choices times GPUs for which the solvers are asked."""
A_PLACE = 30e-6
"""Seconds to state one choice on one GPU."""
WAKING = 0.25
"""The share of the time in which CP-SAT may look for a placement with all models awake."""
FINDING = 0.5
"""The share of the time that CP-SAT may take; SCIP gets the rest."""
SMALLEST, LARGEST = 1e-100, 1e100
"""The range of numbers, other than 0, in which floats are safe from underflow and overflow."""


@dataclass(frozen=True)
class Agreement:
    """The joint answer of two solvers about a problem and a target.

    Parameters
    ----------
    outcome
        NONE if both say that there is no placement, FOUND if `verify` has confirmed one.
    placement
        The GPUs of every model.
    cost_bound
        Both say that no placement within the target has a lower cost of sleeping; infinite if
        there is none.
    alarm
        The false claim of one of them, if there was one.
    """

    outcome: Outcome
    placement: Places
    cost_bound: float
    alarm: Alarm | None = None


NOTHING = Agreement(Outcome.UNDECIDED, {}, 0.0)


def small_enough(problem: Problem) -> bool:
    """Return whether the solvers can be asked: their programs grow with choices times GPUs."""
    return places(problem) <= MOST_PLACES


def places(problem: Problem) -> int:
    """Return how many choices times GPUs there are."""
    choices = sum(m.most_replicas - m.replicas + 2 for m in problem.models)
    return choices * len(problem.gpus)


def search_all(
    problem: Problem,
    target: float,
    deadline: Deadline,
    workers: int = 2,
    known: float = inf,
) -> Agreement:
    """Search for a placement with no pressure above the target and the least cost of sleeping.

    Parameters
    ----------
    problem, target
        A placement counts if `verify` accepts it and its pressure is at most the target. At an
        infinite target only memory counts.
    deadline, workers
        When it ends, building the programs included, and the number of threads.
    known
        The pressure of a known placement, infinite if there is none. If the target is at or above
        it, "none" is an alarm.
    """
    if A_PLACE * places(problem) > deadline.left / 2 or not _ordinary(problem, target):
        return NOTHING
    search = _Search(problem, min(target, highest_pressure(problem)), workers, known)
    try:
        return search.run(deadline)
    except TimeOverError:
        return search.given_up


class _Search:
    """One question to both solvers."""

    def __init__(self, problem: Problem, target: float, workers: int, known: float) -> None:
        self._problem, self._target, self._workers = problem, target, workers
        self._known = known if known < inf and target >= known else None
        self._choices = choices_of(problem)
        self._robust = robust_target(problem, self._choices, target)
        self._alarm: Alarm | None = None

    @property
    def given_up(self) -> Agreement:
        """The answer when time is over: nothing but a possible alarm."""
        return replace(NOTHING, alarm=self._alarm)

    def run(self, deadline: Deadline) -> Agreement:
        """Ask CP-SAT and, where that is not enough, SCIP."""
        if self._problem.sleepers and (
            awake := self._all_awake(deadline.part(deadline.left * WAKING))
        ):
            return Agreement(Outcome.FOUND, awake, 0.0)
        first = self._first(self._problem, deadline.part(deadline.left * FINDING))
        if self._cost(first) == 0.0:
            return Agreement(Outcome.FOUND, first.placement, 0.0)
        self._suspect(CP_SAT, first)
        second = self._second(deadline, self._cost(first))
        if first.outcome is Outcome.UNDECIDED and second.outcome is Outcome.NONE:
            first = self._first(self._problem, deadline)
            self._suspect(CP_SAT, first)
        return self._agreed(first, second)

    def _all_awake(self, deadline: Deadline) -> Places | None:
        """Return a placement of all models, if CP-SAT finds one: then no model needs to sleep."""
        awake = self._problem.awake(())
        return self._first(awake, deadline).placement or None if awake else None

    def _first(self, problem: Problem, deadline: Deadline) -> Finding:
        try:
            program = CpSatProgram(problem, self._choices, self._robust, deadline, self._workers)
        except TimeOverError:
            return UNDECIDED
        return search_exactly(program, problem, self._choices, self._target, deadline)

    def _second(self, deadline: Deadline, below: float) -> Finding:
        try:
            program = ScipProgram(self._problem, self._choices, self._robust, deadline, below)
        except (TimeOverError, ScipMissingError):
            return UNDECIDED
        reply = search_exactly(program, self._problem, self._choices, self._target, deadline)
        if below == inf:
            self._suspect(SCIP, reply)
        elif reply.outcome is Outcome.NONE:  # none cheaper than what is found
            return Finding(Outcome.UNDECIDED, {}, max(below - self._smallest_cost, 0.0))
        return reply

    def _agreed(self, first: Finding, second: Finding) -> Agreement:
        """Accept placements that were found, and claims on which both agree."""
        found = min(
            (reply for reply in (first, second) if reply.outcome is Outcome.FOUND),
            key=self._cost,
            default=None,
        )
        bound = min(first.cost_bound, second.cost_bound)
        if found is None:
            none = first.outcome is Outcome.NONE and second.outcome is Outcome.NONE
            if none and self._alarm is None:
                return Agreement(Outcome.NONE, {}, inf)
            return Agreement(Outcome.UNDECIDED, {}, 0.0 if self._alarm else bound, self._alarm)
        for solver, reply in ((CP_SAT, first), (SCIP, second)):
            if reply.cost_bound > self._cost(found) + self._smallest_cost:
                pressure = verify(self._problem, found.placement).pressure
                self._alarm = Alarm(solver, self._target, pressure)
        return Agreement(Outcome.FOUND, found.placement, 0.0 if self._alarm else bound, self._alarm)

    def _suspect(self, solver: str, reply: Finding) -> None:
        """Raise an alarm if a solver denies a placement that is known."""
        if reply.outcome is Outcome.NONE and self._known is not None:
            self._alarm = self._alarm or Alarm(solver, self._target, self._known)

    def _cost(self, reply: Finding) -> float:
        """Return the cost of a reply, infinite if it has no placement."""
        found = reply.outcome is Outcome.FOUND
        return cost_of(self._problem, reply.placement) if found else inf

    @property
    def _smallest_cost(self) -> float:
        """The largest difference at which costs count as equal."""
        return SAME_COST / 4 * sum(model.sleep_cost or 0.0 for model in self._problem.sleepers)


def _ordinary(problem: Problem, target: float) -> bool:
    """Return whether no number is too large or too small for floats."""
    return not target < 0.0 and all(
        number in (0.0, inf) or SMALLEST <= number <= LARGEST
        for number in (target, *_numbers(problem))
    )


def _numbers(problem: Problem) -> Iterable[float]:
    for gpu in problem.gpus:
        yield gpu.memory_gb
        yield from (limit for _, limit in gpu.limits)
    for model in problem.models:
        yield from (model.size_gb, model.sleep_cost or 0.0, *model.load)
        for _, by_kind in (*model.uses, *model.shared_uses):
            yield from (amount for _, amount in by_kind)
