"""Find a small set of models that cannot be placed together, and what is missing for them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from colocate.advise.remedies.any_placement import ONE_SEARCH, any_placement
from colocate.advise.remedies.missed_targets import TargetSummary, missed_targets
from colocate.advise.remedies.shortage import Lack, Shortage, held_gb, shortage_of
from colocate.problem.model import ANY_KIND
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline


@dataclass(frozen=True)
class CacheNeed:
    """The cache that a model must have, and what for.

    Parameters
    ----------
    model
        Its name.
    gb
        The least cache of one replica.
    requests, tokens
        How many requests must fit at once, and how long each may be.
    """

    model: str
    gb: float
    requests: int
    tokens: int


@dataclass(frozen=True)
class Conflict:
    """Models that have no placement even without the others.

    Parameters
    ----------
    models
        Their names, in the order of the problem.
    minimal
        Whether the others are proven to fit once any one of them is gone.
    parts, shards
        On how many GPUs they must be (replicas times shards), and the most shards of one of them.
    size_gb
        What all their replicas hold together, with their least caches.
    cache_gb
        Their least caches alone.
    gpus, memory_gb, largest_gb
        How many GPUs are open to at least one of them, the memory of these GPUs together, and of
        the largest one.
    largest_node
        How many of these GPUs are in one node at most.
    shortage
        What is missing.
    busiest, use
        The model that uses most of the resource that is short, and the least that one part of it
        uses on a GPU; empty if no resource is short.
    caches
        The least caches of the models, largest first, if the fleet says what they are for.
    targets
        How close the models come to their latency targets, if these are what cannot be kept.
    """

    models: tuple[str, ...]
    minimal: bool
    parts: int
    shards: int
    size_gb: float
    cache_gb: float
    gpus: int
    memory_gb: float
    largest_gb: float
    largest_node: int
    shortage: Shortage
    busiest: str = ""
    use: float = 0.0
    caches: tuple[CacheNeed, ...] = ()
    targets: TargetSummary | None = None


def find_conflict(problem: Problem, watch: Deadline) -> Conflict | None:
    """Return few models that are proven to have no placement together; None if none are found.

    The search leaves models out, a half, a quarter and finally one at a time, as long as the rest
    is proven to have no placement. Those that remain are needed for the conflict. Models that may
    sleep cannot be part of one.
    """
    must = [model for model in problem.models if model.sleep_cost is None]
    names = [model.name for model in sorted(must, key=lambda m: m.replicas * m.size_gb)]

    def outcome(left: Sequence[str]) -> Outcome:
        return any_placement_of(problem, left, watch)

    for name in reversed(names):
        if not watch.over and outcome([name]) is Outcome.NONE:
            return _told(problem, [name], True, watch)
    if not names or outcome(names) is not Outcome.NONE:
        return None
    left, minimal = _shrunk(names, outcome, watch)
    return _told(problem, left, minimal, watch)


def any_placement_of(problem: Problem, names: Sequence[str], watch: Deadline) -> Outcome:
    """Return whether some models of a problem can be placed if there are no others.

    Parameters
    ----------
    problem
        The problem.
    names
        The models to place.
    watch
        When to stop; one search takes half a second at most.
    """
    others = {model.name for model in problem.models} - set(names)
    some = problem.awake(others)
    if some is None:
        return Outcome.FOUND
    return any_placement(some, watch.part(ONE_SEARCH))[0]


def _shrunk(
    names: list[str], outcome: Callable[[Sequence[str]], Outcome], watch: Deadline
) -> tuple[list[str], bool]:
    """Leave models out while the conflict remains; return whether every model left is needed.

    One pass is enough: a model that a conflict needs, every smaller conflict in it needs too.
    """
    left, needed = names, set[str]()
    block = max(len(names) // 2, 1)
    while True:
        for start in range(0, len(names), block):
            if watch.over:
                break
            remaining = set(left)
            chosen = remaining.intersection(names[start : start + block])
            if not chosen:
                continue
            rest = [name for name in left if name not in chosen]
            found = outcome(rest)
            if found is Outcome.NONE:
                left = rest
            elif found is Outcome.FOUND and len(chosen) == 1:
                needed.update(chosen)
        if block == 1:
            return left, needed.issuperset(left)
        block = max(block // 2, 1)


def _told(problem: Problem, names: Sequence[str], minimal: bool, watch: Deadline) -> Conflict:
    whole = problem.awake({model.name for model in problem.models} - set(names))
    if whole is None:
        raise AssertionError("a conflict without models")
    gpus = [gpu for gpu in whole.gpus if any(model.may_be_on(gpu) for model in whole.models)]
    shortage = shortage_of(whole, watch)
    return Conflict(
        tuple(model.name for model in whole.models),
        minimal,
        sum(model.parts for model in whole.models),
        max(model.shards for model in whole.models),
        sum(model.replicas * held_gb(model) for model in whole.models),
        sum(model.replicas * (model.least_cache_gb or 0.0) for model in whole.models),
        len(gpus),
        sum(gpu.memory_gb for gpu in gpus),
        max((gpu.memory_gb for gpu in gpus), default=0.0),
        max(Counter(gpu.node for gpu in gpus).values(), default=0),
        shortage,
        *_busiest(whole, shortage.resource),
        targets=missed_targets(whole, watch) if shortage.lack is Lack.TARGETS else None,
    )


def _busiest(problem: Problem, resource: str) -> tuple[str, float]:
    """Return the model that uses most of a resource, and its use where it uses least."""
    kinds = {gpu.kind for gpu in problem.gpus}
    uses = [
        (min(by_kind.get(kind, by_kind.get(ANY_KIND, 0.0)) for kind in kinds), model.name)
        for model in problem.models
        for name, pairs in model.part().uses
        if name == resource
        for by_kind in [dict(pairs)]
    ]
    use, name = max(uses, default=(0.0, ""))
    return name, use
