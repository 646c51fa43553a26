"""Check bounds by volume and by one model: sums that any placement must have.

A placement is valid up to a rounding of the memory of its GPUs (see `verify`), so a bound must hold
for memories that much larger. Where the number of replicas is open, a placement at or below K has
enough replicas of a model that one of them fits on a GPU at K. Each replica holds the whole size.
So a bound by volume counts the fewest replicas that its own K allows, and a bound by one model
counts the most replicas allowed.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf, isinf

from colocate.problem.certificate import Certificate
from colocate.problem.checker.items import Kin, kin_of, open_to, use_on
from colocate.problem.checker.tolerance import ROUNDING
from colocate.problem.exact import whole_numbers
from colocate.problem.gpu import Gpu
from colocate.problem.model import MEMORY, Model
from colocate.problem.problem import Problem

MOST = Fraction(2) ** 1023
"""Proofs of more than this are reported as infinite; no finite bound is twice as high."""


def refuted_volume(problem: Problem, certificate: Certificate) -> str | None:
    """Return why all load over all free memory does not prove a bound, or None if it does."""
    if isinf(certificate.bound) and _memory_is_short(problem):
        return None
    load = _total([load_in(model, certificate.window) for model in problem.models])
    memory = _total([gpu.memory_gb for gpu in problem.gpus]) * (1 + ROUNDING)
    size = _total([model.size_gb for model in problem.models])
    largest_first = _largest_first(problem) if problem.open_replicas else []
    for model in problem.models:
        replicas = model.replicas
        if model.open_replicas and not isinf(certificate.bound):
            fewest = _fewest_replicas(largest_first, model, certificate)
            if fewest is None:
                return None
            replicas = fewest
        if replicas > 1:
            size += (replicas - 1) * Fraction(model.size_gb)
    return below("volume", certificate.bound, _quotient(load, memory - size))


def _memory_is_short(problem: Problem) -> bool:
    """Return whether sizes and least caches exceed the limits on memory of all GPUs together."""
    limits = [gpu.limit_on(MEMORY) for gpu in problem.gpus]
    stated = [limit for limit in limits if limit is not None]
    if len(stated) < len(limits) or not problem.has_least_cache:
        return False
    held = sum(
        (
            (Fraction(model.size_gb) + Fraction(model.least_cache_gb or 0.0)) * model.replicas
            for model in problem.models
            if model.sleep_cost is None
        ),
        Fraction(),
    )
    return held > _total(stated) * (1 + ROUNDING)


def refuted_model(problem: Problem, certificate: Certificate) -> str | None:
    """Return why one model, alone on its GPUs, does not prove a bound, or None if it does.

    Models that must stay with it count as part of it.
    """
    kin = next(
        (k for k in kin_of(problem) if any(m.name == certificate.model for m in k.members)), None
    )
    if kin is None:
        return f"model {certificate.model!r} is not in the problem"
    rooms = _rooms(problem, kin)
    if kin.parts > len(rooms):
        return None
    parts = max(model.most_replicas for model in kin.members) * kin.shards
    size = _total([model.size_gb for model in kin.members]) / kin.shards
    windows = range(problem.windows)
    load = max(_total([load_in(m, t) for m in kin.members]) for t in windows) / parts
    proven = _quotient(load, rooms[kin.parts - 1] - size)
    return below(f"model {certificate.model!r}", certificate.bound, proven)


def below(what: str, bound: float, proven: Fraction | float) -> str | None:
    """Return a message if a proof shows less than its bound; None if it shows enough.

    Parameters
    ----------
    what
        The kind of proof, for the message.
    bound
        The bound that is claimed.
    proven
        What the sums prove.
    """
    if proven == inf or (not isinf(bound) and Fraction(bound) <= proven):
        return None
    told = "an infinite pressure" if proven > MOST else f"{float(proven):.15g}"
    return f"the {what} proves {told} only, not {bound:.15g}"


def load_in(model: Model, window: int) -> float:
    """Return the load of a model in a window."""
    return model.load[window if len(model.load) > 1 else 0]


def _total(values: Sequence[float]) -> Fraction:
    whole, bits = whole_numbers(values)
    return Fraction(sum(whole), 1 << bits)


def _quotient(load: Fraction, free: Fraction) -> Fraction | float:
    """Return the pressure of a load on free memory; infinite if memory is overfilled.

    With no memory left the pressure is infinite, but there may be a placement. So the result is
    then larger than any finite bound, but not infinite.
    """
    if free < 0:
        return inf
    if load == 0:
        return Fraction()
    return load / free if free > 0 else 2 * MOST


def _largest_first(problem: Problem) -> list[Gpu]:
    return sorted(problem.gpus, key=lambda gpu: -gpu.memory_gb)


def _fewest_replicas(gpus: Sequence[Gpu], model: Model, certificate: Certificate) -> int | None:
    """Return the fewest replicas of a placement at or below the bound; None if too many."""
    load = Fraction(load_in(model, certificate.window)) / model.shards
    if load == 0:
        return model.replicas
    alone = Kin((model,), model.replicas, model.shards, frozenset(), False)
    pins, within = alone.pins, {}
    free = -Fraction(model.size_gb) / model.shards
    for gpu in gpus:
        key = (gpu.kind, gpu.limits)
        if key not in within:
            within[key] = _within(alone, gpu)
        if within[key] and (not pins or open_to(pins, gpu)):
            free += Fraction(gpu.memory_gb) * (1 + ROUNDING)
            break
    needed = ceil(load / (Fraction(certificate.bound) * free)) if free > 0 else inf
    return None if needed > model.most_replicas else max(model.replicas, int(needed))


def _rooms(problem: Problem, kin: Kin) -> list[Fraction]:
    """Return the memory of all GPUs that are open to an item, largest first.

    The others are closed by pins, limits or size, whatever the number of replicas.
    """
    most = problem.most_models
    if kin.homeless or (most is not None and len(kin.members) > most):
        return []
    size = _total([model.size_gb for model in kin.members]) / kin.shards
    pins = kin.pins
    known: dict[tuple[float, str, tuple[tuple[str, float], ...]], Fraction | None] = {}
    rooms = []
    for gpu in problem.gpus:
        key = (gpu.memory_gb, gpu.kind, gpu.limits)
        if key not in known:
            room = Fraction(gpu.memory_gb) * (1 + ROUNDING)
            known[key] = room if size <= room and _within(kin, gpu) else None
        found = known[key]
        if found is not None and (not pins or open_to(pins, gpu)):
            rooms.append(found)
    return sorted(rooms, reverse=True)


def _within(kin: Kin, gpu: Gpu) -> bool:
    """Return whether an item alone is within the limits of a GPU, at any number of replicas."""
    for resource, limit in gpu.limits:
        used = _total([use_on(model.uses, resource, gpu.kind) for model in kin.members])
        for model in kin.members:
            if model.shared_uses:
                shared = Fraction(use_on(model.shared_uses, resource, gpu.kind))
                used += shared / (model.most_replicas * model.shards)
        if used > Fraction(limit) * (1 + ROUNDING):
            return False
    return True
