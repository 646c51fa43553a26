"""Changes to a fleet that could make its models fit: more GPUs, smaller or fewer models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from colocate.advise.remedies.changed_fleet import problem_of, problem_with_models
from colocate.advise.remedies.gpu_changes import (
    calculates_in,
    catalogue_ladder,
    faster_ladder,
    gpu_ladders,
)
from colocate.advise.remedies.latency_changes import (
    hottest_first,
    rate_ladder,
    sharing_ladder,
    target_ladder,
)
from colocate.advise.remedies.quantising import FEWER_BITS, Quantised, quantised
from colocate.advise.remedies.replica_changes import replicas_for_limits, replicas_for_targets
from colocate.advise.remedies.request_room import room_options
from colocate.advise.remedies.shortage import held_gb
from colocate.advise.what_if import Change, ChangeKind, Combination, Ladder, Options
from colocate.inputs.compute import known_accelerator
from colocate.inputs.demand import demand_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.fleet_windows import windows_of
from colocate.inputs.huggingface import ModelConfig
from colocate.inputs.shard_rules import accepted_shards
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MOST_TRIED = 12
"""The most models, the largest ones, to change one at a time."""
MOST_HOT = 4
"""The most models, the hottest ones, to give more time or replicas: each takes a search or more."""
MOST_COMBINED = 60
"""The most models, the largest ones, to quantise together."""
BUSIER = (0.85, 0.9, 0.95)
"""Higher limits on compute to try: at 0.95 a request waits 19 times as long as it runs."""
MOST_SHARDS = 16
"""The most shards of a model to try."""


def options_for(
    fleet: Fleet,
    names: Sequence[str],
    for_targets: bool = False,
    configs: Mapping[str, ModelConfig] | None = None,
) -> list[Options]:
    """Return the changes that could help some models of a fleet, sort by sort.

    Parameters
    ----------
    fleet
        The fleet to change.
    names
        The models in conflict.
    for_targets
        Whether latency targets are what cannot be kept, while the models fit without them.
    configs
        Hugging Face configs of the models that are sized by one, by model name.
    """
    by_name = {model.name: model for model in fleet.problem.models}
    some = sorted(names, key=lambda name: -by_name[name].replicas * held_gb(by_name[name]))
    some = some[:MOST_TRIED]
    by_size = sorted(fleet.spec.models, key=lambda model: -(model.size_gb or 0.0))
    largest = [model.name for model in by_size[:MOST_COMBINED]]
    formats = {
        name: [
            format_
            for format_ in quantised(fleet.models[name], (configs or {}).get(name))
            if _can_run(fleet, by_name[name], format_)
        ]
        for name in {*some, *largest}
    }
    quantised_ladders = [_quantise_ladder(fleet, formats[name]) for name in some]
    shard_ladders = [shard_ladder(fleet, name) for name in some]
    asleep = Options([_sleep_ladder(fleet, names)], _all_asleep(fleet))
    if for_targets:
        hottest = hottest_first(fleet.problem, names)[:MOST_HOT]
        return [
            Options([sharing_ladder(fleet)]),
            Options([target_ladder(fleet, name) for name in hottest]),
            Options([replicas_for_targets(fleet, name) for name in hottest]),
            Options([*gpu_ladders(fleet), faster_ladder(fleet)]),
            Options([rate_ladder(fleet, name) for name in hottest]),
            asleep,
            Options(quantised_ladders),
            Options(shard_ladders),
        ]
    return [
        *room_options(fleet, some),
        Options([_busier(fleet)]),
        Options([replicas_for_limits(fleet, name) for name in some]),
        Options(shard_ladders),
        Options(
            quantised_ladders,
            [_all_quantised(fleet, [formats[n] for n in largest], dtype) for dtype in FEWER_BITS],
        ),
        Options([*gpu_ladders(fleet), catalogue_ladder(fleet)]),
        asleep,
    ]


def _can_run(fleet: Fleet, model: Model, format_: Quantised) -> bool:
    """Return whether a GPU that a model may be on can calculate in a format, as far as is known."""
    rows = [known_accelerator(gpu.kind) for gpu in fleet.problem.gpus if model.may_be_on(gpu)]
    return any(row is None or calculates_in(row, format_.spec.dtype) for row in rows)


def _busier(fleet: Fleet) -> Ladder:
    """Yield GPUs that may be somewhat busier, if their compute is limited."""
    limit = fleet.spec.compute_limit
    for higher in BUSIER:
        if limit is not None and higher > limit:
            problem = problem_of(fleet.spec.model_copy(update={"compute_limit": higher}))
            if problem is not None:
                yield Change(ChangeKind.COMPUTE_LIMIT, problem, before=limit, after=higher)


def shard_ladder(fleet: Fleet, name: str) -> Ladder:
    """Yield a model in more shards, the fewest first, or in fewer, the most first.

    Engines accept all of these numbers. Where nothing says which they accept, the shards are
    doubled or halved.
    """
    model = fleet.models[name]
    most = min(_largest_node(fleet.problem, name), MOST_SHARDS)
    accepted = accepted_shards(model, most)
    if model.attention_heads is None:
        accepted = [n for n in accepted if _doubled(n, model.shards) or _doubled(model.shards, n)]
    more = [number for number in accepted if number > model.shards]
    for shards in more or [number for number in reversed(accepted) if number < model.shards]:
        added = (model.overhead_gb or 0.0) * (shards - model.shards)
        problem = problem_with_models(fleet, [model.model_copy(update={"shards": shards})])
        if problem is not None:
            yield Change(ChangeKind.SHARDS, problem, (name,), count=shards, gb=added)


def _doubled(large: int, small: int) -> bool:
    """Return whether a number is another one doubled any number of times."""
    return large % small == 0 and (large // small).bit_count() == 1


def in_more_shards(fleet: Fleet, name: str) -> Model | None:
    """Return a model in the next number of shards; None if no node has enough GPUs for that."""
    for change in shard_ladder(fleet, name):
        if change.count > fleet.models[name].shards:
            return next(model for model in change.problem.models if model.name == name)
    return None


def _largest_node(problem: Problem, name: str) -> int:
    """Return the most GPUs of one node that are open to a model."""
    model = next(model for model in problem.models if model.name == name)
    nodes = [gpu.node for gpu in problem.gpus if model.may_be_on(gpu)]
    return max(map(nodes.count, set(nodes)), default=0)


def _quantise_ladder(fleet: Fleet, formats: Iterable[Quantised]) -> Ladder:
    for format_ in formats:
        yield from _quantise(fleet, [format_])


def _quantise(fleet: Fleet, formats: Sequence[Quantised]) -> Iterator[Change]:
    problem = problem_with_models(fleet, [format_.spec for format_ in formats])
    if problem is None:
        return
    names = tuple(format_.spec.name for format_ in formats)
    after = {model.name: _held_gb(model) for model in problem.models}
    saved = sum(_held_gb(m) - after[m.name] for m in fleet.problem.models if m.name in names)
    yield Change(
        ChangeKind.QUANTISE,
        problem,
        names,
        formats[0].spec.dtype or "",
        gb=saved,
        before_gb=sum(fleet.models[name].size_gb or 0.0 for name in names),
        after_gb=sum(format_.spec.size_gb or 0.0 for format_ in formats),
        assumed=any(format_.assumed for format_ in formats),
    )


def _all_quantised(fleet: Fleet, formats: Iterable[Sequence[Quantised]], dtype: str) -> Combination:
    """Return one format for all models that have more bits than it, largest first."""
    found = {q.spec.name: q for some in formats for q in some if q.spec.dtype == dtype}

    def change(some: Sequence[str]) -> Change:
        return next(_quantise(fleet, [found[name] for name in some]))

    return Combination(list(found), change)


def _sleep_ladder(fleet: Fleet, names: Sequence[str]) -> Ladder:
    """Yield each of some models asleep, least demand first."""
    for name in _by_demand(fleet, names):
        if fleet.problem.awake((name,)) is not None:
            yield _sleep(fleet, (name,))


def _all_asleep(fleet: Fleet) -> list[Combination]:
    names = _by_demand(fleet, [model.name for model in fleet.problem.models])[:-1]
    return [Combination(names, lambda some: _sleep(fleet, some))]


def _by_demand(fleet: Fleet, names: Iterable[str]) -> list[str]:
    """Return the models that must be awake today, least demand first, then smallest."""
    held = {model.name: _held_gb(model) for model in fleet.problem.models}
    awake = [name for name in names if not fleet.models[name].may_sleep]
    return sorted(awake, key=lambda name: (_demand(fleet, name), held[name]))


def _demand(fleet: Fleet, name: str) -> float:
    model = fleet.models[name]
    return model.importance * demand_of(model, windows_of(fleet.spec))


def _sleep(fleet: Fleet, names: Sequence[str]) -> Change:
    problem = fleet.problem.awake(names)
    if problem is None:
        raise AssertionError("no model is left awake")
    saved = sum(_held_gb(model) for model in fleet.problem.models if model.name in names)
    demand = sum(_demand(fleet, name) for name in names)
    return Change(ChangeKind.SLEEP, problem, tuple(names), gb=saved, demand=demand)


def _held_gb(model: Model) -> float:
    return model.replicas * model.size_gb
