"""Check bounds within a budget of moved bytes: in exact arithmetic, with no code of the solver.

The value of some models alone on a GPU comes from the independent checker of placements, which is
asked about that GPU and these models only. Models with several parts are left out, which can only
lower the values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import inf

from colocate.problem.checker.tolerance import ROUNDING, SLACK
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.verify import verify

Places = Mapping[str, Sequence[str]]
MOST_SETS = 20_000
"""Sets of models that may be tried on one GPU."""
MOST_NODES = 100_000
"""Placements of single models that may be tried."""


class GroupVerdicts:
    """The exact values of groups of models, each checked once.

    Parameters
    ----------
    problem
        The fleet.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = replace(
            problem, apart=(), together=(), most_models=None, most_pressure=None
        )
        self._known: dict[tuple[object, frozenset[str]], float] = {}

    def value(self, gpu: Gpu, models: Sequence[Model]) -> float:
        """Return the value of a GPU with some models; infinite if they break a rule there."""
        if not models:
            return 0.0
        sort = (gpu.memory_gb, gpu.kind, gpu.limits)
        key = (sort, frozenset(model.name for model in models))
        if key not in self._known:
            free = tuple(model.changed(only=(), never=(), sleep_cost=None) for model in models)
            alone = replace(self._problem, gpus=(gpu,), models=free)
            verdict = verify(alone, {model.name: [gpu.name] for model in free})
            found = verdict.ratio if alone.objective == "latency" else verdict.pressure
            self._known[key] = found if verdict.valid else inf
        return self._known[key]


def least_moved_gb(
    problem: Problem,
    old: Places,
    weights_gb: Mapping[str, float],
    bound: float,
    checker: GroupVerdicts | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Fraction | None:
    """Return the least GB that a placement below a bound moves; None if that takes too long.

    Parameters
    ----------
    problem
        The fleet as it is now, with fixed numbers of replicas and all models awake.
    old
        Where models are.
    weights_gb
        What each weighs.
    bound
        What the value must be below.
    checker
        The values of groups of this problem that were checked already.
    over
        Says when it has taken too long.
    """
    checker, total = checker or GroupVerdicts(problem), Fraction(0)
    gpus = {gpu.name: gpu for gpu in problem.gpus}
    here: dict[str, list[Model]] = {}
    for model in problem.models:
        engines = len(old.get(model.name, ())) // model.shards
        there = [gpu for gpu in old.get(model.name, ()) if gpu in gpus]
        if model.replicas * model.shards > 1:
            lost = max(model.replicas - engines, 0)
            total += lost * Fraction(weights_gb[model.name])
        elif there:
            here.setdefault(there[0], []).append(model)
        else:
            total += Fraction(weights_gb[model.name])
    for gpu, models in here.items():
        lightest = _lightest(checker, gpus[gpu], models, weights_gb, bound, over)
        if lightest is None:
            return None
        total += lightest
    return total


def _lightest(
    checker: GroupVerdicts,
    gpu: Gpu,
    models: Sequence[Model],
    weights_gb: Mapping[str, float],
    bound: float,
    over: Callable[[], bool],
) -> Fraction | None:
    """Return the least weight that must leave a GPU for a value below a bound."""
    if over():
        return None
    if checker.value(gpu, models) < bound:
        return Fraction(0)
    if 2 ** len(models) > MOST_SETS:
        return None
    sets = [
        (sum((Fraction(weights_gb[m.name]) for m in gone), Fraction(0)), gone)
        for number in range(1, len(models) + 1)
        for gone in combinations(models, number)
    ]
    for weight, gone in sorted(sets, key=lambda each: each[0]):
        names = {model.name for model in gone}
        if over():
            return None
        if checker.value(gpu, [m for m in models if m.name not in names]) < bound:
            return weight
    return None


def exceeds_budget(least_gb: Fraction | None, budget_gb: float) -> bool:
    """Return whether what must be moved exceeds a budget by more than rounding."""
    return least_gb is not None and least_gb > Fraction(budget_gb) * (1 + ROUNDING)


def none_is_below(
    problem: Problem,
    old: Places,
    weights_gb: Mapping[str, float],
    bound: float,
    budget_gb: float,
) -> bool:
    """Return whether every placement within a budget was tried, and none is below a bound.

    Parameters
    ----------
    problem, old, weights_gb
        As `least_moved_gb` takes them; all models have one part.
    bound, budget_gb
        What no placement that moves so little is below.
    """
    if any(model.replicas * model.shards > 1 for model in problem.models):
        return False
    order = sorted(problem.models, key=lambda model: (-model.size_gb, model.name))
    search = _Exhaustion(problem, order, old, weights_gb, bound, budget_gb)
    return search.finds_none(0, Fraction(0)) is True


class _Exhaustion:
    """Puts one model after the other on every GPU."""

    def __init__(
        self,
        problem: Problem,
        order: Sequence[Model],
        old: Places,
        weights_gb: Mapping[str, float],
        bound: float,
        budget_gb: float,
    ) -> None:
        self._problem, self._order, self._old, self._weights = problem, order, old, weights_gb
        self._bound = bound * (1 - float(SLACK))
        self._budget = Fraction(budget_gb) * (1 + ROUNDING)
        self._checker = GroupVerdicts(problem)
        self._on: dict[str, list[Model]] = {gpu.name: [] for gpu in problem.gpus}
        self._nodes = 0

    def finds_none(self, depth: int, moved: Fraction) -> bool | None:
        """Return whether no way to put the rest stays below the bound; None if time is up."""
        if depth == len(self._order):
            return False
        model = self._order[depth]
        for gpu in self._problem.gpus:
            at_home = gpu.name in self._old.get(model.name, ())
            after = moved + (0 if at_home else Fraction(self._weights[model.name]))
            if after > self._budget or not model.may_be_on(gpu):
                continue
            self._nodes += 1
            if self._nodes > MOST_NODES:
                return None
            here = self._on[gpu.name]
            here.append(model)
            low = self._checker.value(gpu, here) < self._bound
            none = self.finds_none(depth + 1, after) if low else True
            here.pop()
            if none is not True:
                return none
        return True
