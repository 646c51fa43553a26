"""Bounds on the worst ratio of latency to target, for any placement.

At a ratio R only some groups of models may share a GPU. If multipliers show that no such groups
take all models, R is out of reach. The targets approach the best known value as in
`bound_search.py`. Where the linear program proves no more and the problem is small, a search over
groups decides.
"""

from collections.abc import Iterator
from math import inf, isinf, sqrt

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.companies import choices_of, companies_of
from colocate.problem.checker.cover import MOST_ITEMS, cover_exists
from colocate.problem.checker.engines import must_keep
from colocate.problem.checker.group_weights import homeless_owner
from colocate.problem.checker.ratio_bound import ratio_alone
from colocate.problem.problem import Problem
from colocate.problem.tolerance import JUST_BELOW, PROVEN, SAFE
from colocate.solver.deadline import Deadline
from colocate.solver.plan import gap_between
from colocate.solver.prove.latency.columns import GroupColumns
from colocate.solver.prove.latency.program import Multipliers
from colocate.solver.prove.latency.relaxed import KnapsackColumns

CLOSE = 1.1
"""The proven and the failed gap have met when their ratio is below this."""
LEAST_GAP = 1e-4
"""Smaller gaps are left to the search over groups."""
LEAST_GAP_OF_MANY, FIRST_GAP_OF_MANY = 0.01, 0.1
"""The same for fleets that are too large for that search, and the gap that is tried first there."""
PATIENCE = 0.35
"""Share of the time left that one target may take."""
ROUGH_GAP = 0.1
"""Smaller gaps are not tried where no placement is known."""
UNKNOWN_VALUE = 16.0
"""Where no placement is known, targets go up to so many times the bound by one model. Where no
bound is known, the gap rises so many times with each target that fails."""
FARTHEST = 1e6
"""Larger gaps are not tried."""


def latency_bound(
    problem: Problem, deadline: Deadline, value: float, binding: bool = False
) -> Certificate | None:
    """Return the best bound on the worst ratio that is found in time; None if there is none.

    Parameters
    ----------
    problem
        The problem of the models that are awake, which states what they are asked.
    deadline
        When to end.
    value
        The best ratio known; infinite if no placement is known.
    binding
        Whether only targets count that a placement must keep.
    """
    best = None
    for best in latency_bounds(problem, deadline, value, binding):
        if gap_between(value, best.bound) <= PROVEN:
            break
    return best


def latency_bounds(
    problem: Problem, deadline: Deadline, value: float, binding: bool = False
) -> Iterator[Certificate]:
    """Yield ever higher bounds on the worst ratio.

    Parameters
    ----------
    problem, deadline, value, binding
        As `latency_bound` takes them.
    """
    return RatioBounds(problem, deadline, binding).towards(value)


def keeps_no_target(problem: Problem, deadline: Deadline) -> Certificate | None:
    """Return a proof that no placement keeps all targets that it must; None if none is found.

    Parameters
    ----------
    problem
        The problem of the models that are awake.
    deadline
        When to end.
    """
    if not problem.limits_latency:
        return None
    first = bound_alone(problem, True)
    if first is not None and first.bound > 1.0 + 2.0 * PROVEN:
        return first
    return RatioBounds(problem, deadline, True).at(1.0 + 2.0 * PROVEN)


def bound_alone(problem: Problem, binding: bool = False) -> Certificate | None:
    """Return the bound by the model that is slowest for its target, even alone."""
    counted = [model for model in problem.models if not binding or must_keep(model)]
    ratios = {model.name: ratio_alone(problem, model) for model in counted}
    if not ratios or max(ratios.values()) <= 0.0:
        return None
    name = max(ratios, key=ratios.__getitem__)
    bound = ratios[name]
    if isinf(bound):
        return Certificate(Proof.ALONE, inf, model=name, finite=True, binding=binding)
    return Certificate(Proof.ALONE, bound * SAFE, model=name, binding=binding)


class RatioBounds:
    """Bounds by one model and over groups; what was proven and what failed is remembered.

    Parameters
    ----------
    problem
        The problem.
    deadline
        When to end.
    binding
        Whether only targets count that a placement must keep.
    """

    def __init__(self, problem: Problem, deadline: Deadline, binding: bool = False) -> None:
        self._problem = problem
        self._deadline = deadline
        self._binding = binding
        self._choices = choices_of(problem)
        self._columns = GroupColumns(self._choices)
        self._relaxed = KnapsackColumns(self._choices)
        self._begun = False
        self._bound, self._failed = 0.0, inf

    def towards(self, value: float) -> Iterator[Certificate]:
        """Yield ever higher bounds, up to a ratio that is known to be in reach.

        Parameters
        ----------
        value
            The best ratio known; infinite if no placement is known.
        """
        first = None if self._begun else bound_alone(self._problem, self._binding)
        self._begun = True
        if first is not None:
            self._bound = first.bound
            yield first
        if isinf(self._bound) or gap_between(value, self._bound) <= PROVEN:
            return
        top = value * JUST_BELOW if value < inf else max(self._bound, 1.0) * UNKNOWN_VALUE
        target = self._first_target(top)
        while target is not None and not self._deadline.over:
            proof = self.at(target)
            if proof is not None:
                self._bound = target
                yield proof
            else:
                self._failed = target
            target = self._next_target(top, value < inf)

    def _first_target(self, top: float) -> float | None:
        start = top if self._few else top / (1.0 + FIRST_GAP_OF_MANY)
        return start if self._bound < start < self._failed else self._next_target(top, True)

    def _next_target(self, top: float, known: bool) -> float | None:
        """Return a ratio between those that are proven and that failed; None if they are close."""
        finest = (LEAST_GAP if self._few else LEAST_GAP_OF_MANY) if known else ROUGH_GAP
        failed = max(gap_between(top, self._failed), finest)
        proven = gap_between(top, self._bound)
        if proven <= failed * CLOSE or failed > FARTHEST:
            return None
        gap = sqrt(failed * proven) if proven < inf else failed * UNKNOWN_VALUE
        return top / (1.0 + gap)

    @property
    def _few(self) -> bool:
        """Whether there are so few choices that groups can be searched."""
        return len(self._choices) <= MOST_ITEMS

    def at(self, ratio: float) -> Certificate | None:
        """Return a proof that a ratio is out of reach; None if none is found."""
        return self._by_multipliers(ratio) or self._by_search(ratio)

    def _by_multipliers(self, ratio: float) -> Certificate | None:
        companies = companies_of(self._problem, self._choices, ratio, self._binding)
        if homeless_owner(self._choices, companies) is not None:
            found: Multipliers | None = (0,) * len(self._choices), ()
        else:
            share = max(PATIENCE * self._deadline.left, 0.0)
            columns = self._columns if self._few else self._relaxed
            found = columns.prove(companies, self._deadline.part(share))
        return None if found is None else self._certificate(Proof.GROUPS, ratio, found)

    def _by_search(self, ratio: float) -> Certificate | None:
        """Try whether any groups take all models, where these are few."""
        if not self._few or self._problem.open_replicas or self._deadline.over:
            return None
        companies = companies_of(self._problem, self._choices, ratio, self._binding)
        found = self._columns.best(companies, self._deadline)
        if found is None or cover_exists(self._choices, companies, *found) is not False:
            return None
        return self._certificate(Proof.COVER, ratio, found)

    def _certificate(self, proof: Proof, ratio: float, found: Multipliers) -> Certificate:
        multipliers, carried = found
        return Certificate(
            proof, ratio, multipliers=multipliers, carried=carried, binding=self._binding
        )
