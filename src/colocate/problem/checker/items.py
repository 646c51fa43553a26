"""What goes on one GPU as a whole, derived from the problem as it was stated.

Models that must stay together are one item; every shard of every replica of a model is one. Needs
are kept as whole numbers with a divisor, so nothing is rounded.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model, Uses
from colocate.problem.problem import Problem

Pins = tuple[frozenset[str], frozenset[str]]
"""Names of places: a GPU must have one of the first set, if it has any, and none of the second."""


class Kin(NamedTuple):
    """Equal items: the parts of one model, or models that stay together as one item."""

    members: tuple[Model, ...]
    replicas: int
    shards: int
    colours: frozenset[int]
    """Groups of items that must be apart; a GPU takes at most one item of each."""
    homeless: bool
    """Whether two of its members must be both together and apart, so that it fits nowhere."""

    @property
    def parts(self) -> int:
        """How many items there are."""
        return self.replicas * self.shards

    @property
    def name(self) -> str:
        """The names of the members."""
        return " + ".join(model.name for model in self.members)

    @property
    def pins(self) -> tuple[Pins, ...]:
        """The pins of all members that have some."""
        return tuple(
            [(frozenset(m.only), frozenset(m.never)) for m in self.members if m.only or m.never]
        )


def kin_of(problem: Problem) -> list[Kin]:
    """Return the items of a problem, equal ones together, with the fewest replicas allowed."""
    if not problem.apart and not problem.together:
        return list(_unbound(problem))
    bundles = _bundles(problem)
    groups = _groups_of_models(problem)
    colours = len(problem.apart)
    done: set[str] = set()
    found = []
    for model in problem.models:
        if model.name in done:
            continue
        members = bundles.get(model.name, (model,))
        done.update(member.name for member in members)
        several = model.replicas * model.shards > 1
        own = [colours] if several else []
        colours += several
        marks = [group for member in members for group in groups.get(member.name, ())]
        alone = frozenset(marks + own)
        homeless = len(set(marks)) < len(marks)
        found.append(Kin(members, model.replicas, model.shards, alone, homeless))
    return found


def _unbound(problem: Problem) -> Iterator[Kin]:
    """Yield the items of a problem without `apart` and `together`."""
    none: frozenset[int] = frozenset()
    for number, model in enumerate(problem.models):
        several = model.replicas * model.shards > 1
        own = frozenset((number,)) if several else none
        yield Kin((model,), model.replicas, model.shards, own, False)


def _groups_of_models(problem: Problem) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for number, group in enumerate(problem.apart):
        for name in group:
            groups.setdefault(name, []).append(number)
    return groups


def _bundles(problem: Problem) -> dict[str, tuple[Model, ...]]:
    """Return, for every model that must stay with others, all models of its bundle, in order."""
    leader: dict[str, str] = {}

    def found(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for group in problem.together:
        for name in group:
            leader[found(name)] = found(group[0])
    members: dict[str, list[Model]] = {}
    for model in problem.models:
        if model.name in leader:
            members.setdefault(found(model.name), []).append(model)
    return {model.name: tuple(bundle) for bundle in members.values() for model in bundle}


def names_of(kin: Sequence[Kin]) -> list[str]:
    """Return a readable name for every item."""
    return [
        each.name
        + (f"#{replica + 1}" if each.replicas > 1 else "")
        + (f"/{shard + 1}" if each.shards > 1 else "")
        for each in kin
        for replica in range(each.replicas)
        for shard in range(each.shards)
    ]


def use_on(uses: Uses, resource: str, kind: str) -> float:
    """Return what is used of a resource on a kind of GPU.

    Parameters
    ----------
    uses
        What a model uses, by resource and kind of GPU.
    resource
        The resource.
    kind
        The kind of GPU; an amount for any kind stands in where it has none of its own.
    """
    for name, by_kind in uses:
        if name == resource:
            amounts = dict(by_kind)
            return amounts[kind] if kind in amounts else amounts.get(ANY_KIND, 0.0)
    return 0.0


def open_to(pins: Sequence[Pins], gpu: Gpu) -> bool:
    """Return whether all pins leave a GPU open."""
    names = {gpu.name, gpu.node, gpu.kind} - {""}
    return all(
        never.isdisjoint(names) and (not only or not only.isdisjoint(names)) for only, never in pins
    )
