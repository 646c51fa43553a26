"""The least number of GPUs for latency targets, from engines alone.

Engines alone are as rarely busy as they can be. Let every turn of an engine
wait for at least e(j) beside engine j, whoever waits, and let D(i) be the longest wait at which
engine i keeps its targets. On a GPU that keeps them, the waits e of all engines but i add up to at
most D(i), so those of all add up to at most D(i) + e(i), whichever i is. Hence the shares
e(i) / (D(i) + e(i)) add up to at most 1 on every GPU, and all of them together to at most the
number of GPUs. This is the fractional bound of bin packing with fragile objects.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from colocate.advise.capacity.requirements import Need
from colocate.advise.remedies.lone_engines import counts, fewest_replicas
from colocate.latency.law import (
    STATE_COLUMNS,
    delay_by,
    ratio_of,
    settle_one,
    step_and_turns,
    work_and_turns,
)
from colocate.latency.table import engine_row
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.sharing import COSTS
from colocate.problem.tolerance import LONG_SUM, OVER_LIMIT

MOST_ENGINES = 200
"""Models up to which all pairs are looked at: the time grows with their square."""
MOST_WINDOWS = 8
"""Time windows that are looked at, the busiest ones: each takes as long as a problem of its own."""
LONGEST_WAIT = 1e3
"""Seconds that a turn may wait; an engine that bears more bears any number of neighbours."""
HALVINGS = 60
"""Steps to find the longest wait that an engine bears: as many as there are bits in a float."""


def latency_needs(problem: Problem, kinds: int) -> list[Need]:
    """Return the number of GPUs that the targets of a problem need at least.

    Parameters
    ----------
    problem
        The models, all awake, and GPUs of every kind.
    kinds
        How many kinds of GPU there are.
    """
    if not problem.limits_latency or len(problem.models) > MOST_ENGINES:
        return []
    least = max(_least_gpus(problem.in_window(window)) for window in _busiest(problem))
    if least <= 0:
        return []
    certain = least * (1 - Fraction(LONG_SUM))
    return [Need((Fraction(1),) * kinds, certain, "GPUs", "for its latency targets")]


def _busiest(problem: Problem) -> list[int]:
    """Return the time windows with most requests: what one of them needs, all of them need."""
    total = [
        sum(m.requests.rate_in(t) for m in problem.models if m.requests)
        for t in range(problem.windows)
    ]
    return sorted(range(problem.windows), key=lambda t: -total[t])[:MOST_WINDOWS]


def _least_gpus(problem: Problem) -> Fraction:
    """Return how many GPUs a problem with one window needs at least."""
    by_gpu = [_Engines(problem, gpu) for gpu in _one_of_each(problem.gpus)]
    return max(
        sum(
            (
                model.parts * Fraction(min(shares[number] for shares in of_turn))
                for number, model in enumerate(problem.models)
            ),
            Fraction(),
        )
        for of_turn in zip(*(engines.shares() for engines in by_gpu), strict=True)
    )


def replica_needs(problem: Problem, kind_of: Sequence[int], queues: bool) -> list[Need]:
    """Return how many GPUs the replicas of models need that may have any number of them.

    Parameters
    ----------
    problem
        The models, all awake, and GPUs of every kind; none is closed to all GPUs.
    kind_of
        The number of the kind of every GPU.
    queues
        Whether models without a target must keep up with their requests.
    """
    needs = []
    for model in problem.models:
        if model.open_replicas and counts(model, queues):
            gpus = zip(problem.gpus, kind_of, strict=True)
            kinds = {kind for gpu, kind in gpus if model.may_be_on(gpu)}
            amounts = tuple(Fraction(kind in kinds) for kind in range(max(kind_of) + 1))
            fewest = fewest_replicas(problem, model) or model.replicas
            if fewest > model.replicas:
                purpose = f"for as many replicas of {model.name} as keep up with its requests"
                needs.append(Need(amounts, Fraction(fewest * model.shards), "GPUs", purpose))
    return needs


def _one_of_each(gpus: Sequence[Gpu]) -> list[Gpu]:
    return list({(gpu.kind, gpu.memory_gb): gpu for gpu in gpus}.values())


class _Engines:
    """The engines of a problem, each alone on a GPU like one of its own."""

    def __init__(self, problem: Problem, gpu: Gpu) -> None:
        self._models = [model.part() for model in problem.models]
        self._sharing = np.array(COSTS[problem.sharing])
        self._rows = np.array([_row(model, gpu) for model in self._models])
        self._slots = [_slots(model.part(), gpu, model.shards) for model in problem.models]
        self._state = np.zeros((len(self._models), STATE_COLUMNS))
        for number in range(len(self._models)):
            self._settle(number, 0.0, 0.0)
        self._bound = [n for n, model in enumerate(problem.models) if _is_bound(model)]

    def shares(self) -> tuple[list[float], list[float]]:
        """Return the shares of a GPU that engines take by waits of steps, and of prefills.

        A model without a target takes none, and neither does one whose replicas may get ever fewer
        requests.
        """
        steps = [step_and_turns(self._rows, n, self._state, n, self._sharing) for n in self._bound]
        work = [work_and_turns(self._rows, n, self._sharing) for n in self._bound]
        return self._shares(steps, 1.0, 0.0), self._shares(work, 0.0, 1.0)

    def _shares(
        self, work: Sequence[tuple[float, float]], of_step: float, of_work: float
    ) -> list[float]:
        """Return the shares by the waits of some work.

        Parameters
        ----------
        work
            The work and its turns, for each engine that has a target.
        of_step, of_work
            1 for the work that waits, 0 for the other.
        """
        shares = [0.0] * len(self._models)
        for number in self._bound:
            others = (w for other, w in zip(self._bound, work, strict=True) if other != number)
            waits = (delay_by(self._state, number, *other, self._sharing) for other in others)
            wait = min(waits, default=0.0)
            if wait > 0.0:
                longest = self._longest_wait(number, of_step, of_work)
                shares[number] = wait / (longest + wait)
        return shares

    def _longest_wait(self, number: int, of_step: float, of_work: float) -> float:
        """Return the longest wait of a turn with which an engine keeps its targets."""
        low, high = 0.0, LONGEST_WAIT
        if self._ratio(number, high * of_step, high * of_work) <= 1.0 + OVER_LIMIT:
            return inf
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if self._ratio(number, middle * of_step, middle * of_work) <= 1.0 + OVER_LIMIT:
                low = middle
            else:
                high = middle
        return high

    def _ratio(self, number: int, for_step: float, for_work: float) -> float:
        before = self._state[number].copy()
        self._settle(number, for_step, for_work)
        found = ratio_of(self._rows, number, self._state, number, self._slots[number])
        self._state[number] = before
        return float(found)

    def _settle(self, number: int, for_step: float, for_work: float) -> None:
        settle_one(self._rows, number, for_step, for_work, self._sharing, self._state, number)


def _is_bound(model: Model) -> bool:
    """Return whether a model must keep targets with a known number of replicas."""
    bound = model.requests is not None and model.requests.binding and model.requests.has_target
    return bound and not model.open_replicas


def _row(model: Model, gpu: Gpu) -> list[float]:
    assert model.requests is not None, "the problem has requests"
    engine = model.requests.engine_on(gpu.kind)
    assert engine is not None, "a problem knows its engines on every kind of GPU"
    return engine_row(model.requests, engine)


def _slots(model: Model, gpu: Gpu, shards: int) -> float:
    """Return how many requests a model works on at once if it has a GPU for itself."""
    requests = model.requests
    assert requests is not None, "the problem has requests"
    if requests.request_gb <= 0.0:
        return requests.slots
    room = max(gpu.memory_gb - model.size_gb, 0.0) * shards
    return min(requests.slots, room / requests.request_gb)
