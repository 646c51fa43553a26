"""The whole question: which models, on which GPUs, under which constraints."""

import json
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault, Owner, Path, Spot
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Instance, instance_of
from colocate.problem.model import ANY_KIND, MEMORY, Model
from colocate.problem.quantity import checked_number
from colocate.problem.window import Window, checked_windows, numbered_windows

Item = TypeVar("Item", Gpu, Model)


@dataclass(frozen=True)
class Problem:
    """GPUs and the models to place on them, validated and frozen.

    Parameters
    ----------
    gpus, models
        At least one of each, with unique names. The loads of all models have the same number of
        time windows; a single number stands for every window.
    apart, together
        Groups of model names. No two models of a group in `apart` may share a GPU; all models of a
        group in `together` must.
    most_models
        How many models a GPU may hold; None for any number.
    most_pressure
        The highest pressure that a GPU may have; None for any.
    sharing
        How the models on a GPU share it: `slices` or `mps`.
    objective
        What a placement minimises: the highest `pressure`, or the worst `latency` over its target.
    stated_windows
        The names and weights of the time windows; by default they are numbered and count alike.
    headroom
        By which share of it loads and rates are above the demand that is expected; simulations take
        it off again.
    """

    gpus: tuple[Gpu, ...]
    models: tuple[Model, ...]
    apart: tuple[tuple[str, ...], ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    most_models: int | None = None
    most_pressure: float | None = None
    sharing: str = "slices"
    objective: str = "pressure"
    stated_windows: tuple[Window, ...] = ()
    headroom: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", _checked_items("gpus", Gpu, self.gpus))
        object.__setattr__(self, "models", _checked_items("models", Model, self.models))
        object.__setattr__(self, "gpus", self._limited_to_their_memory())
        object.__setattr__(self, "apart", self._checked_groups("apart", self.apart))
        object.__setattr__(self, "together", self._checked_groups("together", self.together))
        self._check_constraints()
        object.__setattr__(self, "headroom", checked_number(self.headroom, ("headroom",)))
        self._check_windows()
        self._check_sums()
        self._check_uses()
        self._check_latency()

    @cached_property
    def instance(self) -> Instance:
        """The problem as arrays, in the user's units."""
        return instance_of(self.gpus, self.models)

    @cached_property
    def digest(self) -> str:
        """A short hash of every number in the problem; names do not matter."""
        numbers: list[Any] = [
            [gpu.memory_gb for gpu in self.gpus],
            [[model.size_gb, *model.load] for model in self.models],
        ]
        if any(gpu.limits for gpu in self.gpus):
            numbers.append([[gpu.kind, gpu.limits] for gpu in self.gpus])
            numbers.append([model.uses for model in self.models])
            if any(model.shared_uses for model in self.models):
                numbers.append([model.shared_uses for model in self.models])
        if not self.plain:
            numbers.append(self._constraints())
        if self.sleepers or self.open_replicas or self.most_pressure is not None:
            numbers.append([[m.sleep_cost, m.most_replicas] for m in self.models])
            numbers.append(self.most_pressure)
        if self.has_requests:
            numbers.append([m.requests.as_numbers() for m in self.models if m.requests])
            numbers.append([[gpu.kind for gpu in self.gpus], self.sharing, self.objective])
        return sha256(json.dumps(numbers).encode()).hexdigest()[:16]

    @cached_property
    def plain(self) -> bool:
        """Whether every model is whole, on one GPU, and may share any GPU with any other."""
        free = all(
            m.parts == 1 and not (m.only or m.never or m.shared_uses or m.open_replicas)
            for m in self.models
        )
        return free and not self.apart and not self.together and self.most_models is None

    @cached_property
    def open_replicas(self) -> bool:
        """Whether the number of replicas of some model is still to be decided."""
        return any(model.open_replicas for model in self.models)

    @cached_property
    def sleepers(self) -> tuple[Model, ...]:
        """The models that may be left asleep."""
        return tuple(model for model in self.models if model.sleep_cost is not None)

    def awake(self, asleep: Container[str]) -> "Problem | None":
        """Return the problem of the models that are not asleep; None if there are none.

        In that problem the choice of sleepers is made, so no model may sleep.
        """
        models = [model.awake() for model in self.models if model.name not in asleep]
        if not models:
            return None
        apart, together = (
            tuple(left for group in groups if len(left := _awake(group, asleep)) > 1)
            for groups in (self.apart, self.together)
        )
        return replace(self, models=tuple(models), apart=apart, together=together)

    def with_replicas(self, replicas: Mapping[str, int]) -> "Problem":
        """Return the problem with the number of replicas decided."""
        models = (
            m.changed(replicas=replicas[m.name], most_replicas=None) if m.open_replicas else m
            for m in self.models
        )
        return replace(self, models=tuple(models))

    @property
    def has_least_cache(self) -> bool:
        """Whether the models state how much cache they must have."""
        return self.models[0].least_cache_gb is not None

    @cached_property
    def has_requests(self) -> bool:
        """Whether the models state what they are asked, so that latencies can be predicted."""
        return self.models[0].requests is not None

    @cached_property
    def limits_latency(self) -> bool:
        """Whether some model has a target that a placement must keep."""
        stated = (model.requests for model in self.models)
        return any(each is not None and each.binding and each.has_target for each in stated)

    def _limited_to_their_memory(self) -> tuple[Gpu, ...]:
        """Return the GPUs, limited to their memory for sizes and least caches together."""
        for number, model in enumerate(self.models):
            if (model.least_cache_gb is not None) != self.has_least_cache:
                found, advice = "is stated for some models only", "give it for all models or none"
                raise self._of_model(number, ("least_cache_gb",), found, advice)
        if not self.has_least_cache:
            return self.gpus
        return tuple(
            gpu if gpu.limit_on(MEMORY) is not None else gpu.limited(MEMORY, gpu.memory_gb)
            for gpu in self.gpus
        )

    def _constraints(self) -> list[Any]:
        """Return all constraints, by positions of models and GPUs instead of names."""
        place = {model.name: number for number, model in enumerate(self.models)}
        nodes = {node: n for n, node in enumerate(dict.fromkeys(gpu.node for gpu in self.gpus))}
        return [
            [nodes[gpu.node] for gpu in self.gpus],
            [[model.replicas, model.shards] for model in self.models],
            [[number, ends] for number, ends in enumerate(self._ends_of_pins()) if ends],
            *(
                [[place[name] for name in group] for group in g]
                for g in (self.apart, self.together)
            ),
            self.most_models,
        ]

    def _ends_of_pins(self) -> Iterator[list[int]]:
        """Yield, for every model, the positions in the row of GPUs where its permission changes.

        A position before the first GPU counts as open. So a model that may be everywhere has none.
        """
        places: dict[str, list[int]] = {}
        for number, gpu in enumerate(self.gpus, start=1):
            for name in (gpu.name, gpu.node, gpu.kind):
                places.setdefault(name, []).append(number)
        ends: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for model in self.models:
            pins = (model.only, model.never)
            if pins not in ends:
                open_to = np.full(1 + len(self.gpus), not model.only)
                open_to[[n for name in model.only for n in places[name]]] = True
                open_to[[n for name in model.never for n in places[name]]] = False
                open_to[0] = True
                ends[pins] = np.flatnonzero(np.diff(open_to)).tolist()
            yield ends[pins]

    @cached_property
    def windows(self) -> int:
        """How many time windows the loads and the rates of requests have."""
        return max([model.windows for model in self.models])

    def in_window(self, window: int) -> "Problem":
        """Return the problem of one time window alone."""
        models = tuple(model.in_window(window) for model in self.models)
        return replace(self, models=models, stated_windows=())

    @cached_property
    def named_windows(self) -> tuple[Window, ...]:
        """All time windows, by their names or by their numbers."""
        stated = self.stated_windows if len(self.stated_windows) == self.windows else ()
        return stated or numbered_windows(self.windows)

    def _check_sums(self) -> None:
        memory = sum(gpu.memory_gb for gpu in self.gpus)
        for section, field, total in (
            ("gpus", "memory_gb", memory),
            ("models", "size_gb", sum(model.size_gb for model in self.models)),
            ("models", "load", sum(max(model.load) for model in self.models)),
        ):
            if not math.isfinite(total):
                found = f"adds up to {total}"
                raise InputError(Fault(found, "a finite number", path=(section, field)))

    def __reduce__(self) -> tuple[type["Problem"], tuple[Any, ...]]:
        """Copy only what was stated, not what was derived from it."""
        return Problem, tuple(getattr(self, field.name) for field in fields(self))

    def _checked_groups(
        self, field: str, groups: Iterable[Iterable[str]]
    ) -> tuple[tuple[str, ...], ...]:
        names = {model.name for model in self.models}
        checked = tuple(tuple(group) for group in groups)
        for number, group in enumerate(checked):
            if len(set(group)) < 2 or len(set(group)) < len(group):
                expected = "two or more different models"
                raise InputError.of((field, number), list(group), expected)
            for name in group:
                if name not in names:
                    found = f"holds {name!r}, which is not the name of a model"
                    raise InputError(Fault(found, path=(field, number)))
        return checked

    def _check_constraints(self) -> None:
        most = self.most_models
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
            raise InputError.of("most_models", most, "a whole number >= 1")
        if self.most_pressure is not None:
            pressure = checked_number(self.most_pressure, ("most_pressure",))
            object.__setattr__(self, "most_pressure", pressure)
        known = {name for gpu in self.gpus for name in (gpu.name, gpu.node, gpu.kind) if name}
        bundled = {name for group in self.together for name in group}
        self._check_company()
        for number, model in enumerate(self.models):
            for field, names in (("only", model.only), ("never", model.never)):
                for name in names:
                    if name not in known:
                        found = f"has {name!r}, which is no GPU, node or kind of the fleet"
                        raise self._of_model(number, (field,), found)
            if model.name in bundled and model.most_replicas * model.shards > 1:
                gpus = model.most_replicas * model.shards
                found = f"holds {model.name!r}, which is on {gpus} GPUs"
                raise InputError(Fault(found, "models on one GPU", path=("together",)))

    def _of_model(self, number: int, field: Path, found: str, advice: str = "") -> InputError:
        """Return the error of a model by its number."""
        owner = Owner("model", self.models[number].name)
        path = ("models", number, *field)
        return InputError(Fault(found, advice=advice, path=path, owner=owner))

    def _check_company(self) -> None:
        """Refuse models that must be both apart and together."""
        bundles: dict[str, list[int]] = {}
        for number, group in enumerate(self.together):
            for name in group:
                bundles.setdefault(name, []).append(number)
        for group in self.apart:
            shared = Counter(number for name in group for number in bundles.get(name, ()))
            for number in sorted(number for number, count in shared.items() if count > 1):
                both = set(group) & set(self.together[number])
                found = f"and together both hold {' and '.join(sorted(both))}"
                raise InputError(Fault(found, advice="take them out of one", path=("apart",)))

    def _check_uses(self) -> None:
        kinds = {gpu.kind for gpu in self.gpus}
        for number, model in enumerate(self.models):
            for resource, by_kind in (*model.uses, *model.shared_uses):
                known = dict(by_kind)
                for kind in sorted(kinds - known.keys() if ANY_KIND not in known else ()):
                    found = f"has no amount for GPU kind {kind!r}, only for {', '.join(known)}"
                    raise self._of_model(number, ("uses", resource), found)

    def _check_latency(self) -> None:
        for field, value, known in (
            ("sharing", self.sharing, ("slices", "mps")),
            ("objective", self.objective, ("pressure", "latency")),
        ):
            if value not in known:
                raise InputError.of(field, value, " or ".join(known))
        kinds = {gpu.kind for gpu in self.gpus}
        for number, model in enumerate(self.models):
            if (model.requests is not None) != self.has_requests:
                found, advice = "are stated for some models only", "give them for all or none"
                raise self._of_model(number, ("requests",), found, advice)
            known_kinds = dict(model.requests.engines) if model.requests else dict.fromkeys(kinds)
            for kind in sorted(kinds - known_kinds.keys()):
                found = f"have no engine for GPU kind {kind!r}"
                raise self._of_model(number, ("requests",), found)
        if self.objective == "latency" and not self.has_requests:
            found, advice = "is latency", "give every model its requests, or choose pressure"
            raise InputError(Fault(found, advice=advice, path=("objective",)))

    def _check_windows(self) -> None:
        windows = self.windows
        for number, model in enumerate(self.models):
            for field, stated in model.counted_windows:
                if stated not in (1, windows):
                    found = f"has {stated} windows"
                    advice = f"give {windows} like the longest {field}, or one"
                    raise self._of_model(number, (field,), found, advice)
        checked = checked_windows(self.stated_windows, windows)
        object.__setattr__(self, "stated_windows", checked)


def _awake(group: Iterable[str], asleep: Container[str]) -> tuple[str, ...]:
    return tuple(name for name in group if name not in asleep)


def _checked_items(field: str, kind: type[Item], items: Iterable[Item]) -> tuple[Item, ...]:
    given = tuple(items)
    if not given:
        raise InputError.of(field, [], f"a list with at least one {kind.__name__}")
    for number, item in enumerate(given):
        if not isinstance(item, kind):
            raise InputError.of((field, number), item, f"a {kind.__name__}")
    if len({item.name for item in given}) < len(given):
        raise InputError(*_repeats(field, given))
    return given


def _repeats(field: str, items: Iterable[Item]) -> Iterator[Fault]:
    """Yield a fault for every name that an earlier one has."""
    first: dict[str, int] = {}
    for number, item in enumerate(items):
        earlier = first.setdefault(item.name, number)
        if earlier != number:
            owner = Owner(field.removesuffix("s"), item.name)
            path, twin = (field, number, "name"), Spot((field, earlier))
            yield Fault("", "unique", value=item.name, path=path, owner=owner, twin=twin)
