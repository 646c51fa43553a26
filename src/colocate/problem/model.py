"""One language model to serve."""

import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner, Path
from colocate.problem.gpu import Gpu
from colocate.problem.quantity import checked_name, checked_number
from colocate.problem.requests import Requests

ANY_KIND = ""
MEMORY = "memory"
"""The resource that a model's size and least cache use together; a GPU has its memory of it."""
COMPUTE = "compute"
"""The resource that is the share of time that a GPU is busy; fleet files estimate it."""
NAMELESS = Owner("model", None)

Uses = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


@dataclass(frozen=True, slots=True, init=False)
class Model:
    """A language model that needs a place.

    Parameters
    ----------
    name
        Unique among the models of a problem.
    size_gb
        Memory it always holds: weights and runtime overhead.
    rate, slo
        Requests per second, one number or one per time window, and the latency objective; the load
        is `rate / slo`.
    load
        The load itself, one number or one per time window; it takes precedence over `rate` and
        `slo`. Kept as a tuple with one entry per window.
    uses
        Use of further additive resources by name: one amount for all kinds of GPU, or a
        mapping from kind to amount. Each part of a model uses that much on its GPU. Kept as
        sorted pairs so that a model can be hashed.
    shared_uses
        The same, for use that the parts of a model share as they share its load.
    replicas
        Replicas of the whole model on different GPUs, which share its load equally.
    most_replicas
        If it is more than `replicas`, the solver chooses a number from `replicas` to this one.
    shards
        Equal parts of a replica (tensor parallelism) on different GPUs of one node.
    only, never
        Names of GPUs, nodes or kinds: the model must be on one of `only`, and on none of `never`.
    sleep_cost
        What is lost when it is left asleep, on no GPU; None if it must be awake.
    least_cache_gb
        The KV cache that a replica must have, over all of its shards. None asks for nothing; the
        models of a problem either all state it or none does. It is kept in `uses` too, together
        with the size, as the use of `MEMORY`.
    requests
        What it is asked, and how fast it works and must answer; None if that is not known.
    """

    name: str
    size_gb: float
    rate: float | tuple[float, ...] | None
    slo: float | None
    load: tuple[float, ...]
    uses: Uses
    shared_uses: Uses
    replicas: int
    most_replicas: int
    shards: int
    only: tuple[str, ...]
    never: tuple[str, ...]
    sleep_cost: float | None
    least_cache_gb: float | None
    requests: Requests | None

    def __init__(
        self,
        name: str,
        size_gb: float,
        rate: float | Iterable[float] | None = None,
        slo: float | None = None,
        load: float | Iterable[float] | None = None,
        uses: Mapping[str, float | Mapping[str, float]] | Uses = (),
        replicas: int = 1,
        shards: int = 1,
        only: Iterable[str] = (),
        never: Iterable[str] = (),
        most_replicas: int | None = None,
        sleep_cost: float | None = None,
        shared_uses: Mapping[str, float | Mapping[str, float]] | Uses = (),
        least_cache_gb: float | None = None,
        requests: Requests | None = None,
    ) -> None:
        owner = Owner("model", checked_name(name, owner=NAMELESS))
        size = checked_number(size_gb, ("size_gb",), owner)
        rates = None if rate is None else _checked_windows(owner, "rate", rate)
        slo = None if slo is None else checked_number(slo, ("slo",), owner, positive=True)
        if load is None:
            loads = _quotients(owner, rates, slo)
        else:
            loads = _checked_windows(owner, "load", load)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "size_gb", size)
        object.__setattr__(self, "rate", rates[0] if rates and len(rates) == 1 else rates)
        object.__setattr__(self, "slo", slo)
        object.__setattr__(self, "load", loads)
        cost = None if sleep_cost is None else checked_number(sleep_cost, ("sleep_cost",), owner)
        replicas = _checked_count(owner, "replicas", replicas)
        most = _checked_count(owner, "most_replicas", most_replicas or replicas)
        if most < replicas:
            raise InputError.of("most_replicas", most, f"at least {replicas}, replicas", owner)
        shards = _checked_count(owner, "shards", shards)
        if least_cache_gb is not None:
            least_cache_gb = checked_number(least_cache_gb, ("least_cache_gb",), owner)
        object.__setattr__(self, "least_cache_gb", least_cache_gb)
        uses = _checked_uses(owner, "uses", uses) if uses else ()
        if least_cache_gb is not None:
            uses = _with_memory(uses, size / shards + least_cache_gb / shards)
        object.__setattr__(self, "uses", uses)
        shared = _checked_uses(owner, "shared_uses", shared_uses) if shared_uses else ()
        if least_cache_gb is not None and MEMORY in dict(shared):
            advice = "size_gb and least_cache_gb say how much memory it needs"
            raise InputError(Fault("is not shared", advice=advice, path=("shared_uses", MEMORY)))
        object.__setattr__(self, "shared_uses", shared)
        object.__setattr__(self, "replicas", replicas)
        object.__setattr__(self, "most_replicas", most)
        object.__setattr__(self, "shards", shards)
        object.__setattr__(self, "only", _checked_names(owner, "only", only))
        object.__setattr__(self, "never", _checked_names(owner, "never", never))
        object.__setattr__(self, "sleep_cost", cost)
        object.__setattr__(self, "requests", requests)

    @property
    def parts(self) -> int:
        """The least number of GPUs that it is on."""
        return self.replicas * self.shards

    @property
    def peak_rate(self) -> float | None:
        """Requests each second in the busiest time window; None if they are not stated."""
        return max(self.rate) if isinstance(self.rate, tuple) else self.rate

    @property
    def peak_demand(self) -> float:
        """Requests each second in the busiest time window, or its load where none are stated."""
        return max(self.load) if self.peak_rate is None else self.peak_rate

    @property
    def windows(self) -> int:
        """How many time windows its demand is stated for."""
        return max([stated for _, stated in self.counted_windows])

    @property
    def counted_windows(self) -> tuple[tuple[str, int], ...]:
        """How many time windows its load has, and its requests."""
        rates = self.requests.rates if self.requests is not None else ()
        return ("load", len(self.load)), ("rate", len(rates) or 1)

    @property
    def open_replicas(self) -> bool:
        """Whether the number of its replicas is still to be decided."""
        return self.most_replicas > self.replicas

    def may_be_on(self, gpu: Gpu) -> bool:
        """Return whether its pins leave a GPU open."""
        names = {gpu.name, gpu.node, gpu.kind} - {""}
        return (not self.only or not names.isdisjoint(self.only)) and names.isdisjoint(self.never)

    def part(self, replicas: int | None = None) -> "Model":
        """Return one of its parts as a model: a share of its size and of its load."""
        replicas = replicas or self.replicas
        parts = replicas * self.shards
        if parts == 1 and not self.shared_uses:
            return self
        load = tuple(amount / parts for amount in self.load)
        least = None if self.least_cache_gb is None else self.least_cache_gb / self.shards
        return Model(
            self.name,
            self.size_gb / self.shards,
            load=load,
            uses=self._uses_of(parts),
            least_cache_gb=least,
            requests=self.requests and self.requests.of_replica(replicas),
        )

    def awake(self) -> "Model":
        """Return the model as one that must be awake."""
        if self.sleep_cost is None:
            return self
        model = copy(self)
        object.__setattr__(model, "sleep_cost", None)
        return model

    def in_window(self, window: int) -> "Model":
        """Return the model with the demand of one time window."""
        if self.windows == 1:
            return self
        load = self.load[window] if len(self.load) > 1 else self.load
        requests = self.requests and self.requests.in_window(window)
        return self.changed(rate=None, load=load, requests=requests)

    def changed(self, **fields: Any) -> "Model":
        """Return the model with some of its fields changed."""
        stated = {name: getattr(self, name) for name in Model.__slots__}
        return Model(**{**stated, **fields})

    def _uses_of(self, parts: int) -> Mapping[str, Mapping[str, float]]:
        """Return what one part uses: its own amount, and its share of what parts share."""
        uses = {resource: dict(by_kind) for resource, by_kind in self.uses}
        for resource, by_kind in self.shared_uses:
            own = uses.get(resource, {ANY_KIND: 0.0})
            shared = dict(by_kind)
            uses[resource] = {
                kind: own.get(kind, own.get(ANY_KIND, 0.0))
                + shared.get(kind, shared.get(ANY_KIND, 0.0)) / parts
                for kind in own.keys() | shared.keys()
            }
        return uses


