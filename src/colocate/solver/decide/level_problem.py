"""The problem of one level: the highest pressure of the GPUs that hold no level above.

Some GPUs are settled: they hold the levels above, and each must stay at or below its ceiling K. The
level problem is an ordinary problem, so the search, the proofs and their certificates work on it.

- A GPU of C GB is within its ceiling if and only if `w / K + s <= C` in every window, for the load
  w and the size s on it. That is a limit on an additive resource. Its use depends on the GPU, so
  every settled GPU has a kind of its own.
- A settled GPU must not count as the highest. Its memory is raised to `max(w + F s) / F`, over all
  that it can hold within its ceiling, for a pressure F, the floor. Then `w / (memory - s) <= F`.

Claim: let t be the lowest possible highest pressure of the other GPUs. A placement that reaches it
has no pressure above max(t, F) in the level problem. So a bound above F on the level problem is a
bound on t.

A second pressure R, the roof, makes bounds tighter. A model that alone has R or more on every other
GPU can only be on a settled one. If only one is open to it, it is kept there, and what does not fit
beside it is kept away. Placements left out have R or more on some GPU, so a bound above R counts as
R.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Model, Uses
from colocate.problem.problem import Problem
from colocate.problem.tolerance import FIT, TIE

LEAST_ROOM = 0.001
"""The least memory of a settled GPU, as a share of its own: a GPU needs some."""
MOST_PAIRS = 40_000
"""Models times settled GPUs up to which models are kept on GPUs, and rooms are computed exactly:
some 0.1 s."""


class Settled(NamedTuple):
    """A settled GPU, and what can be on it."""

    gpu: Gpu
    ceiling: float
    kept: set[str]
    """The models that must be on it."""
    closed: set[str]
    """The models that cannot be on it."""


def level_problem(
    problem: Problem, ceilings: Mapping[str, float], floor: float, roof: float
) -> Problem:
    """Return the problem of a level.

    Parameters
    ----------
    problem
        The problem as stated, with all models awake and no limit on the pressure.
    ceilings
        The highest pressure allowed on every settled GPU.
    floor, roof
        See the top of the module. The floor is above 0 and below the roof.
    """
    settled = _settled(problem, ceilings, roof)
    kinds = _new_kinds(problem, ceilings)
    names = _resources(problem)
    exact = len(problem.models) * len(settled) <= MOST_PAIRS
    gpus = [
        _raised(settled[gpu.name], problem, floor, kinds[gpu.name], names, exact)
        if gpu.name in settled
        else gpu
        for gpu in problem.gpus
    ]
    renaming = _Renaming(problem, kinds)
    models = [_restated(model, settled, kinds, names, renaming) for model in problem.models]
    return replace(
        problem,
        gpus=tuple(gpus),
        models=tuple(models),
        most_pressure=None,
        objective="pressure",
    )


def _settled(problem: Problem, ceilings: Mapping[str, float], roof: float) -> dict[str, Settled]:
    """Return the settled GPUs, with the models that must and that cannot be on each."""
    settled = {
        gpu.name: Settled(gpu, ceilings[gpu.name], set(), set())
        for gpu in problem.gpus
        if gpu.name in ceilings
    }
    if len(problem.models) * len(settled) > MOST_PAIRS:
        return settled
    for model in problem.models:
        for place in settled.values():
            if not model.may_be_on(place.gpu) or _overfull(place, problem, [model]):
                place.closed.add(model.name)
    homeless = list(_without_other_home(problem, settled, roof))
    while _keep(problem, settled, homeless):
        pass
    return settled


def _without_other_home(
    problem: Problem, settled: Mapping[str, Settled], roof: float
) -> Iterator[Model]:
    """Yield the models that alone have the roof or more on every GPU that is not settled."""
    others = [gpu for gpu in problem.gpus if gpu.name not in settled]
    largest = max((gpu.memory_gb for gpu in others), default=0.0)
    for model in problem.models:
        if model.most_replicas * model.shards > 1:
            continue
        room = largest
        if model.only or model.never:
            room = max((gpu.memory_gb for gpu in others if model.may_be_on(gpu)), default=0.0)
        free = room * (1.0 + TIE) - model.size_gb
        if free < 0.0 or max(model.load) > roof * (1.0 + TIE) * free:
            yield model


def _keep(problem: Problem, settled: Mapping[str, Settled], homeless: Sequence[Model]) -> bool:
    """Keep models on the only GPUs open to them, and others away; say whether that found more."""
    found = False
    for model in homeless:
        open_to = [place for place in settled.values() if model.name not in place.closed]
        if len(open_to) == 1 and model.name not in open_to[0].kept:
            open_to[0].kept.add(model.name)
            found = True
    for place in settled.values() if found else ():
        kept = [model for model in problem.models if model.name in place.kept]
        for model in problem.models:
            if model.name not in place.kept | place.closed and _overfull(
                place, problem, [*kept, model]
            ):
                place.closed.add(model.name)
    return found


def _overfull(place: Settled, problem: Problem, models: Sequence[Model]) -> bool:
    """Whether one part of each of some models is clearly above the ceiling of a GPU."""
    return any(
        sum(_size(m) + _load(m, t, m.most_replicas) / place.ceiling for m in models)
        > place.gpu.memory_gb * (1.0 + TIE)
        for t in range(problem.windows)
    )


def _size(model: Model) -> float:
    return model.size_gb / model.shards


def _load(model: Model, window: int, replicas: int) -> float:
    """Return the load of one part of a model."""
    return model.load[window if len(model.load) > 1 else 0] / (replicas * model.shards)


def _raised(
    place: Settled, problem: Problem, floor: float, kind: str, names: Sequence[str], exact: bool
) -> Gpu:
    """Return a settled GPU: with its ceiling as a limit, and memory that hides its pressure."""
    gpu = place.gpu
    room = place.ceiling * gpu.memory_gb / floor
    if exact:
        held = max(_most_held(place, problem, floor, t) for t in range(problem.windows))
        room = min(room, held)
    room = max(room, LEAST_ROOM * gpu.memory_gb) * (1.0 + TIE)
    limits = {**dict(gpu.limits), **dict.fromkeys(names, gpu.memory_gb)}
    return Gpu(gpu.name, room, kind, limits, gpu.node)


def _most_held(place: Settled, problem: Problem, floor: float, window: int) -> float:
    """Return the largest `w / F + s` within the ceiling, if models could be cut: a knapsack."""
    ceiling, room = place.ceiling, place.gpu.memory_gb * (1.0 + FIT)
    held, parts = 0.0, []
    for model in problem.models:
        if model.name in place.closed:
            continue
        size, load = _size(model), _load(model, window, model.replicas)
        need, value = size + load / ceiling, size + load / floor
        if model.name in place.kept:
            held, room = held + value, room - need
        elif need > 0.0:
            parts.append((value / need, need))
    for density, need in sorted(parts, reverse=True):
        if room <= 0.0:
            break
        held += density * min(need, room)
        room -= need
    return held


def _new_kinds(problem: Problem, ceilings: Mapping[str, float]) -> dict[str, str]:
    """Return a kind for every settled GPU: the same for equal kinds and ceilings, new to all."""
    taken = {gpu.kind for gpu in problem.gpus}
    numbers: dict[tuple[str, float], str] = {}
    kinds = {}
    for gpu in problem.gpus:
        if gpu.name not in ceilings:
            continue
        key = (gpu.kind, ceilings[gpu.name])
        if key not in numbers:
            name = f"{gpu.kind} settled {len(numbers) + 1}".strip()
            while name in taken:
                name += "'"
            taken.add(name)
            numbers[key] = name
        kinds[gpu.name] = numbers[key]
    return kinds


def _resources(problem: Problem) -> list[str]:
    """Return the names of the resources that hold the ceilings, one for every window."""
    stated = {name for gpu in problem.gpus for name, _ in gpu.limits}
    stated |= {name for m in problem.models for name, _ in (*m.uses, *m.shared_uses)}
    prefix = "memory at the ceiling"
    while any(name.startswith(prefix) for name in stated):
        prefix += "'"
    return [f"{prefix} {window + 1}" for window in range(problem.windows)]


class _Renaming:
    """What stands for the kinds of the problem where some GPUs have new ones."""

    def __init__(self, problem: Problem, kinds: Mapping[str, str]) -> None:
        self.new: dict[str, list[str]] = {}
        for gpu in problem.gpus:
            if gpu.name in kinds and kinds[gpu.name] not in self.new.setdefault(gpu.kind, []):
                self.new[gpu.kind].append(kinds[gpu.name])
        self._left = {gpu.kind for gpu in problem.gpus if gpu.name not in kinds}
        self._left |= {name for gpu in problem.gpus for name in (gpu.name, gpu.node)}
        self.ambiguous = {name for gpu in problem.gpus for name in (gpu.node, gpu.kind)}
        """Names that do not stand for a GPU alone, even if one has it."""

    def of_pins(self, names: Sequence[str]) -> list[str]:
        """Return the names of the same places."""
        return [
            new
            for name in names
            for new in (*([name] if name in self._left else []), *self.new.get(name, ()))
        ]

    def of_uses(self, uses: Uses) -> dict[str, dict[str, float]]:
        """Return the same uses on the same GPUs."""
        found = {}
        for resource, by_kind in uses:
            amounts = dict(by_kind)
            more = {
                new: amount
                for kind, amount in by_kind
                if kind != ANY_KIND
                for new in self.new.get(kind, ())
            }
            found[resource] = {**amounts, **more}
        return found


def _restated(
    model: Model,
    settled: Mapping[str, Settled],
    kinds: Mapping[str, str],
    names: Sequence[str],
    renaming: _Renaming,
) -> Model:
    """Return a model as the level problem states it."""
    uses, shared = renaming.of_uses(model.uses), renaming.of_uses(model.shared_uses)
    for window, name in enumerate(names):
        own, divided = {ANY_KIND: 0.0}, {ANY_KIND: 0.0}
        for place in settled.values():
            kind = kinds[place.gpu.name]
            if model.open_replicas:
                own[kind] = _size(model)
                divided[kind] = _load(model, window, 1) * model.shards / place.ceiling
            else:
                own[kind] = _size(model) + _load(model, window, model.replicas) / place.ceiling
        uses[name] = own
        if model.open_replicas:
            shared[name] = divided
    only, never = _pins(model, settled, renaming)
    return model.changed(uses=uses, shared_uses=shared, only=only, never=never, requests=None)


def _pins(
    model: Model, settled: Mapping[str, Settled], renaming: _Renaming
) -> tuple[list[str], list[str]]:
    """Return where a model must be and must not be."""
    only, never = renaming.of_pins(model.only), renaming.of_pins(model.never)
    for name, place in settled.items():
        if model.name in place.kept:
            return [name], []
    closed = [
        name
        for name, place in settled.items()
        if model.name in place.closed
        and model.may_be_on(place.gpu)
        and name not in renaming.ambiguous
    ]
    return only, [*never, *closed]
