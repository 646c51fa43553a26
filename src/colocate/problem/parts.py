"""A problem with constraints as a plain one: items on GPUs, with limits on further resources.

Copies and shards become items of their own, models that must stay together one item. What may not
share a GPU uses one and the same resource, of which each GPU has one; where an item must not be, it
uses more of a resource than there is. So search, bounds and proofs need to know resources only.
What is left are squads: shards of a copy, whose GPUs must be in one node.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from colocate.errors import InputError
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Ints
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem

CONSTRAINT = "constraint: "
"""What the names of resources that stand for constraints begin with; a user's own do not."""
BARRED, COUNT, APART = f"{CONSTRAINT}place", f"{CONSTRAINT}models", f"{CONSTRAINT}apart"

Classes = dict[tuple[str, str, tuple[bool, ...]], str]
"""Kinds of GPU of the plain problem: by kind, node, and which items may be there."""


@dataclass(frozen=True)
class Item:
    """What goes on one GPU as a whole."""

    name: str
    models: tuple[Model, ...]
    """The models, or parts of one, that it consists of."""
    alone_in: tuple[int, ...]
    """The numbers of the groups of which a GPU takes one at most, once for every member."""


@dataclass(frozen=True)
class Parts:
    """A plain problem and what its items stand for."""

    whole: Problem
    problem: Problem
    items: tuple[Item, ...]
    squads: tuple[tuple[int, ...], ...]
    """Items that must be on one node."""

    def placement(self, gpu_of: Ints | Sequence[int]) -> Placement:
        """Return where the models are if the items are there.

        The GPUs of a copy are in the order of the fleet, and so are the copies.
        """
        numbers: dict[str, list[int]] = {model.name: [] for model in self.whole.models}
        for item, gpu in zip(self.items, gpu_of, strict=True):
            for model in item.models:
                numbers[model.name].append(int(gpu))
        gpus_of = {}
        for model in self.whole.models:
            parts, shards = numbers[model.name], model.shards
            copies = sorted(sorted(parts[n : n + shards]) for n in range(0, len(parts), shards))
            gpus_of[model.name] = [self.whole.gpus[n].name for copy in copies for n in copy]
        return Placement(gpus_of)

    def indices(self, placement: Mapping[str, Sequence[str]]) -> Ints:
        """Return where the items are if the models are there."""
        number = {gpu.name: place for place, gpu in enumerate(self.whole.gpus)}
        left = {model: list(gpus) for model, gpus in placement.items()}
        gpu_of = [left[item.models[0].name].pop(0) for item in self.items]
        return np.array([number[gpu] for gpu in gpu_of], np.int64)


def parts_of(problem: Problem) -> Parts:
    """Return a problem as a plain one; a plain problem is its own."""
    if problem.plain:
        items = tuple(Item(model.name, (model,), ()) for model in problem.models)
        return Parts(problem, problem, items, ())
    items = _told_apart(list(_items(problem)))
    return Parts(problem, _plain(problem, items), items, tuple(_squads(items)))


def problem_of_bounds(problem: Problem, asleep: Container[str] = ()) -> Problem | None:
    """Return the problem that a certificate is about, None if all models sleep.

    Sleepers are left out. Where the number of copies is open, it is the problem itself, of which
    constraints may be left aside; else the plain one.
    """
    awake = problem.awake(asleep) if problem.sleepers else problem
    return awake if awake is None or awake.elastic else parts_of(awake).problem


def _squads(items: Sequence[Item]) -> Iterator[tuple[int, ...]]:
    """Yield the places of the shards of every copy, which stand in a row."""
    place = 0
    while place < len(items):
        shards = items[place].models[0].shards
        if shards > 1:
            yield tuple(range(place, place + shards))
        place += shards


def _told_apart(items: list[Item]) -> tuple[Item, ...]:
    """Give items that by chance have one name names of their own."""
    count = Counter(item.name for item in items)
    return tuple(
        item if count[item.name] == 1 else replace(item, name=f"{item.name} ({number})")
        for number, item in enumerate(items)
    )


def _items(problem: Problem) -> Iterator[Item]:
    bundle_of = _bundles(problem)
    groups = [*problem.apart, *((m.name,) for m in problem.models if m.parts > 1)]
    done: set[str] = set()
    for model in problem.models:
        if model.name in done:
            continue
        members = bundle_of.get(model.name, (model.name,))
        done.update(members)
        models = tuple(m for m in problem.models if m.name in members)
        alone_in = tuple(n for n, group in enumerate(groups) for name in group if name in members)
        for name in _names_of_parts(model, members):
            yield Item(name, models, alone_in)


