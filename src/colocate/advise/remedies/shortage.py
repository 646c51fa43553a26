"""What is short for models that have no placement: memory, cache, compute, and by how much.

Each candidate is relaxed in turn, as little as possible: CP-SAT proves how far a GPU goes beyond it
at least, wherever the models are, while everything else is respected. The one that has to give way
least, in relation to what there is, is what is short.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, floor, isfinite
from typing import Any

from colocate.advise.relaxations import without_target
from colocate.advise.remedies.any_placement import ONE_SEARCH, any_placement
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Floats
from colocate.problem.model import MEMORY, Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import COUNT, Reduction, reduction_of
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.solvers.cpsat import LARGEST, new_program, run_cpsat
from colocate.solver.prove.solvers.two_solvers import small_enough

SHORTEST, WORKERS = 0.1, 2
"""CP-SAT's least seconds to find how much is missing, and its threads."""
MEGABYTES = 1000.0
"""Megabytes in a GB: missing memory is counted in whole megabytes."""
PARTS = 1_000_000
"""Parts of a limit: the use of a resource is counted in whole ones."""


class Lack(StrEnum):
    """What is missing for models to have a placement."""

    MEMORY = "memory"
    LEAST_CACHE = "least_cache"
    """Sizes fit, but not with the cache that the models must have."""
    RESOURCE = "resource"
    """A resource that a GPU has only so much of, such as compute, or the number of its models."""
    CONSTRAINTS = "constraints"
    """Constraints forbid it, however much memory there is."""
    PRESSURE = "pressure"
    """They fit, but not below the highest pressure allowed."""
    TARGETS = "targets"
    """They fit, but do not keep their latency targets."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Shortage:
    """What is missing, and how much of it at least.

    Parameters
    ----------
    lack
        What is missing.
    lacking_gb
        How much memory is missing at least, wherever it is added; 0 if it is something else.
    resource
        The resource that is short; empty if it is something else.
    needed, limit
        The least use of the resource on the GPU that has most of it, wherever the models are, and
        the most that is allowed there.
    """

    lack: Lack
    lacking_gb: float = 0.0
    resource: str = ""
    needed: float = 0.0
    limit: float = 0.0


def shortage_of(problem: Problem, watch: Deadline) -> Shortage:
    """Return what is missing for models that are proven to have no placement.

    Parameters
    ----------
    problem
        The models of a conflict, and nothing else.
    watch
        When to stop; the answer is then unknown.
    """
    if problem.limits_latency:
        free = replace(problem, models=tuple(map(without_target, problem.models)))
        if any_placement(free, watch.part(ONE_SEARCH))[0] is Outcome.FOUND:
            return Shortage(Lack.TARGETS)
        problem = free
    fewest = problem.with_replicas({model.name: model.replicas for model in problem.models})
    if not small_enough(fewest):
        return Shortage(Lack.UNKNOWN)
    reduction = reduction_of(fewest)
    columns = _columns(problem, reduction)
    for others_kept in (True, False):
        relaxed = _Relaxed(reduction, others_kept, watch)
        found = [share for column in columns for share in relaxed.beyond_limit(column)]
        found += relaxed.beyond_memory()
        if any(excess == 0.0 for excess, _ in found) and others_kept:
            return Shortage(Lack.UNKNOWN if problem.most_pressure is None else Lack.PRESSURE)
        short = [pair for pair in found if pair[0] > 0.0]
        if short:
            return _named(fewest, min(short, key=lambda pair: pair[0])[1], watch)
    forbidden = _whatever_the_memory(fewest, watch)
    return Shortage(Lack.CONSTRAINTS if forbidden else Lack.UNKNOWN)


def held_gb(model: Model) -> float:
    """Return the memory that a replica must have, with its least cache."""
    return model.size_gb + (model.least_cache_gb or 0.0)


def _columns(problem: Problem, reduction: Reduction) -> list[int]:
    """Return the resources besides memory whose use does not depend on open replicas."""
    if any(model.open_replicas and model.shared_uses for model in problem.models):
        return []
    return [n for n, name in enumerate(reduction.resources) if name != MEMORY]


def _named(problem: Problem, short: Shortage, watch: Deadline) -> Shortage:
    """Tell a lack of cache from one of memory: without the least caches, all fits."""
    if short.lack is not Lack.MEMORY or not problem.has_least_cache:
        return short
    models = tuple(model.changed(least_cache_gb=0.0) for model in problem.models)
    outcome, _ = any_placement(replace(problem, models=models), watch.part(ONE_SEARCH))
    return replace(short, lack=Lack.LEAST_CACHE) if outcome is Outcome.FOUND else short


def _whatever_the_memory(problem: Problem, watch: Deadline) -> bool:
    """Return whether models provably do not fit even with memory for all on each GPU."""
    memory = sum(model.replicas * held_gb(model) for model in problem.models) + 1.0
    gpus = [
        Gpu(gpu.name, gpu.memory_gb + memory, gpu.kind, _beside_memory(gpu), gpu.node)
        for gpu in problem.gpus
    ]
    roomy = replace(problem, gpus=tuple(gpus), most_pressure=None)
    return any_placement(roomy, watch.part(ONE_SEARCH))[0] is Outcome.NONE


def _beside_memory(gpu: Gpu) -> dict[str, float]:
    """Return the limits of a GPU that are not its memory."""
    return {name: limit for name, limit in gpu.limits if name != MEMORY}


@dataclass(frozen=True)
class _Relaxed:
    """Programs in which one thing may be exceeded, and the least that it has to be."""

    reduction: Reduction
    others_kept: bool
    """Whether everything else is respected; if not, only the constraints are."""
    watch: Deadline

    def beyond_memory(self) -> list[tuple[float, Shortage]]:
        """Return the memory missing, as a share of the largest GPU too; nothing if unknown."""
        missing = self._least(
            lambda program, here: sum(self._memory(program, here, True)), None, enough=0
        )
        if missing is None:
            return []
        gb = missing / MEGABYTES
        return [(gb / float(self.reduction.instance.capacity.max()), Shortage(Lack.MEMORY, gb))]

    def beyond_limit(self, column: int) -> list[tuple[float, Shortage]]:
        """Return how far a resource goes beyond its limit, as a share too; nothing if unknown."""
        limits = self.reduction.instance.limit[:, column]
        finite = [float(limit) for limit in limits if isfinite(limit) and limit > 0.0]
        if not finite:
            return []
        least = self._least(
            lambda program, here: self._peak(program, here, column), column, enough=PARTS
        )
        if least is None:
            return []
        name, limit, share = self.reduction.resources[column], max(finite), least / PARTS
        needed = float(ceil(share * limit - 1 / PARTS)) if name == COUNT else share * limit
        short = Shortage(Lack.RESOURCE, resource=name, needed=needed, limit=limit)
        return [(max(share - 1.0, 0.0), short)]

    def _least(
        self, goal: Callable[[Any, list[list[Any]]], Any], free: int | None, enough: int
    ) -> float | None:
        """Return the proven least of what may be exceeded.

        None if there is no placement at all, or if it is not known whether `enough` is enough.
        """
        program = new_program()
        here = _placed(program, self.reduction)
        if self.others_kept:
            if free is not None:
                self._memory(program, here, False)
            for column, name in enumerate(self.reduction.resources):
                if column != free and name != MEMORY:
                    self._limited(program, here, column)
        program.minimize(goal(program, here))
        seconds = max(min(2 * ONE_SEARCH, self.watch.left), SHORTEST)
        deadline = Deadline(seconds, stop_when=lambda: self.watch.stopped)
        solver, status = run_cpsat(program, deadline, WORKERS)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return None
        proven = float(solver.best_objective_bound)
        return proven if status == "OPTIMAL" or proven > enough else None

    def _memory(self, program: Any, here: list[list[Any]], beyond: bool) -> list[Any]:
        """Limit GPUs to their memory, or return variables for what each one lacks."""
        instance, resources = self.reduction.instance, self.reduction.resources
        column = resources.index(MEMORY) if MEMORY in resources else None
        held = instance.size if column is None else instance.use[:, :, column].min(axis=0)
        sizes = [floor(MEGABYTES * size) for size in held]
        missing = []
        for gpu, capacity in enumerate(instance.capacity):
            over = program.new_int_var(0, sum(sizes) if beyond else 0, "")
            taken = sum(size * row[gpu] for size, row in zip(sizes, here, strict=True))
            program.add(taken <= ceil(MEGABYTES * capacity) + over)
            missing.append(over)
        return missing

    def _limited(self, program: Any, here: list[list[Any]], column: int) -> None:
        instance = self.reduction.instance
        for gpu, limit in enumerate(instance.limit[:, column]):
            use = instance.use[instance.kind[gpu], :, column]
            if use.sum() > limit:
                shares = zip(_shares(use, limit), here, strict=True)
                program.add(sum(share * row[gpu] for share, row in shares) <= LARGEST)

    def _peak(self, program: Any, here: list[list[Any]], column: int) -> Any:
        """Return the highest share of its limit that a GPU uses."""
        instance = self.reduction.instance
        peak = program.new_int_var(0, LARGEST, "")
        for gpu, limit in enumerate(instance.limit[:, column]):
            use = instance.use[instance.kind[gpu], :, column]
            for amount, row in zip(use, here, strict=True):
                if limit <= 0.0 < amount:
                    program.add(row[gpu] == 0)
            if isfinite(limit) and limit > 0.0:
                shares = [min(floor(amount / limit * PARTS), LARGEST // len(use)) for amount in use]
                taken = sum(share * row[gpu] for share, row in zip(shares, here, strict=True))
                program.add(taken <= peak)
        return peak


def _placed(program: Any, reduction: Reduction) -> list[list[Any]]:
    """State where items may be, whatever they take; return a variable for each item and GPU."""
    node_of = reduction.instance.rules.node.tolist()
    gpus = range(len(node_of))
    here = [[program.new_bool_var("") for _ in gpus] for _ in reduction.items]
    for row in here:
        program.add_exactly_one(row)
    _keep_rules(program, reduction, here)
    for shard_group in reduction.shard_groups:
        home = {node: program.new_bool_var("") for node in dict.fromkeys(node_of)}
        program.add_exactly_one(home.values())
        for item in shard_group:
            for gpu in gpus:
                program.add_implication(here[item][gpu], home[node_of[gpu]])
    return here


def _keep_rules(program: Any, reduction: Reduction, here: list[list[Any]]) -> None:
    """State where items may not be, and which ones may not share a GPU."""
    for number, gpu in _closed(reduction):
        program.add(here[number][gpu] == 0)
    groups: dict[int, list[int]] = {}
    for number, item in enumerate(reduction.items):
        for colour in item.colours:
            groups.setdefault(colour, []).append(number)
    for group in groups.values():
        for gpu in range(len(reduction.instance.rules.node)):
            program.add_at_most_one(here[number][gpu] for number in group)


def _closed(reduction: Reduction) -> Iterator[tuple[int, int]]:
    rules = reduction.instance.rules
    for number in range(len(reduction.items)):
        for gpu in (~rules.open[rules.pin[number]]).nonzero()[0]:
            yield number, int(gpu)


def _shares(use: Floats, limit: float) -> list[int]:
    """Return uses as whole parts of a limit; anything above twice the limit counts as twice."""
    if limit <= 0.0:
        return [2 * LARGEST if amount > 0.0 else 0 for amount in use]
    return [floor(min(amount / limit, 2.0) * LARGEST) for amount in use]
