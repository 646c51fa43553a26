"""A problem reduced to items on GPUs, with rules on where items may be.

Replicas and shards become items of their own; models that must stay together become one item. Items
that may not share a GPU share a colour. Items with the same pins share a row that says where they
may be. The shards of a replica are a shard group, whose GPUs must be in one node.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from colocate.problem.gpu import Gpu
from colocate.problem.instance import (
    Floats,
    Instance,
    Ints,
    canonical,
    frozen,
    instance_of,
    resources_of,
)
from colocate.problem.model import ANY_KIND, Model, Uses
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.rules import COLOURS, PIN, SHARD_GROUP, Bools, Rules, gpu_rules, numbered
from colocate.problem.tolerance import GENEROUS

Pins = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of places where a model must be, and must not be."""

COUNT = "number of models"
"""The resource that stands for the number of models on a GPU."""


class Item(NamedTuple):
    """What goes on one GPU as a whole."""

    name: str
    models: tuple[Model, ...]
    """The models that it consists of; a single one if it is a part of that model."""
    colours: tuple[int, ...]
    """The numbers of its groups; a GPU takes at most one item of each."""
    shard_group: int = -1
    """The number of its shard group; -1 if it is in none."""
    barred: bool = False
    """Whether it can be nowhere, because two of its models must be apart."""


class Portion(NamedTuple):
    """What an item takes from its GPU."""

    size_gb: float
    load: tuple[float, ...]
    uses: Uses


