"""Why it does not fit and what would help, in sentences."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from colocate.advise.remedies.conflict import Conflict
from colocate.advise.remedies.diagnosis import Diagnosis
from colocate.advise.remedies.shortage import Lack, Shortage
from colocate.advise.what_if import Change, ChangeKind
from colocate.outputs.explain.targets import (
    closest_line,
    conflict_line,
    missed_lines,
    raised_text,
)
from colocate.outputs.text.wording import amount, gigabytes, listed, percents, quoted
from colocate.problem.model import COMPUTE
from colocate.problem.reduction import COUNT

MOST_SHOWN, MOST_OF_A_KIND = 12, 3
"""Changes that are listed, in all and of one kind: the smallest, as many as fit on a screen."""
MOST_CACHES = 3
"""Models whose least cache is told: the largest, which are the ones to change."""

BY_MORE_TIME = "another search finds a placement: give the solver more time (--time-limit)"
BY_THE_SOLVER = "the solver finds a placement: leave out --strategy"
"""How to get the placement that there is."""


def diagnosis_lines(diagnosis: Diagnosis, by_strategy: bool = False) -> Iterator[str]:
    """Yield the lines that say it.

    Parameters
    ----------
    diagnosis
        What was found out.
    by_strategy
        Whether a strategy failed to place the models, not the solver.
    """
    if diagnosis.fits:
        yield BY_THE_SOLVER if by_strategy else BY_MORE_TIME
        return
    if diagnosis.conflict:
        yield from _conflict(diagnosis.conflict)
    if diagnosis.targets:
        yield closest_line(diagnosis.targets)
        yield from missed_lines(diagnosis.targets)
    if diagnosis.constraints:
        yield "it fits without any one of these constraints (confirmed by a placement):"
        yield from _items([change_text(remedy.change) for remedy in diagnosis.constraints])
    if diagnosis.remedies:
        yield "it fits after any one of these changes (confirmed by a placement), easiest first:"
        yield from _items(_few_of_each_kind([r.change for r in diagnosis.remedies], MOST_OF_A_KIND))
    elif not diagnosis.constraints:
        yield "none of the changes tried makes it fit"
    if diagnosis.undecided:
        yield "there was no time to find out whether these changes make it fit:"
        yield from _items(_few_of_each_kind(diagnosis.undecided, 1))
    if not diagnosis.complete:
        yield "there was no time to try everything"


def _few_of_each_kind(changes: Sequence[Change], most: int) -> list[str]:
    """Yield the changes in words; of each kind, only the first ones."""
    seen: Counter[ChangeKind] = Counter()
    of_kind = Counter(change.kind for change in changes)
    texts = []
    for change in changes:
        seen[change.kind] += 1
        more = of_kind[change.kind] - most
        if seen[change.kind] == most and more > 0:
            texts.append(f"{change_text(change)}, or {amount(more, 'other change')} of this kind")
        elif seen[change.kind] <= most:
            texts.append(change_text(change))
    return texts


def _items(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"  - {text}" for text in texts[:MOST_SHOWN])
    if len(texts) > MOST_SHOWN:
        yield f"  - ... and {len(texts) - MOST_SHOWN} more"


def _conflict(conflict: Conflict) -> Iterator[str]:
    single = len(conflict.models) == 1
    names = listed([quoted(name) for name in conflict.models])
    if conflict.targets:
        yield conflict_line(conflict.models, conflict.targets)
        yield from missed_lines(conflict.targets)
    elif single:
        yield f"{names} does not fit even without the other models: {_lack(conflict)}"
    else:
        yield f"{names} cannot be placed together: {_lack(conflict)}"
    if conflict.gpus > 0 and conflict.shortage.lack not in (Lack.RESOURCE, Lack.TARGETS):
        yield f"  {_needs(conflict)}"
    if conflict.shortage.lack is Lack.LEAST_CACHE:
        yield from _caches(conflict)
    if conflict.shortage.resource == COMPUTE and not single:
        use = percents(conflict.use)[0]
        yield f"  {quoted(conflict.busiest)} is the busiest: by itself {use} of a GPU's time"
    if not single and conflict.minimal:
        yield "  without any one of them, the others fit"
    elif not conflict.minimal:
        yield "  a smaller set may conflict too: there was no time to find out"


def _needs(conflict: Conflict) -> str:
    """Describe what the models need and what the fleet has."""
    it, needs = ("it", "needs") if len(conflict.models) == 1 else ("they", "need")
    needed = f"{it} {needs} {gigabytes(conflict.size_gb)}"
    if conflict.parts > len(conflict.models):
        needed += f" in {conflict.parts} parts"
    if conflict.cache_gb > 0.0:
        needed += f", {gigabytes(conflict.cache_gb)} of it for cache"
    gpus = f"the {conflict.gpus:,} GPUs" if conflict.gpus > 1 else "the only GPU"
    have = f"{gpus} that {it} may be on {'have' if conflict.gpus > 1 else 'has'} "
    have += gigabytes(conflict.memory_gb)
    if conflict.gpus > 1:
        have += f", the largest {gigabytes(conflict.largest_gb)}"
    if conflict.shards > 1:
        have += f", and no node has more than {conflict.largest_node} of them"
    return f"{needed}; {have}"


def _caches(conflict: Conflict) -> Iterator[str]:
    """Describe what the largest least caches are for."""
    for cache in conflict.caches[:MOST_CACHES]:
        requests = amount(cache.requests, "request")
        length = amount(cache.tokens, "token")
        yield f"  {quoted(cache.model)}: {gigabytes(cache.gb)} of cache for {requests} of {length}"


def _lack(conflict: Conflict) -> str:
    if conflict.gpus == 0:
        return "it may not be on any GPU"
    if conflict.shards > conflict.largest_node:
        return f"{conflict.shards} shards need as many GPUs in one node, and no node has them"
    short = conflict.shortage
    if short.lack is Lack.RESOURCE:
        if conflict.parts == 1 and short.resource == COMPUTE:
            needed, limit = percents(short.needed, short.limit)
            return f"it keeps a GPU busy {needed} of the time, {limit} allowed"
        it = "it is" if len(conflict.models) == 1 else "they are"
        return f"wherever {it}, {_beyond(short)}"
    missing = f"at least {gigabytes(short.lacking_gb)}"
    return {
        Lack.MEMORY: f"{missing} of memory are missing",
        Lack.LEAST_CACHE: f"the weights fit, but {missing} of cache are missing",
        Lack.CONSTRAINTS: "the constraints forbid it, no matter how much memory there is",
        Lack.PRESSURE: "the memory is enough, but most_pressure would be exceeded",
        Lack.TARGETS: "the memory is enough, but a latency target would be missed",
        Lack.UNKNOWN: "every placement was excluded",
    }[short.lack]


def _beyond(short: Shortage) -> str:
    """Describe how far a resource goes beyond its limit, in its own unit."""
    if short.resource == COMPUTE:
        needed, limit = percents(short.needed, short.limit)
        return f"a GPU is busy at least {needed} of the time, {limit} allowed"
    if short.resource == COUNT:
        models = amount(round(short.needed), "model")
        return f"a GPU holds at least {models}, {short.limit:g} allowed (most_models)"
    needed = f"{short.needed:.4g} of {quoted(short.resource)}"
    return f"a GPU uses at least {needed}, {short.limit:.4g} allowed"


def change_text(change: Change) -> str:
    """Describe a change."""
    return _WORDS[change.kind](change)


def _names(change: Change) -> str:
    return listed([quoted(name) for name in change.names])


def _gpus(change: Change) -> str:
    return _added(change.count, change)


def _added(gpus: int, change: Change) -> str:
    kind = quoted(change.to, "")
    many = f"one more GPU of {kind}" if gpus == 1 else f"{gpus} more GPUs of {kind}"
    return many + (f" in node {quoted(change.node)}" if change.node else "")


def _quantise(change: Change) -> str:
    sizes = f"weights {gigabytes(change.before_gb)} -> {gigabytes(change.after_gb)}"
    basis = "assumed in proportion to the bits" if change.assumed else "counted from the config"
    return f"quantise {_names(change)} to {change.to} ({sizes}, {basis})"


def _sleep(change: Change) -> str:
    return f"leave {_names(change)} asleep (demand {change.demand:.4g}, {gigabytes(change.gb)})"


def _replicas(change: Change) -> str:
    replicas = f"{amount(change.count, 'replica')} of {_names(change)}"
    if change.gpus == 0:
        return replicas
    return f"{replicas}, and {_added(change.gpus, change)}"


def _context(change: Change) -> str:
    length = amount(change.count, "token")
    return f"shorten max_model_len of {_names(change)} to {length} ({_cache(change)})"


def _concurrency(change: Change) -> str:
    requests = f"min_concurrency: {change.count} of {_names(change)}"
    return f"{requests}, fewer requests at once ({_cache(change)})"


def _cache(change: Change) -> str:
    return f"least cache {gigabytes(change.before_gb)} -> {gigabytes(change.after_gb)}"


def _compute_limit(change: Change) -> str:
    """Describe a higher limit with what it costs: waiting grows as busy over idle time."""
    before, after = percents(change.before, change.after)
    waits = f"{change.after / (1.0 - change.after):.2g} times as long as it runs"
    old = f"{change.before / (1.0 - change.before):.2g}" if change.before < 1.0 else "ever longer"
    return (
        f"compute_limit: {change.after:g}, so GPUs may be busy {after} of the time instead of "
        f"{before} (a request then waits up to {waits}, not {old})"
    )


_WORDS: dict[ChangeKind, Callable[[Change], str]] = {
    ChangeKind.GPUS: _gpus,
    ChangeKind.QUANTISE: _quantise,
    ChangeKind.SLEEP: _sleep,
    ChangeKind.CONTEXT: _context,
    ChangeKind.CONCURRENCY: _concurrency,
    ChangeKind.COMPUTE_LIMIT: _compute_limit,
    ChangeKind.SHARDS: lambda change: (
        f"cut {_names(change)} in {change.count} shards (tensor parallel {change.count})"
        if change.count > 1
        else f"serve {_names(change)} in one piece"
    ),
    ChangeKind.REPLICAS: _replicas,
    ChangeKind.APART: lambda change: f"apart: {_names(change)}",
    ChangeKind.TOGETHER: lambda change: f"together: {_names(change)}",
    ChangeKind.MOST_MODELS: lambda change: f"most_models: {change.count}",
    ChangeKind.MOST_PRESSURE: lambda change: "most_pressure",
    ChangeKind.ONLY: lambda change: f"only, of {_names(change)}",
    ChangeKind.NEVER: lambda change: (
        f"never (or a format that these GPUs cannot run), of {_names(change)}"
    ),
    ChangeKind.LEAST_CACHE: lambda change: (
        "the least cache: room in every model for requests of max_model_len tokens"
    ),
    ChangeKind.LIMIT: lambda change: (
        "the limit on compute (compute_limit)"
        if change.names == (COMPUTE,)
        else f"the limit on {_names(change)}"
    ),
    ChangeKind.TARGETS: lambda change: "the latency targets (tpot_slo, ttft_slo)",
    ChangeKind.RAISED_TARGET: lambda change: raised_text(_names(change), change.targets),
    ChangeKind.SHARING: lambda change: (
        f"sharing: {change.to}, so that engines share GPUs by NVIDIA MPS (one that dies can take "
        "its neighbours with it)"
    ),
    ChangeKind.RATE: lambda change: (
        f"{change.to}: {change.after:g} of {_names(change)} instead of {change.before:g} "
        "(the highest found that works)"
    ),
    ChangeKind.ONE_NODE: lambda change: f"the shards of {_names(change)} in one node",
}
