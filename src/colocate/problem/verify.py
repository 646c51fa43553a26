"""A second opinion on a placement: slow, exact, and sharing no code with the solver.

All sums are rational numbers, so nothing here is a matter of rounding.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.problem import Problem

ROUNDING = Fraction(1, 10**11)
"""Share of a limit below which an excess counts as rounding of the inputs."""


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
        members[placement[model.name][0]].append(model)
    for gpu in problem.gpus:
        faults += _faults_of_limits(gpu, members[gpu.name])
    if faults:
        return Verdict(tuple(faults), {})
    return Verdict((), {gpu.name: _pressure(gpu, members[gpu.name]) for gpu in problem.gpus})


def _faults_of_names(problem: Problem, placement: Mapping[str, Sequence[str]]) -> list[str]:
    gpus = {gpu.name for gpu in problem.gpus}
    models = {model.name for model in problem.models}
    faults = [f"model {name!r} is not in the problem" for name in placement if name not in models]
    for model in problem.models:
        if model.name not in placement:
            faults.append(f"model {model.name!r} is not placed")
            continue
        places: object = placement[model.name]
        if isinstance(places, str) or not isinstance(places, Sequence) or len(places) != 1:
            faults.append(f"model {model.name!r} is on {places!r}, must be on one GPU")
        elif not isinstance(places[0], str) or places[0] not in gpus:
            faults.append(f"model {model.name!r} is on {places[0]!r}, which does not exist")
    return faults


def _faults_of_limits(gpu: Gpu, models: Sequence[Model]) -> list[str]:
    faults = []
    used = exact_sum(model.size_gb for model in models)
    if used > Fraction(gpu.memory_gb) * (1 + ROUNDING):
        faults.append(f"gpu {gpu.name!r} holds {_float(used):.15g} GB of {gpu.memory_gb:.15g} GB")
    for resource, limit in gpu.limits:
        use = exact_sum(_use(model, resource, gpu.kind) for model in models)
        if use > Fraction(limit) * (1 + ROUNDING):
            faults.append(f"gpu {gpu.name!r} uses {_float(use):.15g} {resource} of {limit:.15g}")
    return faults


def _use(model: Model, resource: str, kind: str) -> float:
    by_kind = dict(dict(model.uses).get(resource, ((ANY_KIND, 0.0),)))
    return by_kind[kind] if kind in by_kind else by_kind[ANY_KIND]


def _pressure(gpu: Gpu, models: Sequence[Model]) -> float:
    windows = max((len(model.load) for model in models), default=1)
    loads = [
        exact_sum(model.load[min(t, len(model.load) - 1)] for model in models)
        for t in range(windows)
    ]
    if not any(loads):
        return 0.0
    memory = Fraction(gpu.memory_gb)
    free = memory - exact_sum(model.size_gb for model in models)
    return _float(max(loads) / free) if free > memory * ROUNDING else inf


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf


def exact_sum(values: Iterable[float]) -> Fraction:
    """Add floats without any rounding: each is a whole number over a power of two."""
    total, bits = 0, 0
    for value in values:
        numerator, denominator = value.as_integer_ratio()
        shift = denominator.bit_length() - 1
        if shift > bits:
            total <<= shift - bits
            bits = shift
        total += numerator << (bits - shift)
    return Fraction(total, 1 << bits)
