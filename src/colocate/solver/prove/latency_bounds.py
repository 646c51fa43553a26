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
from colocate.solver.prove.latency_columns import GroupColumns, Multipliers

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
"""Where no placement is known, targets go up to so many times the bound by one model."""


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
    first = bound_alone(problem, binding)
    if first is not None:
        yield first
    if first is not None and (isinf(first.bound) or gap_between(value, first.bound) <= PROVEN):
        return
    yield from _GroupBounds(problem, deadline, binding).towards(
        value, first.bound if first is not None else 0.0
    )


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
    return _GroupBounds(problem, deadline, True).at(1.0 + 2.0 * PROVEN)


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


class _GroupBounds:
    """Proofs over groups, at one ratio after the other.

    Parameters
    ----------
    problem
        The problem.
    deadline
        When to end.
    binding
        Whether only targets count that a placement must keep.
    """

    def __init__(self, problem: Problem, deadline: Deadline, binding: bool) -> None:
        self._problem = problem
        self._deadline = deadline
        self._binding = binding
        self._choices = choices_of(problem)
        self._columns = GroupColumns(self._choices)

    def towards(self, value: float, bound: float) -> Iterator[Certificate]:
        """Yield ever higher bounds.

        Parameters
        ----------
        value
            The best ratio known.
        bound
            What is proven.
        """
        known = value < inf
        top = value * JUST_BELOW if known else max(bound, 1.0) * UNKNOWN_VALUE
        failed, proven = 0.0, gap_between(top, bound)
        small = len(self._choices) <= MOST_ITEMS
        finest = LEAST_GAP if small else LEAST_GAP_OF_MANY
        start = top if small else top / (1.0 + FIRST_GAP_OF_MANY)
        target: float | None = start if start > bound else top if top > bound else None
        while target is not None and not self._deadline.over:
            proof = self.at(target)
            if proof is not None:
                proven = gap_between(top, target)
                yield proof
            else:
                failed = gap_between(top, target)
            target = _next_target(top, proven, max(failed, finest if known else ROUGH_GAP))

    def at(self, ratio: float) -> Certificate | None:
        """Return a proof that a ratio is out of reach; None if none is found."""
        return self._by_multipliers(ratio) or self._by_search(ratio)

    def _by_multipliers(self, ratio: float) -> Certificate | None:
        companies = companies_of(self._problem, self._choices, ratio, self._binding)
        if homeless_owner(self._choices, companies) is not None:
            found: Multipliers | None = (0,) * len(self._choices), ()
        else:
            share = max(PATIENCE * self._deadline.left, 0.0)
            found = self._columns.prove(companies, self._deadline.part(share))
        return None if found is None else self._certificate(Proof.GROUPS, ratio, found)

    def _by_search(self, ratio: float) -> Certificate | None:
        """Try whether any groups take all models, where these are few."""
        if len(self._choices) > MOST_ITEMS or self._problem.open_replicas or self._deadline.over:
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


def _next_target(top: float, proven: float, failed: float) -> float | None:
    """Return the next target; its gap is between the failed one, above 0, and the proven one."""
    if proven <= 0.0:
        return None
    if proven <= failed * CLOSE:
        return None
    gap = sqrt(failed * min(proven, UNKNOWN_VALUE))
    return top / (1.0 + gap)
