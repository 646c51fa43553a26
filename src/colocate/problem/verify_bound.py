"""A second opinion on a bound, in exact arithmetic, sharing no code with the solver.

A placement counts as valid up to a rounding of its GPUs' memory (see `verify`), so a bound has
to hold for memories that much larger. With `load + K size` as the virtual size of a model and
`K memory` as that of a GPU, every placement at or below the pressure K packs the virtual sizes.

Where the number of copies is open, a placement at or below K has at least so many copies of a model
that one of them fits on a GPU at K, and each holds its whole size. So a bound by volume counts the
fewest copies that its own K allows, and a bound by one model the most there may be.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.verify import ROUNDING, exact_sum, exceeds, use_of

FINENESS = 2**44
"""Virtual sizes are rounded down to so many parts of the largest GPU."""
BAR = 2 * FINENESS
"""The virtual size, in such parts, from which on a model fits nowhere."""
LARGEST_TABLE = 10**7
"""A larger sum of weights on one GPU is not checked, but refused."""


def refuted(problem: Problem, certificate: Certificate) -> str | None:
    """Return why a certificate does not prove its bound, or None if it does.

    A proof by search is not repeated here: it is taken as given (see `reprove`).
    """
    if certificate.bound == 0.0:
        return None
    if not 0 <= certificate.window < problem.windows:
        return f"window {certificate.window} is not one of the {problem.windows} of the problem"
    if certificate.proof is Proof.VOLUME:
        return _refuted_volume(problem, certificate)
    if certificate.proof is Proof.MODEL:
        return _refuted_model(problem, certificate)
    if certificate.proof is Proof.WEIGHTS:
        return _refuted_weights(problem, certificate)
    return None


def _below(what: str, bound: float, proven: Fraction | float) -> str | None:
    if proven == inf or Fraction(bound) <= proven:
        return None
    return f"the {what} proves {float(proven):.15g} only, not {bound:.15g}"


def _load(model: Model, window: int) -> float:
    return model.load[min(window, len(model.load) - 1)]


def _memory(gpu: Gpu) -> Fraction:
    return Fraction(gpu.memory_gb) * (1 + ROUNDING)


def _refuted_volume(problem: Problem, certificate: Certificate) -> str | None:
    load = exact_sum(_load(model, certificate.window) for model in problem.models)
    memory = exact_sum(gpu.memory_gb for gpu in problem.gpus) * (1 + ROUNDING)
    size = Fraction()
    for model in problem.models:
        copies = _fewest_copies(problem, model, certificate)
        if copies is None:
            return None
        size += copies * Fraction(model.size_gb)
    free = memory - size
    proven = Fraction() if load == 0 else load / free if free > 0 else inf
    return _below("volume", certificate.bound, proven)


def _fewest_copies(problem: Problem, model: Model, certificate: Certificate) -> int | None:
    """Return how many copies a placement at or below the bound has at least, None if too many."""
    if not model.elastic:
        return model.replicas
    free = _largest_room(problem, model) - Fraction(model.size_gb) / model.shards
    load = Fraction(_load(model, certificate.window)) / model.shards
    if load == 0:
        return model.replicas
    needed = ceil(load / (Fraction(certificate.bound) * free)) if free > 0 else inf
    return None if needed > model.most_replicas else max(model.replicas, int(needed))


def _largest_room(problem: Problem, model: Model) -> Fraction:
    """Return the memory of the largest GPU that a model may be on, 0 if there is none."""
    part = model.part(model.most_replicas)
    rooms = (
        _memory(gpu)
        for gpu in problem.gpus
        if model.may_be_on(gpu)
        and not any(exceeds([use_of(part, name, gpu.kind)], limit) for name, limit in gpu.limits)
    )
    return max(rooms, default=Fraction())


def _refuted_model(problem: Problem, certificate: Certificate) -> str | None:
    model = next((model for model in problem.models if model.name == certificate.model), None)
    if model is None:
        return f"model {certificate.model!r} is not in the problem"
    parts = model.most_replicas * model.shards
    free = _largest_room(problem, model) - Fraction(model.size_gb) / model.shards
    load = max(Fraction(load) for load in model.load) / parts
    proven = Fraction() if load == 0 else load / free if free > 0 else inf
    return _below(f"model {model.name!r}", certificate.bound, proven)


def _refuted_weights(problem: Problem, certificate: Certificate) -> str | None:
    weights = certificate.weights
    choices = [
        (model, copies)
        for model in problem.models
        for copies in range(model.replicas, model.most_replicas + 1)
    ]
    if len(weights) != len(choices):
        return f"there are {len(weights)} weights for {len(choices)} models"
    if min(weights) < 0:
        return "a weight is negative"
    target = Fraction(certificate.bound)
    memories = Counter(_memory(gpu) for gpu in problem.gpus)
    unit = target * max(memories) / FINENESS
    rooms = {memory: int(target * memory / unit) for memory in memories}
    sizes = [
        min(_virtual(model, copies, certificate.window, target, unit), BAR)
        for model, copies in choices
    ]
    most = _most_weight(sizes, weights, list(rooms.values()))
    if most is None:
        return f"a GPU can hold weights of more than {LARGEST_TABLE}"
    held = sum(count * most[rooms[memory]] for memory, count in memories.items())
    fitting = [size <= max(rooms.values()) for size in sizes]
    if held >= (total := _total_weight(choices, weights, fitting)):
        return f"the GPUs can hold weights of {held}, all models together weigh {total}"
    return None


def _total_weight(
    choices: Sequence[tuple[Model, int]],
    weights: Sequence[int],
    fitting: Sequence[bool],
) -> int:
    """Return what all models weigh at least, with the numbers of copies that fit somewhere.

    An elastic model of which nothing fits counts nothing: the proof by that model is another one.
    """
    least: dict[str, int] = {}
    for (model, copies), weight, fits in zip(choices, weights, fitting, strict=True):
        if fits or not model.elastic:
            whole = copies * model.shards * weight
            least[model.name] = min(whole, least.get(model.name, whole))
    return sum(least.values())


def _virtual(model: Model, copies: int, window: int, target: Fraction, unit: Fraction) -> int:
    load = Fraction(_load(model, window)) / (copies * model.shards)
    size = Fraction(model.size_gb) / model.shards
    return int((load + target * size) / unit)


def _most_weight(
    sizes: Sequence[int], weights: Sequence[int], rooms: Sequence[int]
) -> dict[int, int] | None:
    """Return the most weight that fits in each room, by the least size for every weight.

    The table ends somewhere. If models of more weight than that fitted in a room, so would some
    of them that weigh no more than its end, and less than that by at most one model.
    """
    heaviest = max(weights)
    end = 2 * heaviest
    while end <= LARGEST_TABLE:
        least = np.full(end + 1, BAR * len(sizes), np.int64)
        least[0] = 0
        for size, weight in zip(sizes, weights, strict=True):
            if weight > 0:
                np.minimum(least[weight:], least[:-weight] + size, out=least[weight:])
        best = {room: int(np.flatnonzero(least <= room)[-1]) for room in rooms}
        if max(best.values()) <= end - heaviest:
            return best
        end *= 2
    return None