def _names_of_parts(model: Model, members: Sequence[str]) -> Iterator[str]:
    for copy in range(model.replicas):
        for shard in range(model.shards):
            tail = f"#{copy + 1}" if model.replicas > 1 else ""
            yield " + ".join(members) + tail + (f"/{shard + 1}" if model.shards > 1 else "")


def _bundles(problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return for every model that is kept together with others all of them."""
    bundle_of: dict[str, set[str]] = {}
    for group in problem.together:
        merged = set(group).union(*(bundle_of.get(name, set()) for name in group))
        bundle_of.update(dict.fromkeys(merged, merged))
    order = [model.name for model in problem.models]
    return {name: tuple(sorted(b, key=order.index)) for name, b in bundle_of.items()}


def _plain(problem: Problem, items: Sequence[Item]) -> Problem:
    """Write items and what bars them from GPUs as models and resources.

    Where there are shards, GPUs of one kind are in one node, and places can be barred.
    """
    _check_resources(problem)
    sharded = any(model.shards > 1 for model in problem.models)
    open_to = list(_open_to(problem, items))
    keys = [
        (gpu.kind, gpu.node if sharded else "", open_here)
        for gpu, open_here in zip(problem.gpus, open_to, strict=True)
    ]
    classes = {key: str(number) for number, key in enumerate(dict.fromkeys(keys))}
    limits = {f"{APART} {group}": 1.0 for item in items for group in item.alone_in}
    if problem.most_models is not None:
        limits[COUNT] = float(problem.most_models)
    if sharded or not all(map(all, open_to)):
        limits[BARRED] = 0.5
    gpus = tuple(
        Gpu(gpu.name, gpu.memory_gb, classes[key], dict(gpu.limits) | limits, gpu.node)
        for gpu, key in zip(problem.gpus, keys, strict=True)
    )
    models = (_plain_model(item, number, classes, limits) for number, item in enumerate(items))
    return Problem(gpus, tuple(models))


def _check_resources(problem: Problem) -> None:
    """Refuse resources that have the name of a constraint."""
    limited = {resource for gpu in problem.gpus for resource, _ in gpu.limits}
    used = {resource for m in problem.models for resource, _ in (*m.uses, *m.shared_uses)}
    for resource in sorted(limited | used):
        if resource.startswith(CONSTRAINT):
            raise InputError(
                f"resource {resource!r}: begins with {CONSTRAINT!r} as constraints do, "
                "must have another name"
            )


def _open_to(problem: Problem, items: Sequence[Item]) -> Iterator[tuple[bool, ...]]:
    """Yield for every GPU which items may be there; GPUs that no pin tells apart are alike."""
    named = {name for model in problem.models for name in (*model.only, *model.never)}
    pinned = [any(m.only or m.never for m in item.models) for item in items]
    known: dict[frozenset[str], tuple[bool, ...]] = {}
    for gpu in problem.gpus:
        seen = frozenset({gpu.name, gpu.node, gpu.kind} & named)
        if seen not in known:
            known[seen] = tuple(
                not pins or all(m.may_be_on(gpu) for m in item.models)
                for item, pins in zip(items, pinned, strict=True)
            )
        yield known[seen]


def _barred(number: int, classes: Classes) -> dict[str, float]:
    """Return which kinds an item must not be on; what most of them are is said once."""
    barred = {name: float(not open_to[number]) for (*_, open_to), name in classes.items()}
    usual = float(2.0 * sum(barred.values()) > len(barred))
    return {ANY_KIND: usual} | {name: use for name, use in barred.items() if use != usual}


def _plain_model(item: Item, number: int, classes: Classes, limits: Container[str]) -> Model:
    parts = [model.part() for model in item.models]
    constraints = {
        BARRED: _barred(number, classes),
        COUNT: {ANY_KIND: float(len(parts))},
        **{f"{APART} {n}": {ANY_KIND: float(k)} for n, k in Counter(item.alone_in).items()},
    }
    uses = {name: use for name, use in constraints.items() if name in limits}
    for part in parts:
        for resource, by_kind in part.uses:
            amounts = dict(by_kind)
            total = uses.setdefault(resource, dict.fromkeys(classes.values(), 0.0))
            for (kind, *_), name in classes.items():
                total[name] += amounts.get(kind, amounts.get(ANY_KIND, 0.0))
    windows = max(len(part.load) for part in parts)
    load = [sum(part.load[min(t, len(part.load) - 1)] for part in parts) for t in range(windows)]
    return Model(item.name, sum(part.size_gb for part in parts), load=load, uses=uses)
