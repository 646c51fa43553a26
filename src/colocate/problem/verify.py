"""Check a placement a second time: exactly, and with no code of the solver.

Sums are whole numbers over a power of two, so nothing here depends on rounding. Where a sum is
clearly below its limit, `fsum` is enough: it rounds once, at the end, by less than one part in
10^15.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import fsum, inf, lcm
from typing import NamedTuple

from colocate.problem.checker.latency.placed import (
    broken_targets,
    felt_latencies,
    ratios_by_gpu,
)
from colocate.problem.checker.tolerance import CLEARLY, ROUNDING, SLACK
from colocate.problem.exact import exact_sum, whole_numbers
from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, COMPUTE, MEMORY, Model, Uses
from colocate.problem.problem import Problem


class PlacedPart(NamedTuple):
    """A part of a model on a GPU."""

    model: Model
    number: int
    """How many parts the model has in all."""
    size: int
    """The size of the whole model, a whole number as in `WholeNumbers`; so is the load."""
    load: tuple[int, ...]


class WholeNumbers(NamedTuple):
    """Memories, sizes and loads as whole numbers over a power of two; this is exact."""

    memory: dict[str, int]
    """By GPU."""
    size: dict[str, int]
    """By model."""
    load: dict[str, tuple[int, ...]]
    """By model and window."""
    size_bits: int
    load_bits: int


@dataclass(frozen=True)
class PlacementVerdict:
    """What the checker found.

    Parameters
    ----------
    faults
        A sentence for each rule that the placement breaks; none if it is valid.
    pressures
        Pressure by GPU name; empty if there is a fault.
    ratios
        The worst ratio of latency to target by GPU name; empty if there is a fault, or if the
        problem does not say what its models are asked.
    """

    faults: tuple[str, ...]
    pressures: Mapping[str, float]
    ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether the placement breaks no rule."""
        return not self.faults

    def __bool__(self) -> bool:
        return self.valid

    @property
    def pressure(self) -> float:
        """The highest pressure, infinite if the placement is not valid."""
        return max(self.pressures.values(), default=inf)

    @property
    def ratio(self) -> float:
        """The worst ratio; infinite if the placement is not valid, or nothing is known of it."""
        return max(self.ratios.values(), default=inf)


def verify(problem: Problem, placement: Mapping[str, Sequence[str]]) -> PlacementVerdict:
    """Re-check a placement from scratch: models, limits, pressures, and latencies if known."""
    gpus = {gpu.name: gpu for gpu in problem.gpus}
    faults = _faults_of_names(problem, placement, gpus)
    if faults:
        return PlacementVerdict(tuple(faults), {})
    scale = _scale_of(problem)
    members: dict[str, list[PlacedPart]] = {name: [] for name in gpus}
    for model in problem.models:
        places, name = placement[model.name], model.name
        part = PlacedPart(model, len(places), scale.size[name], scale.load[name])
        for place in places:
            members[place].append(part)
    for name, parts in members.items():
        if parts:
            faults += _faults_of_limits(gpus[name], parts, scale.memory[name])
    faults += _faults_of_company(problem, placement, members)
    if faults:
        return PlacementVerdict(tuple(faults), {})
    pressures = {
        name: _pressure(scale.memory[name], parts, scale) if parts else 0.0
        for name, parts in members.items()
    }
    faults = _faults_of_pressure(problem, pressures)
    felt = felt_latencies(problem, placement) if problem.has_requests else []
    faults += broken_targets(felt)
    if faults:
        return PlacementVerdict(tuple(faults), {})
    ratios = ratios_by_gpu(problem, felt) if problem.has_requests else {}
    return PlacementVerdict((), pressures, ratios)


