"""A fleet with more or fewer GPUs of each kind.

Entries of a fleet file that are alike are one kind. The GPUs of a kind have an order: those of the
file as listed, then further ones like the last. A smaller fleet has the first ones, so all its GPUs
are in every larger fleet, with the same names and in the same machines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner, shown
from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.format_support import runs_nowhere
from colocate.inputs.spec import GpuSpec
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem


@dataclass(frozen=True)
class GpuKind:
    """GPUs that are alike; a fleet may have any number of them.

    Parameters
    ----------
    label
        Its name: the kind, or the name in the fleet file.
    entries
        The numbers of its entries in the fleet file.
    listed
        How many GPUs of it the fleet file has.
    at_once
        How many GPUs come together: one, or those of a whole machine.
    """

    label: str
    entries: tuple[int, ...]
    listed: int
    at_once: int


class FleetSizes:
    """A fleet in all sizes.

    Parameters
    ----------
    fleet
        The fleet as its file states it.
    whole
        Whether machines (entries with a node) come only as a whole.

    Raises
    ------
    InputError
        If a model names one GPU out of several that are alike.
    """

    def __init__(self, fleet: Fleet, whole: bool = False) -> None:
        self._stated = fleet.as_dict()
        self._specs = fleet.spec.gpus
        self._models = fleet.spec.models
        self._taken = {
            name for gpu in fleet.problem.gpus for name in (gpu.name, gpu.node, gpu.kind)
        } | {spec.stated_name for spec in self._specs}
        self._refuse_single_gpus(list(fleet.problem.gpus))
        self.kinds = self._kinds(whole)
        self.targets = sum(_has_target(model) for model in fleet.problem.models)
        """How many models have a latency target that they must keep."""

    @property
    def listed(self) -> tuple[int, ...]:
        """How many units of each kind the file has, rounded up."""
        return tuple(-(-kind.listed // kind.at_once) for kind in self.kinds)

    def entries(self, kind: GpuKind) -> list[GpuSpec]:
        """Return the entries of the fleet file that are of a kind."""
        return [self._specs[number] for number in kind.entries]

    def fleet(self, counts: Sequence[int]) -> Fleet | None:
        """Return the fleet with so many units of each kind, with all models awake.

        None if it cannot serve the models, because it has no GPU, or none of those that a model
        must be on or can run on.
        """
        sized = self._sized(counts)
        names = {name for gpu in sized for name in _names(gpu)}
        if not sized or any(model.only and names.isdisjoint(model.only) for model in self._models):
            return None
        if any(runs_nowhere(model, sized) for model in self._models):
            return None
        gpus = [gpu.model_dump(exclude_defaults=True, mode="json") for gpu in sized]
        models = [_awake(model, names) for model in self._stated["models"]]
        return fleet_of({**self._stated, "gpus": gpus, "models": models})

    def problem(self, counts: Sequence[int]) -> Problem | None:
        """Return the problem of that fleet, with any pressure allowed."""
        fleet = self.fleet(counts)
        return None if fleet is None else problem_of_all(fleet)

    def kind_of_gpus(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Return the number of the kind of every GPU of such a fleet, in the order of its GPUs."""
        by_entry = {number: place for place, k in enumerate(self.kinds) for number in k.entries}
        return tuple(
            by_entry[number]
            for number, gpus in self._by_entry(counts)
            for gpu in gpus
            for _ in range(gpu.count or 1)
        )

    def _sized(self, counts: Sequence[int]) -> list[GpuSpec]:
        return [gpu for _, gpus in self._by_entry(counts) for gpu in gpus]

    def _by_entry(self, counts: Sequence[int]) -> list[tuple[int, list[GpuSpec]]]:
        """Return what every entry of the file becomes, in the order of the file."""
        sized: dict[int, list[GpuSpec]] = {}
        for kind, units in zip(self.kinds, counts, strict=True):
            left = units * kind.at_once
            for number in kind.entries:
                spec = self._specs[number]
                wanted = left if number == kind.entries[-1] else min(left, spec.count or 1)
                sized[number] = list(self._of_size(spec, wanted)) if wanted else []
                left -= wanted
        return sorted(sized.items())

    def _of_size(self, spec: GpuSpec, gpus: int) -> Iterator[GpuSpec]:
        """Yield an entry with so many GPUs, and further entries if one cannot hold them."""
        if spec.count is not None and spec.node is None:
            yield spec.model_copy(update={"count": gpus, "devices": self._devices(spec, gpus)})
            return
        yield _part(spec, gpus)
        most = spec.count or 1
        further = self._further(spec)
        for left in range(gpus - most, 0, -most):
            yield _part(next(further), left)

    def _devices(self, spec: GpuSpec, gpus: int) -> list[int] | None:
        """Return the device numbers of so many GPUs: those stated, then free ones above them."""
        if spec.devices is None:
            return None
        taken = {n for other in self._specs if other.node is None for n in other.devices or ()}
        free = (number for number in count(max(spec.devices) + 1) if number not in taken)
        return [*spec.devices, *islice(free, max(gpus - len(spec.devices), 0))][:gpus]

    def _further(self, spec: GpuSpec) -> Iterator[GpuSpec]:
        """Yield entries like one, with new names: `l40s-2`, or `alpha.2` for machines."""
        for number in count(2):
            tail = f"-{number}" if spec.node is None else f".{number}"
            name, node = f"{spec.stated_name}{tail}", f"{spec.node}{tail}"
            if not self._taken.isdisjoint((name, node)):
                continue
            update: dict[str, Any] = {"name": name}
            if spec.node is not None:
                update["node"] = node
            yield spec.model_copy(update=update)

    def _kinds(self, whole: bool) -> tuple[GpuKind, ...]:
        alike: dict[Any, list[int]] = {}
        named = {name for model in self._models for name in (*model.only, *model.never)}
        for number, spec in enumerate(self._specs):
            key: Any = _likeness(spec, whole)
            if not named.isdisjoint(_names(spec) - {spec.kind}):
                key = number
            alike.setdefault(key, []).append(number)
        return tuple(self._kind(numbers, whole) for numbers in alike.values())

    def _kind(self, numbers: list[int], whole: bool) -> GpuKind:
        specs = [self._specs[number] for number in numbers]
        machine = specs[0].count or 1
        label = specs[0].kind or specs[0].stated_name
        others = [spec for place, spec in enumerate(self._specs) if place not in numbers]
        if any(label == (spec.kind or spec.stated_name) for spec in others):
            label = f"{label} {specs[0].stated_name}".strip()
        listed = sum(spec.count or 1 for spec in specs)
        at_once = machine if whole and specs[0].node is not None else 1
        return GpuKind(label, tuple(numbers), listed, at_once)

    def _refuse_single_gpus(self, gpus: list[Gpu]) -> None:
        """Refuse models that name one of several equal GPUs: the number of these is not fixed."""
        single: dict[str, int] = {}
        for spec in self._specs:
            size = spec.count or 1
            single.update((gpu.name, size) for gpu in gpus[:size])
            del gpus[:size]
        for number, model in enumerate(self._models):
            for field in ("only", "never"):
                for name in getattr(model, field):
                    if single.get(name, 1) > 1:
                        alike = f"one of {single[name]} alike"
                        fault = Fault(
                            f"names the GPU {shown(name)}, {alike}, whose number is asked for",
                            advice="name their kind or node, or list it by itself",
                            path=("models", number, field),
                            owner=Owner("model", model.name),
                        )
                        raise InputError(fault)