def _with_memory(uses: Uses, held: float) -> Uses:
    """Return uses with that of memory, in place of one that they may have."""
    others = [use for use in uses if use[0] != MEMORY]
    return tuple(sorted([*others, (MEMORY, ((ANY_KIND, held),))]))


def _checked_count(owner: Owner, field: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError.of(field, value, "a whole number >= 1", owner)
    return value


def _checked_names(owner: Owner, field: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError.of(field, names, "a list of names", owner)
    return tuple(checked_name(name, (field, n), owner) for n, name in enumerate(names))


def _quotients(
    owner: Owner, rates: tuple[float, ...] | None, slo: float | None
) -> tuple[float, ...]:
    """Return the load of every window from its rate."""
    if rates is None or slo is None:
        missing = "rate" if rates is None else "slo"
        raise InputError.missing(missing, advice="give rate and slo, or load", owner=owner)
    for rate in rates:
        if not math.isfinite(rate / slo):
            found = f"over slo={slo:g} is {rate / slo:g}"
            raise InputError(
                Fault(found, "a finite number", value=rate, path=("rate",), owner=owner)
            )
    return tuple(rate / slo for rate in rates)


def _checked_windows(owner: Owner, field: str, value: float | Iterable[float]) -> tuple[float, ...]:
    """Return what is stated for every window, one number if that stands for all."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (checked_number(value, (field,), owner),)
    numbers = tuple(checked_number(number, (field, t), owner) for t, number in enumerate(value))
    if not numbers:
        raise InputError.of(field, [], "a list with at least one window", owner)
    return numbers


def _checked_uses(
    owner: Owner, field: str, uses: Mapping[str, float | Mapping[str, float]] | Uses
) -> Uses:
    checked: list[tuple[str, tuple[tuple[str, float], ...]]] = []
    for resource, amount in dict(uses).items():
        by_kind = dict(amount) if isinstance(amount, Mapping | tuple) else {ANY_KIND: amount}
        path: Path = (field, resource)
        pairs = ((kind, checked_number(value, path, owner)) for kind, value in by_kind.items())
        checked.append((checked_name(resource, ("resource",), owner), tuple(sorted(pairs))))
    return tuple(sorted(checked))