def _scale_of(problem: Problem) -> WholeNumbers:
    gpus, models = problem.gpus, problem.models
    amounts, size_bits = whole_numbers(
        [*[gpu.memory_gb for gpu in gpus], *[model.size_gb for model in models]]
    )
    memory = {gpu.name: amount for gpu, amount in zip(gpus, amounts[: len(gpus)], strict=True)}
    sizes = amounts[len(gpus) :]
    size = {model.name: amount for model, amount in zip(models, sizes, strict=True)}
    loads, load_bits = whole_numbers([amount for model in models for amount in model.load])
    each = iter(loads)
    load = {
        model.name: tuple(islice(each, len(model.load))) * (problem.windows // len(model.load))
        for model in models
    }
    return WholeNumbers(memory, size, load, size_bits, load_bits)


def highest_pressure(problem: Problem) -> float:
    """Return the highest pressure that is accepted; infinite if there is no limit."""
    return inf if problem.most_pressure is None else problem.most_pressure * (1 + SLACK)


def _faults_of_pressure(problem: Problem, pressures: Mapping[str, float]) -> list[str]:
    highest = highest_pressure(problem)
    return [
        f"gpu {gpu!r} has a pressure of {pressure:.15g}, {problem.most_pressure:.15g} at most"
        for gpu, pressure in pressures.items()
        if pressure > highest
    ]


def _faults_of_names(
    problem: Problem, placement: Mapping[str, Sequence[str]], gpus: Mapping[str, Gpu]
) -> list[str]:
    models = {model.name for model in problem.models}
    faults = [f"model {name!r} is not in the problem" for name in placement if name not in models]
    for model in problem.models:
        if model.name not in placement:
            faults.append(f"model {model.name!r} is not placed")
            continue
        places: object = placement[model.name]
        if not isinstance(places, list | tuple) or not _wanted(model, len(places)):
            faults.append(
                f"model {model.name!r} is on {_told_places(places)}, must be on {_number(model)}"
            )
            continue
        unknown = [p for p in places if not isinstance(p, str) or p not in gpus]
        faults += [f"model {model.name!r} is on {p!r}, which does not exist" for p in unknown]
        if not unknown and (len(places) > 1 or model.only or model.never):
            faults += _faults_of_places(model, [gpus[place] for place in places])
    return faults


def _told_places(places: object) -> str:
    """Return what a placement states as the GPUs of a model, in words."""
    if not isinstance(places, list | tuple):
        return repr(places)
    return ", ".join(map(repr, places)) or "no GPU"


def _wanted(model: Model, number: int) -> bool:
    """Return whether a model may have so many parts."""
    if number == 0:
        return model.sleep_cost is not None
    replicas, rest = divmod(number, model.shards)
    return rest == 0 and model.replicas <= replicas <= model.most_replicas


def _number(model: Model) -> str:
    least, most = model.replicas * model.shards, model.most_replicas * model.shards
    if least < most:
        return f"{least} to {most} GPUs, in replicas of {model.shards}"
    return "one GPU" if least == 1 else f"{least} GPUs"


def _faults_of_places(model: Model, places: Sequence[Gpu]) -> list[str]:
    """Check the places of one model: allowed, different GPUs, each replica in one node."""
    only, never = frozenset(model.only), frozenset(model.never)
    faults = [
        f"model {model.name!r} is on {gpu.name!r}, where it must not be"
        for gpu in places
        if not allowed(only, never, gpu)
    ]
    if len({gpu.name for gpu in places}) < len(places):
        faults.append(f"model {model.name!r} is on one GPU more than once")
    for first in range(0, len(places) if model.shards > 1 else 0, model.shards):
        nodes = {gpu.node for gpu in places[first : first + model.shards]}
        if len(nodes) > 1:
            faults.append(f"model {model.name!r} has a replica on nodes {', '.join(sorted(nodes))}")
    return faults


def allowed(only: Set[str], never: Set[str], gpu: Gpu) -> bool:
    """Return whether pins leave a GPU open. A node or kind without a name matches no pin.

    Parameters
    ----------
    only, never
        The names that a model must, or must not, be on.
    gpu
        The GPU.
    """
    names = [name for name in (gpu.name, gpu.node, gpu.kind) if name]
    return never.isdisjoint(names) and (not only or not only.isdisjoint(names))


def _faults_of_company(
    problem: Problem,
    placement: Mapping[str, Sequence[str]],
    members: Mapping[str, Sequence[PlacedPart]],
) -> list[str]:
    """Check which models share a GPU, and how many."""
    found: list[tuple[str, int, int, str]] = []
    most = problem.most_models
    if most is not None:
        found += [
            (gpu, 0, 0, f"gpu {gpu!r} holds {len(parts)} models, {most} at most")
            for gpu, parts in members.items()
            if len(parts) > most
        ]
    for number, group in enumerate(problem.apart):
        for gpu, here in _shared(group, placement).items():
            if len(here) > 1:
                told = f"gpu {gpu!r} holds {' and '.join(here)}, which must be apart"
                found.append((gpu, 1, number, told))
    for number, group in enumerate(problem.together):
        awake = sum(len(placement[name]) > 0 for name in group)
        for gpu, here in _shared(group, placement).items():
            if len(here) < awake:
                told = f"gpu {gpu!r} holds {here[0]} without all that must be with it"
                found.append((gpu, 2, number, told))
    if not found:
        return []
    place = {gpu: number for number, gpu in enumerate(members)}
    return [told for *_, told in sorted(found, key=lambda fault: (place[fault[0]], fault[1:3]))]


def _shared(group: Iterable[str], placement: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return, for each GPU, the members of a group that are on it."""
    here: dict[str, list[str]] = {}
    for name in group:
        for gpu in placement[name]:
            here.setdefault(gpu, []).append(name)
    return here


def _faults_of_limits(gpu: Gpu, parts: Sequence[PlacedPart], memory: int) -> list[str]:
    faults = []
    held, shards = _held(parts)
    if held * ROUNDING.denominator > memory * shards * (ROUNDING.denominator + 1):
        sizes = [(part.model.size_gb, part.model.shards) for part in parts]
        told = f"{_total(sizes):.15g} GB of {gpu.memory_gb:.15g} GB"
        faults.append(f"gpu {gpu.name!r} holds {told}")
    for resource, limit in gpu.limits:
        uses = [use for part in parts for use in uses_of(part.model, part.number, resource, gpu)]
        if exceeds(uses, limit) and not (resource == MEMORY and faults):
            faults.append(f"gpu {gpu.name!r} {_told(resource, parts, _total(uses), limit)}")
    return faults


def _told(resource: str, parts: Sequence[PlacedPart], used: float, limit: float) -> str:
    """Say how much of a resource is used, in its own unit."""
    if resource == COMPUTE:
        return f"is busy {100 * used:.15g}% of the time, {100 * limit:.15g}% at most"
    if resource == MEMORY and parts[0].model.least_cache_gb is not None:
        size = _total([(part.model.size_gb, part.model.shards) for part in parts])
        cache = [(part.model.least_cache_gb or 0.0, part.model.shards) for part in parts]
        return (
            f"needs {used:.15g} GB of {limit:.15g} GB: its models hold {size:.15g} GB and must "
            f"have {_total(cache):.15g} GB of cache"
        )
    return f"uses {used:.15g} {resource} of {limit:.15g}"


def exceeds(amounts: Sequence[tuple[float, int]], limit: float) -> bool:
    """Return whether amounts add up to more than a limit and its rounding, exactly.

    Each amount is a number and its divisor.
    """
    if all(divisor == 1 for _, divisor in amounts):
        whole = [amount for amount, _ in amounts]
        if _sum(whole) <= limit * CLEARLY:
            return False
    total = exact_sum(amounts)
    return total > Fraction(limit) * (1 + ROUNDING)


def _total(amounts: Sequence[tuple[float, int]]) -> float:
    return _sum([amount / divisor for amount, divisor in amounts])


def _sum(amounts: Sequence[float]) -> float:
    try:
        return fsum(amounts)
    except OverflowError:
        return inf


def uses_of(model: Model, parts: int, resource: str, gpu: Gpu) -> tuple[tuple[float, int], ...]:
    """Return what one part of a model uses: its own amount, and its share of what parts share.

    Parameters
    ----------
    model
        The model.
    parts
        How many parts it has in all.
    resource
        The resource.
    gpu
        The GPU that the part is on.
    """
    if resource == MEMORY and model.least_cache_gb is not None:
        return (model.size_gb, model.shards), (model.least_cache_gb, model.shards)
    own = (_amount(model.uses, resource, gpu.kind), 1)
    if not model.shared_uses:
        return (own,)
    return own, (_amount(model.shared_uses, resource, gpu.kind), parts)


def _amount(uses: Uses, resource: str, kind: str) -> float:
    for name, by_kind in uses:
        if name == resource:
            usual = 0.0
            for its_kind, amount in by_kind:
                if its_kind == kind:
                    return amount
                if its_kind == ANY_KIND:
                    usual = amount
            return usual
    return 0.0


def use_of(model: Model, resource: str, kind: str) -> float:
    """Return what a part uses of a resource by itself, without what the parts share.

    Parameters
    ----------
    model
        The model.
    resource
        The resource.
    kind
        The kind of GPU.
    """
    return _amount(model.uses, resource, kind)


def _held(parts: Sequence[PlacedPart]) -> tuple[int, int]:
    """Return the memory that parts hold, as a whole number and its divisor."""
    shards = lcm(*[part.model.shards for part in parts])
    if shards == 1:
        return sum([part.size for part in parts]), 1
    return sum([part.size * (shards // part.model.shards) for part in parts]), shards


def _pressure(memory: int, parts: Sequence[PlacedPart], scale: WholeNumbers) -> float:
    numbers = lcm(*[part.number for part in parts])
    loads = [part.load for part in parts]
    if numbers > 1:
        loads = [tuple([load * (numbers // p.number) for load in p.load]) for p in parts]
    load = max(map(sum, zip(*loads, strict=True)))
    if load == 0:
        return 0.0
    held, shards = _held(parts)
    free = memory * shards - held
    if free * ROUNDING.denominator <= memory * shards:
        return inf
    try:
        return (load * shards << scale.size_bits) / (free * numbers << scale.load_bits)
    except OverflowError:
        return inf
