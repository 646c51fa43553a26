"""State the problem of a level anew, in exact numbers, to check a proof about it.

The GPUs that hold the levels above are settled: none may be above its ceiling K. With a load w and
a size s on a GPU of C GB, that is `w / K + s <= C` in every window, a limit on a resource. Their
memory is raised so far that whatever is within the ceiling has at most the pressure F, the floor:
to `max(w / F + s)`, where models may be cut. So a placement whose other GPUs are at or below some
pressure above F is one of the level problem at that pressure.

Placements with a pressure of the roof R or more on a GPU that is not settled are left out. A model
that alone has R or more on all of those GPUs must be on a settled one. If a single one is open to
it, models that do not fit beside it cannot be there.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import inf, nextafter

from colocate.problem.checker.items import open_to, use_on
from colocate.problem.checker.sums import load_in
from colocate.problem.checker.tolerance import ROUNDING
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MOST_WORK = 40_000
"""Models times settled GPUs; with more of them, all models may be on all settled GPUs."""
LEAST = Fraction(1, 1000)
"""The least memory of a settled GPU, as a share of its own: a GPU needs some."""
WINDOW = "within the ceiling in window"
"""How the names of the resources begin that stand for ceilings."""


class LevelProblem:
    """What follows from ceilings, a floor and a roof, step by step.

    Parameters
    ----------
    problem
        The problem of the models that are awake.
    ceilings
        The highest pressure of every settled GPU, by name.
    floor, roof
        The pressures F and R of the proof.
    """

    def __init__(
        self, problem: Problem, ceilings: Mapping[str, float], floor: float, roof: float
    ) -> None:
        self.problem = problem
        self.floor, self.roof = Fraction(floor), Fraction(roof)
        self.ceiling = {name: Fraction(value) for name, value in ceilings.items()}
        self.small = len(problem.models) * len(ceilings) <= MOST_WORK
        self.others = [gpu for gpu in problem.gpus if gpu.name not in ceilings]
        self.settled = [gpu for gpu in problem.gpus if gpu.name in ceilings]
        self.places = {model.name: self._pinned_to(model) for model in problem.models}
        self.kept: dict[str, set[str]] = {gpu.name: set() for gpu in self.settled}
        if self.small:
            self._close_what_is_too_full()
            self._keep_who_has_no_other_place()

    @property
    def impossible(self) -> bool:
        """Whether some model can be nowhere, so that no placement is below the roof."""
        return not all(self.places.values())

    def _pinned_to(self, model: Model) -> set[str]:
        """Return the GPUs that the pins of a model leave open."""
        pins = ((frozenset(model.only), frozenset(model.never)),)
        return {gpu.name for gpu in self.problem.gpus if open_to(pins, gpu)}

    def _need(self, model: Model, window: int, replicas: int, pressure: Fraction) -> Fraction:
        """Return the memory for one part of a model and its load, at a pressure."""
        load = Fraction(load_in(model, window)) / (replicas * model.shards)
        return Fraction(model.size_gb) / model.shards + load / pressure

    def _too_full(self, gpu: Gpu, models: list[Model]) -> bool:
        """Return whether one part of each model, however many there are, exceeds a ceiling."""
        room = Fraction(gpu.memory_gb) * (1 + ROUNDING)
        return any(
            sum(self._need(m, t, m.most_replicas, self.ceiling[gpu.name]) for m in models) > room
            for t in range(self.problem.windows)
        )

    def _close_what_is_too_full(self) -> None:
        for gpu in self.settled:
            for model in self.problem.models:
                if self._too_full(gpu, [model]):
                    self.places[model.name].discard(gpu.name)

    def _keep_who_has_no_other_place(self) -> None:
        models = {model.name: model for model in self.problem.models}
        expelled = [model for model in models.values() if self._expelled(model)]
        changed = True
        while changed:
            changed = False
            for model in expelled:
                left = [gpu for gpu in self.settled if gpu.name in self.places[model.name]]
                if len(left) == 1 and model.name not in self.kept[left[0].name]:
                    self.kept[left[0].name].add(model.name)
                    self.places[model.name] = {left[0].name}
                    changed = True
            for gpu in self.settled:
                kept = [models[name] for name in sorted(self.kept[gpu.name])]
                for model in models.values() if kept else ():
                    if model in kept or gpu.name not in self.places[model.name]:
                        continue
                    if self._too_full(gpu, [*kept, model]):
                        self.places[model.name].discard(gpu.name)

    def _expelled(self, model: Model) -> bool:
        """Return whether a model on one GPU alone reaches the roof on all that are not settled."""
        if model.most_replicas * model.shards > 1:
            return False
        return all(self._reaches_roof(model, gpu.memory_gb) for gpu in self._memories_open(model))

    def _memories_open(self, model: Model) -> list[Gpu]:
        """Return a GPU of every size, of those not settled that are open to a model."""
        open_here = [gpu for gpu in self.others if gpu.name in self.places[model.name]]
        return list({gpu.memory_gb: gpu for gpu in open_here}.values())

    def _reaches_roof(self, model: Model, memory_gb: float) -> bool:
        free = Fraction(memory_gb) * (1 + ROUNDING) - Fraction(model.size_gb)
        return free < 0 or Fraction(max(model.load)) >= self.roof * free

    def _memory(self, gpu: Gpu) -> float:
        """Return the memory of a settled GPU in the level problem, rounded up."""
        if not self.small:
            most = self.ceiling[gpu.name] * Fraction(gpu.memory_gb) * (1 + ROUNDING) / self.floor
        else:
            most = max(self._most_held(gpu, t) for t in range(self.problem.windows))
        return nextafter(float(max(most, LEAST * Fraction(gpu.memory_gb))), inf)

    def _most_held(self, gpu: Gpu, window: int) -> Fraction:
        """Return the largest `w / F + s` within the ceiling, by cutting models.

        Of a model with an open number of replicas, one with the largest load counts: any other
        holds less than the same share of it.
        """
        room = Fraction(gpu.memory_gb) * (1 + ROUNDING)
        held, others = Fraction(), []
        for model in self.problem.models:
            if gpu.name not in self.places[model.name]:
                continue
            need = self._need(model, window, model.replicas, self.ceiling[gpu.name])
            value = self._need(model, window, model.replicas, self.floor)
            if model.name in self.kept[gpu.name]:
                held, room = held + value, room - need
            elif need > 0:
                others.append((value / need, need))
        for worth, need in sorted(others, reverse=True):
            if room <= 0:
                break
            held += worth * min(need, room)
            room -= need
        return held

    def stated(self) -> Problem:
        """Return the level problem, with names of its own for GPUs, nodes and kinds."""
        problem = self.problem
        number = {gpu.name: n for n, gpu in enumerate(problem.gpus)}
        nodes = {node: n for n, node in enumerate(dict.fromkeys(g.node for g in problem.gpus))}
        kinds: dict[tuple[str, Fraction | None], str] = {}
        for gpu in problem.gpus:
            kinds.setdefault((gpu.kind, self.ceiling.get(gpu.name)), f"kind {len(kinds)}")
        gpus = [
            Gpu(
                f"gpu {n}",
                self._memory(gpu) if gpu.name in self.ceiling else gpu.memory_gb,
                kinds[gpu.kind, self.ceiling.get(gpu.name)],
                self._limits(gpu),
                f"node {nodes[gpu.node]}",
            )
            for n, gpu in enumerate(problem.gpus)
        ]
        models = [
            model.changed(
                uses=self._uses(model, kinds, False),
                shared_uses=self._uses(model, kinds, True),
                only=self._only(model, number),
                never=(),
                requests=None,
            )
            for model in problem.models
        ]
        return Problem(
            tuple(gpus), tuple(models), problem.apart, problem.together, problem.most_models
        )

    def _only(self, model: Model, number: Mapping[str, int]) -> list[str]:
        places = self.places[model.name]
        if len(places) == len(number):
            return []
        return [f"gpu {number[name]}" for name in sorted(places, key=number.__getitem__)]

    def _limits(self, gpu: Gpu) -> dict[str, float]:
        limits = {f"stated {name}" if name != "memory" else name: v for name, v in gpu.limits}
        if gpu.name in self.ceiling:
            for window in range(self.problem.windows):
                limits[f"{WINDOW} {window}"] = gpu.memory_gb
        return limits

    def _uses(
        self, model: Model, kinds: Mapping[tuple[str, Fraction | None], str], shared: bool
    ) -> dict[str, dict[str, float]]:
        """Return what one part of a model uses, or what its parts share, by kind."""
        stated = model.shared_uses if shared else model.uses
        found = {
            f"stated {resource}" if resource != "memory" else resource: {
                name: use_on(stated, resource, kind) for (kind, _), name in kinds.items()
            }
            for resource, _ in stated
        }
        for window in range(self.problem.windows):
            amounts = {
                name: float(self._use(model, window, ceiling, shared)) if ceiling else 0.0
                for (_, ceiling), name in kinds.items()
            }
            if not shared or model.open_replicas:
                found[f"{WINDOW} {window}"] = amounts
        return found

    def _use(self, model: Model, window: int, ceiling: Fraction, shared: bool) -> Fraction:
        """Return the memory that a part takes by itself, or the load that parts share."""
        size = Fraction(model.size_gb) / model.shards
        if not model.open_replicas:
            return self._need(model, window, model.replicas, ceiling)
        return Fraction(load_in(model, window)) / ceiling if shared else size