@dataclass(frozen=True)
class Reduction:
    """A problem as items, with the way back to its models."""

    whole: Problem
    items: tuple[Item, ...]
    instance: Instance
    resources: tuple[str, ...]
    """The names of the columns of `instance.use`."""

    @cached_property
    def canonical(self) -> Instance:
        """The instance in its own units."""
        return canonical(self.instance)

    @cached_property
    def sorts(self) -> list[int]:
        """One GPU of every sort of identical GPUs, those with most memory first."""
        first: dict[int, int] = {}
        for gpu, sort in enumerate(self.instance.rules.alike.tolist()):
            first.setdefault(sort, gpu)
        return sorted(first.values(), key=lambda gpu: -self.whole.gpus[gpu].memory_gb)

    @cached_property
    def largest_room(self) -> Floats:
        """For every item, the memory of the largest GPU that is open to it alone; 0 if none is."""
        instance, rules = self.instance, self.instance.rules
        if self.whole.plain and not self.resources:
            return np.full(len(self.items), instance.capacity.max())
        largest = np.zeros(len(self.items))
        for gpu in self.sorts:
            use = instance.use[instance.kind[gpu]]
            open_here = (use <= instance.limit[gpu] * GENEROUS).all(axis=1)
            open_here &= rules.open[rules.pin, gpu]
            largest[open_here & (largest == 0.0)] = instance.capacity[gpu]
            if largest.all():
                break
        return largest

    @cached_property
    def shard_groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups of items that must be on one node."""
        if self.whole.plain:
            return ()
        shard_groups: dict[int, list[int]] = {}
        for number, item in enumerate(self.items):
            if item.shard_group >= 0:
                shard_groups.setdefault(item.shard_group, []).append(number)
        return tuple(tuple(shard_group) for shard_group in shard_groups.values())

    def placement(self, gpu_of: Ints | Sequence[int]) -> Placement:
        """Return the placement of the models for a placement of the items.

        The GPUs of a replica are in the order of the fleet, and so are the replicas.
        """
        names = [gpu.name for gpu in self.whole.gpus]
        places = gpu_of.tolist() if isinstance(gpu_of, np.ndarray) else gpu_of
        if self.whole.plain:
            pairs = zip(self.whole.models, places, strict=True)
            return Placement({model.name: (names[gpu],) for model, gpu in pairs})
        numbers: dict[str, list[int]] = {model.name: [] for model in self.whole.models}
        for item, gpu in zip(self.items, places, strict=True):
            for model in item.models:
                numbers[model.name].append(gpu)
        gpus_of = {}
        for model in self.whole.models:
            places_of_parts, shards = numbers[model.name], model.shards
            replicas = sorted(
                sorted(places_of_parts[n : n + shards])
                for n in range(0, len(places_of_parts), shards)
            )
            gpus_of[model.name] = [names[n] for replica in replicas for n in replica]
        return Placement(gpus_of)

    def indices(self, placement: Mapping[str, Sequence[str]]) -> Ints:
        """Return the GPU of every item for a placement of the models."""
        number = {gpu.name: place for place, gpu in enumerate(self.whole.gpus)}
        left = {model: list(reversed(gpus)) for model, gpus in placement.items()}
        return np.array([number[left[item.models[0].name].pop()] for item in self.items], np.int64)


def reduction_of(problem: Problem) -> Reduction:
    """Return a problem, in which all numbers of replicas are fixed, as items."""
    if problem.plain:
        items = tuple(Item(model.name, (model,), ()) for model in problem.models)
        resources = tuple(resources_of(problem.gpus, problem.models))
        return Reduction(problem, items, problem.instance, resources)
    items = _told_apart(list(_items(problem)))
    portions = [_portion(item) for item in items]
    instance = instance_of(problem.gpus, portions)
    resources = tuple(resources_of(problem.gpus, portions))
    if problem.most_models is not None:
        instance = _with_count(instance, items, problem.most_models)
        resources = (*resources, COUNT)
    instance = frozen(instance._replace(rules=_rules(problem, items)))
    return Reduction(problem, items, instance, resources)


def _items(problem: Problem) -> Iterator[Item]:
    bundle_of = bundles_of(problem)
    groups_of = _groups_of(problem)
    models = {model.name: model for model in problem.models}
    done: set[str] = set()
    shard_groups = 0
    for model in problem.models:
        if model.name in done:
            continue
        members = bundle_of.get(model.name, (model.name,))
        done.update(members)
        colours = [group for name in members for group in groups_of.get(name, ())]
        barred = len(set(colours)) < len(colours)
        for place, name in enumerate(_names_of_parts(model, members)):
            shard_group = shard_groups + place // model.shards if model.shards > 1 else -1
            yield Item(
                name,
                tuple(models[m] for m in members),
                tuple(sorted(set(colours))),
                shard_group,
                barred,
            )
        shard_groups += model.replicas if model.shards > 1 else 0


def _groups_of(problem: Problem) -> dict[str, list[int]]:
    """Return the numbers of the groups that each model must be apart in.

    The parts of one model are such a group too.
    """
    groups = [*problem.apart, *((m.name,) for m in problem.models if m.parts > 1)]
    groups_of: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for name in group:
            groups_of.setdefault(name, []).append(number)
    return groups_of


def _told_apart(items: list[Item]) -> tuple[Item, ...]:
    """Give items that happen to share a name names of their own."""
    count = Counter(item.name for item in items)
    return tuple(
        item if count[item.name] == 1 else item._replace(name=f"{item.name} ({number})")
        for number, item in enumerate(items)
    )


def _names_of_parts(model: Model, members: Sequence[str]) -> Iterator[str]:
    for replica in range(model.replicas):
        for shard in range(model.shards):
            tail = f"#{replica + 1}" if model.replicas > 1 else ""
            yield " + ".join(members) + tail + (f"/{shard + 1}" if model.shards > 1 else "")


def bundles_of(problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return, for every model that must stay together with others, all models of its bundle."""
    bundle_of: dict[str, set[str]] = {}
    for group in problem.together:
        merged = set(group).union(*(bundle_of.get(name, set()) for name in group))
        bundle_of.update(dict.fromkeys(merged, merged))
    order = {model.name: place for place, model in enumerate(problem.models)}
    return {name: tuple(sorted(b, key=order.__getitem__)) for name, b in bundle_of.items()}


def _portion(item: Item) -> Portion:
    """Return what an item takes: shares of the sizes and loads of its models, added up."""
    if len(item.models) == 1:
        return _portion_of(item.models[0])
    portions = [_portion_of(model) for model in item.models]
    windows = max(len(portion.load) for portion in portions)
    load = tuple(
        sum(portion.load[min(t, len(portion.load) - 1)] for portion in portions)
        for t in range(windows)
    )
    uses: dict[str, dict[str, float]] = {}
    for portion in portions:
        _add_uses(uses, portion.uses, 1)
    return Portion(sum(portion.size_gb for portion in portions), load, _as_pairs(uses))


