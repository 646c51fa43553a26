"""A second opinion on a placement: slow, exact, and sharing no code with the solver.

All sums are rational numbers, so nothing here is a matter of rounding.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, inf

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.problem import Problem

ROUNDING = Fraction(1, 10**11)
"""Share of a limit below which an excess counts as rounding of the inputs."""
SLACK = 1e-9
"""The same for a limit on the pressure."""


@dataclass(frozen=True)
class Verdict:
    """What the checker found.

    Parameters
    ----------
    faults
        A sentence for each rule that the placement breaks; none if it is valid.
    pressures
        Pressure by GPU name; empty if there is a fault.
    """

    faults: tuple[str, ...]
    pressures: Mapping[str, float]

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


def verify(problem: Problem, placement: Mapping[str, Sequence[str]]) -> Verdict:
    """Re-check a placement from scratch: every model once, every limit, every pressure."""
    faults = _faults_of_names(problem, placement)
    if faults:
        return Verdict(tuple(faults), {})
    members: dict[str, list[Model]] = {gpu.name: [] for gpu in problem.gpus}
    for model in problem.models:
        places = placement[model.name]
        for place in places:
            members[place].append(model.part(len(places) // model.shards))
    for gpu in problem.gpus:
        faults += _faults_of_limits(gpu, members[gpu.name])
    asleep = {model.name for model in problem.models if not placement[model.name]}
    faults += _faults_of_company(problem, members, asleep)
    if faults:
        return Verdict(tuple(faults), {})
    pressures = {gpu.name: _pressure(gpu, members[gpu.name]) for gpu in problem.gpus}
    faults = _faults_of_pressure(problem, pressures)
    return Verdict(tuple(faults), {} if faults else pressures)


def highest_pressure(problem: Problem) -> float:
    """Return the highest pressure that is let pass, infinite if there is no limit."""
    return inf if problem.most_pressure is None else problem.most_pressure * (1 + SLACK)


def _faults_of_pressure(problem: Problem, pressures: Mapping[str, float]) -> list[str]:
    highest = highest_pressure(problem)
    return [
        f"gpu {gpu!r} has a pressure of {pressure:.15g}, {problem.most_pressure:.15g} at most"
        for gpu, pressure in pressures.items()
        if pressure > highest
    ]


def _faults_of_names(problem: Problem, placement: Mapping[str, Sequence[str]]) -> list[str]:
    gpus = {gpu.name: gpu for gpu in problem.gpus}
    models = {model.name for model in problem.models}
    faults = [f"model {name!r} is not in the problem" for name in placement if name not in models]
    for model in problem.models:
        if model.name not in placement:
            faults.append(f"model {model.name!r} is not placed")
            continue
        places: object = placement[model.name]
        if not isinstance(places, list | tuple) or len(places) not in _wanted(model):
            faults.append(f"model {model.name!r} is on {places!r}, must be on {_number(model)}")
            continue
        unknown = [p for p in places if not isinstance(p, str) or p not in gpus]
        faults += [f"model {model.name!r} is on {p!r}, which does not exist" for p in unknown]
        if not unknown and (len(places) > 1 or model.only or model.never):
            faults += _faults_of_places(model, [gpus[place] for place in places])
    return faults


def _wanted(model: Model) -> list[int]:
    """Return all numbers of GPUs that a model may be on."""
    copies = range(model.replicas, model.most_replicas + 1)
    asleep = [] if model.sleep_cost is None else [0]
    return asleep + [count * model.shards for count in copies]


def _number(model: Model) -> str:
    least, most = model.replicas * model.shards, model.most_replicas * model.shards
    if least < most:
        return f"{least} to {most} GPUs, in copies of {model.shards}"
    return "one GPU" if least == 1 else f"{least} GPUs"


def _faults_of_places(model: Model, places: Sequence[Gpu]) -> list[str]:
    """Check where one model is: allowed, on different GPUs, each copy in one node."""
    faults = [
        f"model {model.name!r} is on {gpu.name!r}, where it must not be"
        for gpu in places
        if not _allowed(model, gpu)
    ]
    if len({gpu.name for gpu in places}) < len(places):
        faults.append(f"model {model.name!r} is on one GPU more than once")
    for first in range(0, len(places), model.shards):
        nodes = {gpu.node for gpu in places[first : first + model.shards]}
        if len(nodes) > 1:
            faults.append(f"model {model.name!r} has a copy on nodes {', '.join(sorted(nodes))}")
    return faults


def _allowed(model: Model, gpu: Gpu) -> bool:
    names = [name for name in (gpu.name, gpu.node, gpu.kind) if name]
    if any(name in model.never for name in names):
        return False
    return not model.only or any(name in model.only for name in names)


def _faults_of_company(
    problem: Problem, members: Mapping[str, Sequence[Model]], asleep: Set[str]
) -> list[str]:
    """Check who shares a GPU with whom, and with how many."""
    if not problem.apart and not problem.together and problem.most_models is None:
        return []
    faults = []
    for gpu, models in members.items():
        names = [model.name for model in models]
        if problem.most_models is not None and len(names) > problem.most_models:
            faults.append(f"gpu {gpu!r} holds {len(names)} models, {problem.most_models} at most")
        for group in problem.apart:
            here = [name for name in group if name in names]
            if len(here) > 1:
                faults.append(f"gpu {gpu!r} holds {' and '.join(here)}, which must be apart")
        for group in problem.together:
            here = [name for name in group if name in names]
            if here and len(here) < len(set(group) - asleep):
                faults.append(f"gpu {gpu!r} holds {here[0]} without all that belong to it")
    return faults


def _faults_of_limits(gpu: Gpu, models: Sequence[Model]) -> list[str]:
    faults = []
    sizes = [model.size_gb for model in models]
    if exceeds(sizes, gpu.memory_gb):
        faults.append(f"gpu {gpu.name!r} holds {_total(sizes):.15g} GB of {gpu.memory_gb:.15g} GB")
    for resource, limit in gpu.limits:
        uses = [use_of(model, resource, gpu.kind) for model in models]
        if exceeds(uses, limit):
            faults.append(f"gpu {gpu.name!r} uses {_total(uses):.15g} {resource} of {limit:.15g}")
    return faults


def exceeds(amounts: Sequence[float], limit: float) -> bool:
    """Say whether amounts add up to more than a limit and its rounding, exactly."""
    (most, *parts), _ = whole_numbers([limit, *amounts])
    return sum(parts) * ROUNDING.denominator > most * (ROUNDING.denominator + ROUNDING.numerator)


def _total(amounts: Sequence[float]) -> float:
    try:
        return fsum(amounts)
    except OverflowError:
        return inf


def use_of(model: Model, resource: str, kind: str) -> float:
    """Return what a part uses of a resource on a kind of GPU."""
    by_kind = dict(dict(model.uses).get(resource, ((ANY_KIND, 0.0),)))
    return by_kind[kind] if kind in by_kind else by_kind[ANY_KIND]


def _pressure(gpu: Gpu, models: Sequence[Model]) -> float:
    windows = max((len(model.load) for model in models), default=1)
    flat = [model.load[min(t, len(model.load) - 1)] for t in range(windows) for model in models]
    loads, load_bits = whole_numbers(flat)
    load = max(sum(loads[t * len(models) : (t + 1) * len(models)]) for t in range(windows))
    if load == 0:
        return 0.0
    (memory, *sizes), size_bits = whole_numbers([gpu.memory_gb, *(m.size_gb for m in models)])
    free = memory - sum(sizes)
    if free * ROUNDING.denominator <= memory * ROUNDING.numerator:
        return inf
    try:
        return (load << size_bits) / (free << load_bits)
    except OverflowError:
        return inf


def whole_numbers(values: Sequence[float]) -> tuple[list[int], int]:
    """Return floats as whole numbers over one power of two, and its exponent: nothing is lost."""
    ratios = [value.as_integer_ratio() for value in values]
    bits = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
    return [n << (bits + 1 - denominator.bit_length()) for n, denominator in ratios], bits


def exact_sum(values: Iterable[float]) -> Fraction:
    """Add floats without any rounding."""
    numbers, bits = whole_numbers(list(values))
    return Fraction(sum(numbers), 1 << bits)
