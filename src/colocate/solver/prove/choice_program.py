"""Choices as a constraint program: how many copies of a model there are, and which models sleep.

For every model and every number of copies that it may have there is a choice, and exactly one is
taken. A choice puts equal parts on as many GPUs as it takes. That is linear, though the load of a
part depends on the number of copies, and so CP-SAT can search all of it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

from colocate.problem.model import ANY_KIND, Model
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.task import GENEROUS, STRICT
from colocate.solver.prove.constraint_program import FINENESS, ROUNDING
from colocate.solver.prove.constraint_solver import never, solve_program

MOST_PLACES = 20_000
"""Choices times GPUs up to which CP-SAT is asked."""
A_PLACE = 30e-6
"""Seconds that stating one of them takes."""
COST_PARTS = 10**9
"""The costs of sleeping are rounded to so many parts of their sum."""


class Choice(NamedTuple):
    """A number of copies of a model."""

    copies: int
    part: Model
    taken: Any
    """The variable that says whether it is."""
    here: list[Any]
    """A variable for every GPU: whether a part is there."""


@dataclass(frozen=True)
class Answer:
    """What a search for choices found."""

    outcome: Outcome
    placement: Mapping[str, tuple[str, ...]]
    cost_bound: float
    """No placement within the target has a lower cost of sleeping; infinite if there is none."""


def small_enough(problem: Problem) -> bool:
    """Say whether CP-SAT can be asked: its program grows with choices times GPUs."""
    return places(problem) <= MOST_PLACES


def places(problem: Problem) -> int:
    """Return how many choices times GPUs there are."""
    choices = sum(m.most_replicas - m.replicas + 2 for m in problem.models)
    return choices * len(problem.gpus)


def search_choices(
    problem: Problem,
    target: float,
    seconds: float,
    workers: int = 2,
    stopped: Callable[[], bool] = never,
) -> Answer:
    """Search for a placement with no pressure above the target and the least cost of sleeping.

    That there is none is proven; what is found fits up to rounding. An infinite target counts
    memory alone. Where stating the program would take most of the time, nothing is done.
    """
    if A_PLACE * places(problem) > seconds / 2:
        return Answer(Outcome.UNDECIDED, {}, 0.0)
    started = perf_counter()
    cp_model = import_module("ortools.sat.python.cp_model")  # slow, and not always needed
    program = cp_model.CpModel()
    choices = {m.name: _choices(program, problem, m) for m in problem.models}
    _limit_gpus(program, problem, choices, target)
    _keep_company(program, problem, choices)
    unit = sum(m.sleep_cost or 0.0 for m in problem.models) / COST_PARTS or 1.0
    sleepers = problem.sleepers
    of_one = len(sleepers) + 1
    if sleepers:  # of choices that cost the same, the one with fewer asleep
        costs = {m.name: int((m.sleep_cost or 0.0) / unit) * of_one + 1 for m in sleepers}
        program.minimize(sum(cost * choices[name][0].taken for name, cost in costs.items()))
    left = seconds - (perf_counter() - started)
    solver, status = solve_program(program, left, workers, stopped)
    if status == cp_model.INFEASIBLE:
        return Answer(Outcome.NONE, {}, inf)
    bound = max(solver.best_objective_bound, 0.0) // of_one * unit if sleepers else 0.0
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(Outcome.UNDECIDED, {}, bound)
    placement = {name: _gpus_of(problem, solver, options) for name, options in choices.items()}
    return Answer(Outcome.FOUND, placement, bound)


def _choices(program: Any, problem: Problem, model: Model) -> list[Choice]:
    """Make the choices of a model; the first is to sleep, if it may."""
    counts = [*range(model.replicas, model.most_replicas + 1)]
    if model.sleep_cost is not None:
        counts = [0, *counts]
    choices = []
    for copies in counts:
        here = [program.new_bool_var("") for _ in problem.gpus]
        taken = program.new_bool_var("")
        program.add(sum(here) == copies * model.shards * taken)
        choices.append(Choice(copies, model.part(max(copies, 1)), taken, here))
    program.add_exactly_one(choice.taken for choice in choices)
    for number, gpu in enumerate(problem.gpus):
        if not model.may_be_on(gpu):
            program.add(sum(choice.here[number] for choice in choices) == 0)
    if model.shards > 1:
        _keep_shards(program, problem, model, choices)
    return choices


def _keep_shards(program: Any, problem: Problem, model: Model, choices: list[Choice]) -> None:
    """Let every node hold whole copies."""
    for node in dict.fromkeys(gpu.node for gpu in problem.gpus):
        numbers = [n for n, gpu in enumerate(problem.gpus) if gpu.node == node]
        copies = program.new_int_var(0, len(numbers) // model.shards, "")
        parts = sum(choice.here[n] for choice in choices for n in numbers)
        program.add(parts == model.shards * copies)


def _limit_gpus(
    program: Any, problem: Problem, choices: Mapping[str, list[Choice]], target: float
) -> None:
    every = [choice for options in choices.values() for choice in options if choice.copies]
    for number, gpu in enumerate(problem.gpus):
        idle = program.new_bool_var("")
        for choice in every:
            if max(choice.part.load) > 0.0:
                program.add_implication(choice.here[number], idle.negated())
        room = int(FINENESS * STRICT) + int(FINENESS * (GENEROUS - STRICT)) * idle
        for window in range(problem.windows):
            program.add(
                sum(
                    _parts(_need(choice.part, window, target), gpu.memory_gb) * choice.here[number]
                    for choice in every
                )
                <= room
            )
        for resource, limit in gpu.limits:
            program.add(
                sum(
                    _parts(_use(choice.part, resource, gpu.kind), limit) * choice.here[number]
                    for choice in every
                )
                <= int(FINENESS * GENEROUS)
            )


def _keep_company(program: Any, problem: Problem, choices: Mapping[str, list[Choice]]) -> None:
    for number in range(len(problem.gpus)):
        here = {
            name: sum(choice.here[number] for choice in options)
            for name, options in choices.items()
        }
        if problem.most_models is not None:
            program.add(sum(here.values()) <= problem.most_models)
        for group in problem.apart:
            program.add(sum(here[name] for name in group) <= 1)
        for one, other in _neighbours(problem):
            asleep = [c.taken for c in choices[other] if not c.copies]
            program.add(here[one] <= here[other] + sum(asleep))


def _neighbours(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield the pairs, in both orders, of models that must share a GPU if both are awake."""
    for group in problem.together:
        yield from ((one, other) for one in group for other in group if one != other)