def _portion_of(model: Model) -> Portion:
    """Return what one part of a model takes from its GPU."""
    parts = model.parts
    load = model.load if parts == 1 else tuple(amount / parts for amount in model.load)
    if not model.shared_uses:
        return Portion(model.size_gb / model.shards, load, model.uses)
    uses: dict[str, dict[str, float]] = {}
    _add_uses(uses, model.uses, 1)
    _add_uses(uses, model.shared_uses, parts)
    return Portion(model.size_gb / model.shards, load, _as_pairs(uses))


def _add_uses(uses: dict[str, dict[str, float]], more: Uses, parts: int) -> None:
    """Add one of so many parts of some uses, by kind of GPU, to others."""
    for resource, by_kind in more:
        amounts, known = dict(by_kind), uses.get(resource, {ANY_KIND: 0.0})
        uses[resource] = {
            kind: known.get(kind, known.get(ANY_KIND, 0.0))
            + amounts.get(kind, amounts.get(ANY_KIND, 0.0)) / parts
            for kind in known.keys() | amounts.keys()
        }


def _as_pairs(uses: Mapping[str, Mapping[str, float]]) -> Uses:
    return tuple((resource, tuple(by_kind.items())) for resource, by_kind in uses.items())


def _with_count(instance: Instance, items: Sequence[Item], most_models: int) -> Instance:
    """Add a resource that limits the number of models on every GPU."""
    kinds, gpus = instance.use.shape[0], len(instance.capacity)
    count = np.array([float(len(item.models)) for item in items])
    use = np.broadcast_to(count, (kinds, len(items)))[:, :, None]
    limit = np.full((gpus, 1), float(most_models))
    return instance._replace(
        use=np.concatenate([instance.use, use], axis=2),
        limit=np.concatenate([instance.limit, limit], axis=1),
    )


def _rules(problem: Problem, items: Sequence[Item]) -> Rules:
    pin, rows = _pins(problem, items)
    sharded = any(item.shard_group >= 0 for item in items)
    columns, width = rows.T.tobytes(), len(rows)
    alike = numbered(
        (
            gpu.memory_gb,
            gpu.kind,
            gpu.limits,
            columns[number * width : (number + 1) * width],
            gpu.node if sharded else "",
        )
        for number, gpu in enumerate(problem.gpus)
    )
    item = np.full((len(items) + 1, 4), -1)
    item[:-1, PIN] = pin
    item[:-1, SHARD_GROUP] = [item.shard_group for item in items]
    item[0, COLOURS] = 0
    item[1:, COLOURS] = np.cumsum([len(item.colours) for item in items])
    colour = np.array([c for item in items for c in item.colours], np.int64)
    node = numbered(gpu.node for gpu in problem.gpus)
    return Rules(item, gpu_rules(node, alike), rows, colour)


def _pins(problem: Problem, items: Sequence[Item]) -> tuple[Ints, Bools]:
    """Return the row of pins of every item, and for each row the GPUs that are open."""
    named = _gpus_by_name(problem.gpus)
    anywhere: frozenset[Pins] = frozenset()
    known: dict[frozenset[Pins] | None, int] = {anywhere: 0}
    rows = [_open_to(len(problem.gpus), anywhere, named)]
    pin = []
    for item in items:
        pins = {(m.only, m.never) for m in item.models if m.only or m.never}
        key = None if item.barred else frozenset(pins)
        if key not in known:
            known[key] = len(rows)
            rows.append(_open_to(len(problem.gpus), key, named))
        pin.append(known[key])
    return np.array(pin, np.int64), np.array(rows)


def _gpus_by_name(gpus: Sequence[Gpu]) -> dict[str, list[int]]:
    """Return the GPUs that each name of a GPU, node or kind refers to."""
    named: dict[str, list[int]] = {}
    for number, gpu in enumerate(gpus):
        for name in {gpu.name, gpu.node, gpu.kind} - {""}:
            named.setdefault(name, []).append(number)
    return named


def _open_to(gpus: int, pins: frozenset[Pins] | None, named: Mapping[str, list[int]]) -> Bools:
    """Say, for every GPU, whether it is open to an item with these pins; None closes all."""
    row = np.full(gpus, pins is not None)
    for only, never in pins or ():
        if only:
            allowed = np.zeros(gpus, np.bool_)
            allowed[[number for name in only for number in named[name]]] = True
            row &= allowed
        row[[number for name in never for number in named[name]]] = False
    return row
