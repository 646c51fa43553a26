"""Bounds on the worst ratio of latency to target, for any placement.

At a ratio R only some groups of models may share a GPU. If multipliers show that no such groups
take all models, R is out of reach. The targets approach the best known value as in
`bound_search.py`. Where the linear program proves no more and the problem is small, a search over
groups decides.
"""

from collections.abc import Callable, Iterator, Sequence
from math import exp, inf, isinf, sqrt

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.latency.companies import GpuCompany, choices_of, companies_of
from colocate.problem.checker.latency.cover import MOST_ITEMS, cover_exists
from colocate.problem.checker.latency.engines import must_keep
from colocate.problem.checker.latency.group_weights import homeless_owner, overweight
from colocate.problem.checker.latency.ratio_bound import ratio_alone
from colocate.problem.problem import Problem
from colocate.problem.tolerance import JUST_BELOW, PROVEN, SAFE
from colocate.solver.deadline import Deadline
from colocate.solver.plan import gap_between
from colocate.solver.prove.latency.columns import GroupColumns
from colocate.solver.prove.latency.program import Multipliers
from colocate.solver.prove.latency.relaxed import KnapsackColumns

Companies = Sequence[GpuCompany]
CLOSE = 1.1
"""The proven and the failed gap have met when their ratio is below this."""
FEW_ITEMS = 24
"""Up to so many choices, groups are searched at once."""
MOST_IN_GROUPS = 512
"""Up to so many choices, groups are searched at all."""
FEW_A_GPU = 3
"""Up to so many choices a GPU, groups are small, so they take less time than knapsacks and prove
more: all that shares a GPU is known, in all time windows."""
LEAST_GAP = 1e-4
"""Smaller gaps are left to the search over groups."""
LEAST_GAP_OF_MANY, FIRST_GAP_OF_MANY = 0.01, 0.1
"""The same for knapsacks, and the gap that is tried first with them."""
FIRST_GAP_OF_GROUPS = 0.03
"""The gap that is tried first with groups of many choices: where it is too small, the linear
program soon shows that."""
FIRST_GAP_OF_WINDOWS = 0.3
"""The gap that is tried first with knapsacks where there are several time windows: these know one
of them alone."""
MOST_GROUPS = 5_000
"""Groups of a kind of GPU that the search over them takes; the checker takes more."""
PATIENCE = 0.35
"""Share of the time left that one target may take."""
SEARCHING = 0.4
"""The same for a search over groups: the checker repeats it, which takes as long again."""
REPEATING = 0.5
"""The same for the check of a proof, which the checker repeats at the end."""
FIRST_PATIENCE = 0.9
"""The same for the first target with knapsacks: lower ones would take as long."""
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


def busiest_window(problem: Problem) -> int:
    """Return the time window in which all models together have most to do."""
    if problem.windows == 1:
        return 0
    work = [0.0] * problem.windows
    for model in problem.models:
        requests = model.requests
        assert requests is not None, "bounds on ratios need requests"
        steps = [e.prefill + requests.decode_tokens * e.step for _, e in requests.engines]
        for window in range(problem.windows):
            work[window] += 1.0 - exp(-requests.rate_in(window) * min(steps))
    return max(range(problem.windows), key=work.__getitem__)