def _need(part: Model, window: int, target: float) -> float:
    return part.size_gb + memory_for(part.load[min(window, len(part.load) - 1)], target)


def memory_for(load: float, pressure: float) -> float:
    """Return the free memory at which a load has a pressure; no memory has none under load."""
    if load == 0.0:
        return 0.0
    return load / pressure if pressure > 0.0 else inf


def _use(part: Model, resource: str, kind: str) -> float:
    by_kind = dict(dict(part.uses).get(resource, ((ANY_KIND, 0.0),)))
    return by_kind.get(kind, by_kind.get(ANY_KIND, 0.0))


def _parts(amount: float, limit: float) -> int:
    """Return an amount in parts of a limit, rounded down so that no placement is lost."""
    if amount <= 0.0:
        return 0
    return int(min(amount / limit if limit > 0.0 else inf, 2.0) * (1.0 - ROUNDING) * FINENESS)


def _gpus_of(problem: Problem, solver: Any, options: list[Choice]) -> tuple[str, ...]:
    """Return the GPUs of a model, those of one node in a row."""
    chosen = next(choice for choice in options if solver.boolean_value(choice.taken))
    gpus = [
        g for g, here in zip(problem.gpus, chosen.here, strict=True) if solver.boolean_value(here)
    ]
    nodes = list(dict.fromkeys(gpu.node for gpu in problem.gpus))
    return tuple(gpu.name for gpu in sorted(gpus, key=lambda gpu: nodes.index(gpu.node)))