def problem_of_all(fleet: Fleet) -> Problem:
    """Return a fleet's problem with all models awake, and any pressure allowed."""
    awake = fleet.problem.awake(())
    assert awake is not None
    return replace(awake, most_pressure=None)


def _has_target(model: Model) -> bool:
    return model.requests is not None and model.requests.binding and model.requests.has_target


def _likeness(spec: GpuSpec, whole: bool) -> tuple[Any, ...]:
    """Return what entries of one kind have in common."""
    machine = spec.count or 1 if whole and spec.node is not None else None
    return (*spec.likeness, spec.node is None, machine)


def _names(spec: GpuSpec) -> set[str]:
    """Return all names by which a model can refer to the GPUs of an entry."""
    single = [spec.stated_name] if spec.count is None else []
    first = [f"{spec.stated_name}-0"] if spec.count is not None else []
    return {name for name in (*single, *first, spec.node, spec.kind) if name}


def _part(spec: GpuSpec, gpus: int) -> GpuSpec:
    """Return an entry with at most so many GPUs."""
    if spec.count is None or spec.count <= gpus:
        return spec
    devices = spec.devices[:gpus] if spec.devices is not None else None
    return spec.model_copy(update={"count": gpus, "devices": devices})


def _awake(model: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a model that may not sleep, without pins on places that do not exist."""
    kept = {key: value for key, value in model.items() if key not in ("may_sleep", "importance")}
    for field in ("only", "never"):
        if field in kept:
            kept[field] = [name for name in kept[field] if name in names]
    return kept