class _Way:
    """One way to prove, and the lowest ratio at which it failed.

    Parameters
    ----------
    proof_at
        Returns a proof that a ratio is out of reach, or None.
    first_gap
        The gap to the best known value that is tried first.
    least_gap
        Smaller gaps are not tried.
    """

    def __init__(
        self, proof_at: Callable[[float], Certificate | None], first_gap: float, least_gap: float
    ) -> None:
        self.proof_at = proof_at
        self.failed = inf
        self._first_gap = first_gap
        self._least_gap = least_gap

    def first_target(self, top: float, bound: float, known: bool) -> float | None:
        """Return the first ratio to try.

        Parameters
        ----------
        top
            No higher ratio is tried.
        bound
            What is proven.
        known
            Whether a placement is known.
        """
        start = top / (1.0 + self._first_gap)
        return start if bound < start < self.failed else self.next_target(top, bound, known)

    def next_target(self, top: float, bound: float, known: bool) -> float | None:
        """Return a ratio between those that are proven and that failed; None if they are close.

        Parameters
        ----------
        top, bound, known
            As `first_target` takes them.
        """
        failed = max(gap_between(top, self.failed), self._least_gap if known else ROUGH_GAP)
        proven = gap_between(top, bound)
        if proven <= failed * CLOSE or failed > FARTHEST:
            return None
        gap = sqrt(failed * proven) if proven < inf else failed * UNKNOWN_VALUE
        return top / (1.0 + gap)


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
        self._window = busiest_window(problem)
        self._columns = GroupColumns(self._choices)
        self._relaxed = KnapsackColumns(self._choices)
        self._begun = False
        self._bound = 0.0
        self.checking = 0.0
        """Seconds that the checker takes for the last proof."""
        self._ways = list(self._ways_to_prove())

    def _ways_to_prove(self) -> Iterator[_Way]:
        """Yield how to prove, the quick way first."""
        choices = len(self._choices)
        if choices > FEW_ITEMS:
            if choices <= min(FEW_A_GPU * len(self._problem.gpus), MOST_IN_GROUPS):
                yield _Way(self._by_groups, FIRST_GAP_OF_GROUPS, LEAST_GAP_OF_MANY)
            several = self._problem.windows > 1
            first = FIRST_GAP_OF_WINDOWS if several else FIRST_GAP_OF_MANY
            yield _Way(self._by_knapsacks, first, LEAST_GAP_OF_MANY)
        if choices <= MOST_IN_GROUPS:
            yield _Way(self._by_groups_or_search, 0.0, LEAST_GAP)
        if choices <= MOST_ITEMS:
            yield _Way(self._by_search, 0.0, LEAST_GAP)

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
        for way in self._ways:
            target = way.first_target(top, self._bound, value < inf)
            while target is not None and not self._over:
                proof = way.proof_at(target)
                if proof is not None:
                    self._bound = target
                    yield proof
                else:
                    way.failed = target
                target = way.next_target(top, self._bound, value < inf)

    def at(self, ratio: float) -> Certificate | None:
        """Return a proof that a ratio is out of reach; None if none is found."""
        proofs = (way.proof_at(ratio) for way in self._ways)
        return next((proof for proof in proofs if proof is not None), None)

    def _by_knapsacks(self, ratio: float) -> Certificate | None:
        patience = FIRST_PATIENCE if self._relaxed.unproven else PATIENCE
        return self._by_multipliers(ratio, self._relaxed.prove, self._part(patience))

    def _by_groups(self, ratio: float) -> Certificate | None:
        return self._by_multipliers(ratio, self._columns.prove, self._part(PATIENCE))

    def _by_groups_or_search(self, ratio: float) -> Certificate | None:
        return self._by_groups(ratio) or self._by_search(ratio)

    def _part(self, patience: float) -> Deadline:
        return self._deadline.part(max(patience * self._left, 0.0))

    @property
    def _left(self) -> float:
        """Seconds that are left, less those that the checker takes for the last proof."""
        return self._deadline.left - self.checking

    @property
    def _over(self) -> bool:
        return self._left <= 0.0 or self._deadline.over

    def _by_multipliers(
        self,
        ratio: float,
        prove: Callable[[Companies, Deadline], Multipliers | None],
        time: Deadline,
    ) -> Certificate | None:
        begun = self._deadline.seconds
        companies = self._companies(ratio)
        making = self._deadline.seconds - begun
        if homeless_owner(self._choices, companies) is not None:
            self.checking = making
            return self._certificate(Proof.GROUPS, ratio, ((0,) * len(self._choices), ()))
        with time.watched():
            found = prove(companies, time)
        if found is None or not self._is_repeated(companies, found, making):
            return None
        return self._certificate(Proof.GROUPS, ratio, found)

    def _is_repeated(self, companies: Companies, found: Multipliers, making: float) -> bool:
        """Return whether a proof leaves the checker the time that it takes, and note how long.

        The checker knows nothing of the search, so it may take several times as long.

        Parameters
        ----------
        companies, found
            What is possible at the ratio, and the multipliers.
        making
            Seconds that it took to find out what is possible, and to search.
        """
        begun, time = self._deadline.seconds, self._part(REPEATING)
        with time.watched():
            refuted = overweight(companies, *found, go=time.go) is not None
        checking = making + self._deadline.seconds - begun
        if refuted or checking > self._deadline.left:
            return False
        self.checking = checking
        return True

    def _by_search(self, ratio: float) -> Certificate | None:
        """Try whether any groups take all models."""
        too_many = len(self._choices) > MOST_ITEMS
        if too_many or self._problem.open_replicas or self._over:
            return None
        begun = self._deadline.seconds
        companies = self._companies(ratio)
        time = self._part(SEARCHING)
        with time.watched():
            found = self._columns.best(companies, time)
            if found is None:
                return None
            exists = cover_exists(self._choices, companies, *found, MOST_GROUPS, go=time.go)
        making = self._deadline.seconds - begun
        if exists is not False or not self._is_repeated(companies, found, making):
            return None
        return self._certificate(Proof.COVER, ratio, found)

    def _companies(self, ratio: float) -> Companies:
        return companies_of(self._problem, self._choices, ratio, self._binding, self._window)

    def _certificate(self, proof: Proof, ratio: float, found: Multipliers) -> Certificate:
        multipliers, carried = found
        return Certificate(
            proof,
            ratio,
            self._window,
            multipliers=multipliers,
            carried=carried,
            binding=self._binding,
        )
