"""Find a small set of models that cannot be placed together, and what is missing for them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, floor
from typing import Any

from colocate.advise.remedies.any_placement import any_placement
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Floats
from colocate.problem.model import MEMORY, Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.solvers.cpsat import LARGEST, new_program, run_cpsat
from colocate.solver.prove.solvers.two_solvers import small_enough

ONE_SEARCH = 0.5
"""Seconds to decide whether some models fit."""
SHORTEST, WORKERS = 0.1, 2
"""CP-SAT's least seconds to find how much memory is missing, and its threads."""
MEGABYTES = 1000.0
"""Megabytes in a GB: missing memory is counted in whole megabytes."""


class Lack(StrEnum):
    """What is missing for models to have a placement."""

    MEMORY = "memory"
    CONSTRAINTS = "constraints"
    """Constraints forbid it, however much memory there is."""
    PRESSURE = "pressure"
    """They fit, but not below the highest pressure allowed."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Conflict:
    """Models that have no placement even without the others.

    Parameters
    ----------
    models
        Their names, in the order of the problem.
    minimal
        Whether the others are proven to fit once any one of them is gone.
    parts, shards
        On how many GPUs they must be (replicas times shards), and the most shards of one of them.
    size_gb
        What all their replicas hold together, with their least caches.
    gpus, memory_gb, largest_gb
        How many GPUs are open to at least one of them, the memory of these GPUs together, and of
        the largest one.
    largest_node
        How many of these GPUs are in one node at most.
    lack
        What is missing.
    lacking_gb
        How much memory is missing at least, wherever it is added; 0 if it is something else.
    """

    models: tuple[str, ...]
    minimal: bool
    parts: int
    shards: int
    size_gb: float
    gpus: int
    memory_gb: float
    largest_gb: float
    largest_node: int
    lack: Lack
    lacking_gb: float


def find_conflict(problem: Problem, watch: Deadline) -> Conflict | None:
    """Return few models that are proven to have no placement together; None if none are found.

    The search leaves models out, a half, a quarter and finally one at a time, as long as the rest
    is proven to have no placement. Those that remain are needed for the conflict. Models that may
    sleep cannot be part of one.
    """
    must = [model for model in problem.models if model.sleep_cost is None]
    names = [model.name for model in sorted(must, key=lambda m: m.replicas * m.size_gb)]

    def outcome(left: Sequence[str]) -> Outcome:
        return any_placement_of(problem, left, watch)

    for name in reversed(names):
        if not watch.over and outcome([name]) is Outcome.NONE:
            return _told(problem, [name], True, watch)
    if not names or outcome(names) is not Outcome.NONE:
        return None
    left, minimal = _shrunk(names, outcome, watch)
    return _told(problem, left, minimal, watch)


def any_placement_of(problem: Problem, names: Sequence[str], watch: Deadline) -> Outcome:
    """Return whether some models of a problem can be placed if there are no others.

    Parameters
    ----------
    problem
        The problem.
    names
        The models to place.
    watch
        When to stop; one search takes half a second at most.
    """
    others = {model.name for model in problem.models} - set(names)
    some = problem.awake(others)
    if some is None:
        return Outcome.FOUND
    return any_placement(some, watch.part(ONE_SEARCH))[0]


def _shrunk(
    names: list[str], outcome: Callable[[Sequence[str]], Outcome], watch: Deadline
) -> tuple[list[str], bool]:
    """Leave models out while the conflict remains; return whether every model left is needed.

    One pass is enough: a model that a conflict needs, every smaller conflict in it needs too.
    """
    left, needed = names, set[str]()
    block = max(len(names) // 2, 1)
    while True:
        for start in range(0, len(names), block):
            if watch.over:
                break
            remaining = set(left)
            chosen = remaining.intersection(names[start : start + block])
            if not chosen:
                continue
            rest = [name for name in left if name not in chosen]
            found = outcome(rest)
            if found is Outcome.NONE:
                left = rest
            elif found is Outcome.FOUND and len(chosen) == 1:
                needed.update(chosen)
        if block == 1:
            return left, needed.issuperset(left)
        block = max(block // 2, 1)


def _told(problem: Problem, names: Sequence[str], minimal: bool, watch: Deadline) -> Conflict:
    whole = problem.awake({model.name for model in problem.models} - set(names))
    if whole is None:
        raise AssertionError("a conflict without models")
    gpus = [gpu for gpu in whole.gpus if any(model.may_be_on(gpu) for model in whole.models)]
    return Conflict(
        tuple(model.name for model in whole.models),
        minimal,
        sum(model.parts for model in whole.models),
        max(model.shards for model in whole.models),
        sum(model.replicas * _held(model) for model in whole.models),
        len(gpus),
        sum(gpu.memory_gb for gpu in gpus),
        max((gpu.memory_gb for gpu in gpus), default=0.0),
        max(Counter(gpu.node for gpu in gpus).values(), default=0),
        *_lacking(whole, watch),
    )


def _lacking(problem: Problem, watch: Deadline) -> tuple[Lack, float]:
    """Return what is missing and, if it is memory, the least number of GB, proven by CP-SAT."""
    fewest = problem.with_replicas({model.name: model.replicas for model in problem.models})
    reduction = reduction_of(fewest)
    if not small_enough(fewest):
        return Lack.UNKNOWN, 0.0
    if _whatever_the_memory(fewest, watch):
        return Lack.CONSTRAINTS, 0.0
    program = new_program()
    beyond = _program(program, reduction)
    program.minimize(sum(beyond))
    seconds = max(min(2 * ONE_SEARCH, watch.left), SHORTEST)
    deadline = Deadline(seconds, stop_when=lambda: watch.stopped)
    solver, status = run_cpsat(program, deadline, WORKERS)
    if status == "INFEASIBLE":
        return Lack.UNKNOWN, 0.0
    if status == "OPTIMAL" and solver.objective_value == 0.0:
        return (Lack.UNKNOWN if problem.most_pressure is None else Lack.PRESSURE), 0.0
    proven = float(solver.best_objective_bound) / MEGABYTES
    return (Lack.MEMORY, proven) if proven > 0.0 else (Lack.UNKNOWN, 0.0)


def _whatever_the_memory(problem: Problem, watch: Deadline) -> bool:
    """Return whether models provably do not fit even with memory for all on each GPU."""
    memory = sum(model.replicas * _held(model) for model in problem.models) + 1.0
    gpus = [
        Gpu(gpu.name, gpu.memory_gb + memory, gpu.kind, _beside_memory(gpu), gpu.node)
        for gpu in problem.gpus
    ]
    roomy = replace(problem, gpus=tuple(gpus), most_pressure=None)
    return any_placement(roomy, watch.part(ONE_SEARCH))[0] is Outcome.NONE


def _held(model: Model) -> float:
    """Return the memory that a replica must have, with its least cache."""
    return model.size_gb + (model.least_cache_gb or 0.0)


def _beside_memory(gpu: Gpu) -> dict[str, float]:
    """Return the limits of a GPU that are not its memory."""
    return {name: limit for name, limit in gpu.limits if name != MEMORY}


def _program(program: Any, reduction: Reduction) -> list[Any]:
    """State where items may be; return variables for the memory that GPUs lack."""
    instance, node_of = reduction.instance, reduction.instance.rules.node.tolist()
    gpus = range(len(node_of))
    here = [[program.new_bool_var("") for _ in gpus] for _ in reduction.items]
    column = reduction.resources.index(MEMORY) if MEMORY in reduction.resources else None
    held = instance.size if column is None else instance.use[:, :, column].min(axis=0)
    sizes = [floor(MEGABYTES * size) for size in held]
    beyond = []
    for row in here:
        program.add_exactly_one(row)
    for gpu in gpus:
        over = program.new_int_var(0, sum(sizes), "")
        room = ceil(MEGABYTES * instance.capacity[gpu])
        taken = sum(size * row[gpu] for size, row in zip(sizes, here, strict=True))
        program.add(taken <= room + over)
        beyond.append(over)
        for resource, limit in enumerate(instance.limit[gpu]):
            if resource == column:
                continue
            use = instance.use[instance.kind[gpu], :, resource]
            if use.sum() > limit:
                shares = zip(_shares(use, limit), here, strict=True)
                program.add(sum(share * row[gpu] for share, row in shares) <= LARGEST)
    _keep_rules(program, reduction, here)
    for shard_group in reduction.shard_groups:
        home = {node: program.new_bool_var("") for node in dict.fromkeys(node_of)}
        program.add_exactly_one(home.values())
        for item in shard_group:
            for gpu in gpus:
                program.add_implication(here[item][gpu], home[node_of[gpu]])
    return beyond


def _keep_rules(program: Any, reduction: Reduction, here: list[list[Any]]) -> None:
    """State where items may not be, and which ones may not share a GPU."""
    rules = reduction.instance.rules
    groups: dict[int, list[int]] = {}
    for number, item in enumerate(reduction.items):
        for gpu in (~rules.open[rules.pin[number]]).nonzero()[0]:
            program.add(here[number][gpu] == 0)
        for colour in item.colours:
            groups.setdefault(colour, []).append(number)
    for group in groups.values():
        for gpu in range(len(rules.node)):
            program.add_at_most_one(here[number][gpu] for number in group)


def _shares(use: Floats, limit: float) -> list[int]:
    """Return uses as whole parts of a limit; anything above twice the limit counts as twice."""
    if limit <= 0.0:
        return [2 * LARGEST if amount > 0.0 else 0 for amount in use]
    return [floor(min(amount / limit, 2.0) * LARGEST) for amount in use]
