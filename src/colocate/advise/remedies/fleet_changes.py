"""Changes to a fleet that could make its models fit: more GPUs, smaller or fewer models."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from math import inf
from pathlib import Path

from colocate.advise.remedies.changed_fleet import problem_of, problem_with_models
from colocate.advise.remedies.quantising import FEWER_BITS, Quantised, quantised
from colocate.advise.what_if import Change, ChangeKind, Combination, Ladder, Options
from colocate.inputs.compute import known_accelerator
from colocate.inputs.demand import demand_of
from colocate.inputs.fleet import Fleet
from colocate.inputs.gpu_catalogue import ROWS
from colocate.inputs.shard_rules import accepted_shards
from colocate.inputs.spec import GpuSpec
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MOST_ADDED = 8
"""The most GPUs to add."""
MOST_NODES = 4
"""The most nodes to try adding GPUs to."""
MOST_TRIED = 12
"""The most models, the largest ones, to change one at a time."""
MOST_COMBINED = 60
"""The most models, the largest ones, to quantise together."""
MOST_SHARDS, MOST_REPLICAS = 16, 8
"""The most shards and replicas of a model to try."""


def options_for(
    fleet: Fleet, names: Sequence[str], configs: Mapping[str, Path] | None = None
) -> list[Options]:
    """Return the changes that could help some models of a fleet, sort by sort.

    Parameters
    ----------
    fleet
        The fleet to change.
    names
        The models in conflict.
    configs
        Hugging Face configs of the models that are sized by one, by model name.
    """
    by_name = {model.name: model for model in fleet.problem.models}
    some = sorted(names, key=lambda name: -_held_gb(by_name[name]))[:MOST_TRIED]
    by_size = sorted(fleet.spec.models, key=lambda model: -(model.size_gb or 0.0))
    largest = [model.name for model in by_size[:MOST_COMBINED]]
    formats = {
        name: list(quantised(fleet.models[name], (configs or {}).get(name)))
        for name in {*some, *largest}
    }
    return [
        Options([shard_ladder(fleet, name) for name in some]),
        Options([_replica_ladder(fleet, name) for name in some]),
        Options(
            [_quantise_ladder(fleet, formats[name]) for name in some],
            [_all_quantised(fleet, [formats[n] for n in largest], dtype) for dtype in FEWER_BITS],
        ),
        Options([*_gpu_ladders(fleet), _catalogue_ladder(fleet)]),
        Options([_sleep_ladder(fleet, names)], _all_asleep(fleet)),
    ]


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


def _replica_ladder(fleet: Fleet, name: str) -> Ladder:
    """Yield a model in more replicas, if replicas share its use of a limited resource."""
    model = fleet.models[name]
    stated = next(m for m in fleet.problem.models if m.name == name)
    if not stated.shared_uses or stated.open_replicas:
        return
    for replicas in range(stated.replicas + 1, min(MOST_REPLICAS, len(fleet.problem.gpus)) + 1):
        added = stated.size_gb * (replicas - stated.replicas)
        problem = problem_with_models(fleet, [model.model_copy(update={"replicas": replicas})])
        if problem is not None:
            yield Change(ChangeKind.REPLICAS, problem, (name,), count=replicas, gb=added)


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
    return fleet.models[name].importance * demand_of(fleet.models[name])


def _sleep(fleet: Fleet, names: Sequence[str]) -> Change:
    problem = fleet.problem.awake(names)
    if problem is None:
        raise AssertionError("no model is left awake")
    saved = sum(_held_gb(model) for model in fleet.problem.models if model.name in names)
    demand = sum(_demand(fleet, name) for name in names)
    return Change(ChangeKind.SLEEP, problem, tuple(names), gb=saved, demand=demand)


def _gpu_ladders(fleet: Fleet) -> Iterator[Ladder]:
    """Yield, for each kind of GPU in the fleet, one more, two more, and so on."""
    alike: dict[Hashable, list[GpuSpec]] = {}
    for entry in fleet.spec.gpus:
        alike.setdefault(entry.likeness, []).append(entry)
    pinned = any(m.shards > 1 or m.only or m.never for m in fleet.problem.models)
    for entries in alike.values():
        by_node = list({entry.node: entry for entry in entries}.values())
        yield _gpu_ladder(fleet, by_node[: MOST_NODES if pinned else 1])


def _gpu_ladder(fleet: Fleet, entries: Sequence[GpuSpec]) -> Ladder:
    for number, entry in product(range(1, MOST_ADDED + 1), entries):
        yield from _more_gpus(fleet, entry, number)


def _catalogue_ladder(fleet: Fleet) -> Ladder:
    """Yield one more GPU of each other kind that can be rented, smallest first."""
    known = [known_accelerator(entry.kind) for entry in fleet.spec.gpus]
    if not all(known):
        return
    rows = [row for row in ROWS if row.price_per_hour is not None and row not in known]
    for row in sorted(rows, key=lambda row: (row.memory_gb, row.price_per_hour or inf)):
        entry = GpuSpec.model_validate({"kind": row.kind}).resolved()
        yield from _more_gpus(fleet, entry, 1)


def _more_gpus(fleet: Fleet, entry: GpuSpec, number: int) -> Iterator[Change]:
    taken = {gpu.name.partition("-")[0] for gpu in fleet.problem.gpus}
    name = next(name for n in count() if (name := f"added{n or ''}") not in taken)
    added = entry.model_copy(update={"name": name, "count": number, "devices": None})
    problem = problem_of(fleet.spec.model_copy(update={"gpus": [*fleet.spec.gpus, added]}))
    if problem is not None:
        yield Change(
            ChangeKind.GPUS,
            problem,
            to=entry.kind or f"{entry.memory_gb:g} GB",
            count=number,
            gb=number * ((entry.memory_gb or 0.0) - (entry.reserve_gb or 0.0)),
            node=entry.node or "",
        )


def _held_gb(model: Model) -> float:
    return model.replicas * model.size_gb
