"""The placement problem for CP-SAT: which model is on which GPU, in whole numbers.

Amounts are counted in parts of a GPU and rounded down; rooms are rounded up. So no placement is
lost. Exchangeable GPUs are ordered by the first model on each.
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise, permutations
from math import inf
from typing import Any

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.tolerance import BELOW_LAST_BITS
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.solvers.alike import exchangeable_gpus
from colocate.solver.prove.solvers.choices import (
    Choice,
    Options,
    in_order_of_nodes,
    load_in,
    use_on,
)
from colocate.solver.prove.solvers.cpsat import LARGEST, new_program, run_cpsat
from colocate.solver.prove.solvers.crowds import Crowd
from colocate.solver.prove.solvers.searching import NONE, Finding

FINENESS = LARGEST - 2
"""In how many parts of a GPU amounts are counted."""
ROOM = FINENESS + 1
"""One part more than a GPU has, for what the checker accepts as rounding, 1e-11 of a GPU."""
COST_PARTS = LARGEST - 1
"""In how many parts of the largest cost of sleeping costs are counted."""
MOST_LEADERS = 64
"""How many models, largest first, exchangeable GPUs are ordered by."""


class CpSatProgram:
    """A problem and a target, stated for CP-SAT.

    Parameters
    ----------
    problem, choices
        What is to be placed, and how many replicas every model may have.
    target
        The highest pressure allowed.
    deadline
        When to give up stating the program.
    workers
        How many threads the search may use.
    """

    def __init__(
        self, problem: Problem, choices: Options, target: float, deadline: Deadline, workers: int
    ) -> None:
        self._problem, self._choices, self._workers = problem, choices, workers
        self._deadline = deadline
        self._program = new_program()
        self._asleep: dict[int, Any] = {}
        self._here: dict[tuple[int, int], dict[int, Any]] = {}
        """By model and number of parts, then by GPU: whether a part is there."""
        self._taken: dict[tuple[int, int], Any] = {}
        """By model and number of parts: whether it has that many."""
        rows = {_traits(gpu): _Rows(problem, gpu, target) for gpu in problem.gpus}
        self._rooms = [rows[_traits(gpu)] for gpu in problem.gpus]
        for number, options in enumerate(choices):
            deadline.check()
            self._choose(number, options)
        self._on = [self._on_gpus(number, options) for number, options in enumerate(choices)]
        self._limit_gpus()
        self._limit_fleet(target)
        self._keep_company()
        for alike in exchangeable_gpus(problem):
            self._order(alike)
        self._unit = self._price()

    def search(self, deadline: Deadline) -> Finding:
        """Search for a placement with the least cost of sleeping."""
        solver, status = run_cpsat(self._program, deadline, self._workers)
        if status == "INFEASIBLE":
            return NONE
        bound = 0.0
        if self._asleep and status != "MODEL_INVALID":  # each may count one part too much
            proven = max(float(solver.best_objective_bound), 0.0) - len(self._asleep)
            bound = max(proven, 0.0) * self._unit * BELOW_LAST_BITS
        if status not in ("OPTIMAL", "FEASIBLE"):
            return Finding(Outcome.UNDECIDED, {}, bound)
        self._hint(solver)
        return Finding(Outcome.FOUND, self._placement(solver), bound)

    def forbid(self, crowd: Crowd) -> None:
        """Forbid parts to be all on one GPU."""
        for gpu in crowd.gpus:
            rows = [self._here[pair] for pair in crowd.choices]
            here = [row[gpu] for row in rows if gpu in row]
            if len(here) == len(rows):
                self._program.add_bool_or([literal.negated() for literal in here])

    def _choose(self, number: int, options: Sequence[Choice]) -> None:
        """Take exactly one number of replicas, with as many parts on GPUs that are open to them."""
        program, model = self._program, self._problem.models[number]
        taken = []
        for choice in options:
            here = {
                n: program.new_bool_var("")
                for n, gpu in enumerate(self._problem.gpus)
                if model.may_be_on(gpu) and max(self._rooms[n].needs(choice)) <= ROOM
            }
            chosen = program.new_bool_var("")
            program.add(sum(here.values()) == choice.parts * chosen)
            self._here[number, choice.parts] = here
            self._taken[number, choice.parts] = chosen
            taken.append(chosen)
        if model.sleep_cost is not None:
            self._asleep[number] = program.new_bool_var("")
            taken.append(self._asleep[number])
        program.add_exactly_one(taken)
        if model.shards > 1:
            self._keep_shards(number, options)

    def _keep_shards(self, number: int, options: Sequence[Choice]) -> None:
        """Let every node hold whole replicas only."""
        shards = self._problem.models[number].shards
        nodes: dict[str, list[int]] = {}
        for gpu_number, gpu in enumerate(self._problem.gpus):
            nodes.setdefault(gpu.node, []).append(gpu_number)
        for gpus in nodes.values():
            here = [self._here[number, choice.parts] for choice in options]
            parts_here = [row[gpu] for row in here for gpu in gpus if gpu in row]
            replicas = self._program.new_int_var(0, len(gpus) // shards, "")
            self._program.add(sum(parts_here) == shards * replicas)

    def _on_gpus(self, number: int, options: Sequence[Choice]) -> list[list[Any]]:
        """Return, for every GPU, the variables of this model there; at most one of them is true."""
        rows = [self._here[number, choice.parts] for choice in options]
        gpus = range(len(self._problem.gpus))
        return [[row[gpu] for row in rows if gpu in row] for gpu in gpus]

    def _limit_gpus(self) -> None:
        for number, rows in enumerate(self._rooms):
            self._deadline.check()
            here = [
                (choice, literal)
                for options in self._choices
                for choice in options
                if (literal := self._here[choice.model, choice.parts].get(number)) is not None
            ]
            needs = [rows.needs(choice) for choice, _ in here]
            for row in set(zip(*needs, strict=True)):
                if sum(row) > ROOM:
                    terms = zip(row, here, strict=True)
                    self._program.add(sum(n * on for n, (_, on) in terms if n) <= ROOM)

    def _limit_fleet(self, target: float) -> None:
        """Let all GPUs together hold no more than they can: implied, but it helps the search."""
        memory = sum(gpu.memory_gb for gpu in self._problem.gpus)
        choices = [choice for options in self._choices for choice in options]
        for window in range(self._problem.windows):
            self._deadline.check()
            needs = [
                _counted(choice.parts * _memory_of(choice.part, window, target), memory)
                for choice in choices
            ]
            terms = zip(needs, choices, strict=True)
            taken = (n * self._taken[c.model, c.parts] for n, c in terms if n)
            if sum(needs) > ROOM:
                self._program.add(sum(taken) <= ROOM)

    def _keep_company(self) -> None:
        problem = self._problem
        place = {model.name: number for number, model in enumerate(problem.models)}
        apart = [[place[name] for name in group] for group in problem.apart]
        together = [[place[name] for name in group] for group in problem.together]
        for gpu in range(len(problem.gpus)):
            self._deadline.check()
            if problem.most_models is not None:
                on = [literal for rows in self._on for literal in rows[gpu]]
                if len(on) > problem.most_models:
                    self._program.add(sum(on) <= problem.most_models)
            for group in apart:
                self._program.add_at_most_one(on for one in group for on in self._on[one][gpu])
            for group in together:
                for one, other in permutations(group, 2):
                    self._follow(one, other, gpu)

    def _follow(self, one: int, other: int, gpu: int) -> None:
        """Where one model is, require another, unless that one sleeps."""
        for literal in self._on[one][gpu]:
            company = [*self._on[other][gpu]]
            if other in self._asleep:
                company.append(self._asleep[other])
            self._program.add_bool_or([*company, literal.negated()])

    def _order(self, alike: Sequence[int]) -> None:
        """Order GPUs by the first model on each; every placement can be renamed to satisfy that."""
        models = range(len(self._choices))
        order = sorted(models, key=lambda n: -self._largest_need(n, alike[0]))[:MOST_LEADERS]
        for before, gpu in pairwise(alike):
            self._deadline.check()
            leading: list[Any] = []
            for number in order:
                leading = [*leading, *self._on[number][before]]
                for literal in self._on[number][gpu]:
                    self._program.add_bool_or([*leading, literal.negated()])

    def _largest_need(self, number: int, gpu: int) -> int:
        needs = (self._rooms[gpu].needs(choice) for choice in self._choices[number][:1])
        return max((amount for row in needs for amount in row), default=0)

    def _price(self) -> float:
        """Minimise the cost of sleeping; return the cost that one part stands for.

        Every sleeper counts one part more, so that no model sleeps for nothing.
        """
        costs = {n: self._problem.models[n].sleep_cost or 0.0 for n in self._asleep}
        unit = max(costs.values(), default=0.0) / COST_PARTS or 1.0
        if costs:
            counted = ((int(cost / unit) + 1) * self._asleep[n] for n, cost in costs.items())
            self._program.minimize(sum(counted))
        return unit

    def _placement(self, solver: Any) -> Places:
        placement: dict[str, tuple[str, ...]] = {}
        for model, rows in zip(self._problem.models, self._on, strict=True):
            gpus = [n for n, on in enumerate(rows) if any(map(solver.boolean_value, on))]
            placement[model.name] = in_order_of_nodes(self._problem, gpus)
        return placement

    def _hint(self, solver: Any) -> None:
        """Let the next search start from this placement, in which only a crowd is wrong."""
        self._program.clear_hints()
        for here in self._here.values():
            for literal in here.values():
                self._program.add_hint(literal, solver.boolean_value(literal))


class _Rows:
    """The needs of parts on equal GPUs, in whole parts of a GPU, one number for each limit."""

    def __init__(self, problem: Problem, gpu: Gpu, target: float) -> None:
        self._gpu, self._target, self._windows = gpu, target, range(problem.windows)
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}

    def needs(self, choice: Choice) -> tuple[int, ...]:
        """Return the numbers, rounded down, for all windows and resources."""
        key = choice.model, choice.parts
        if key not in self._known:
            self._known[key] = self._counted(choice.part)
        return self._known[key]

    def _counted(self, part: Model) -> tuple[int, ...]:
        gpu = self._gpu
        memory = (_memory_of(part, window, self._target) for window in self._windows)
        return (
            *(_counted(amount, gpu.memory_gb) for amount in memory),
            *(_counted(use_on(part, name, gpu), limit) for name, limit in gpu.limits),
        )


def _traits(gpu: Gpu) -> Hashable:
    return gpu.memory_gb, gpu.kind, gpu.limits


def _memory_of(part: Model, window: int, target: float) -> float:
    """Return the memory that a part holds, plus the memory that must be free for it."""
    load = load_in(part, window)
    return part.size_gb + (0.0 if load == 0.0 else load / target if target > 0.0 else inf)


def _counted(amount: float, limit: float) -> int:
    """Return an amount in parts of a limit; anything above the limit counts as a little above."""
    if amount <= 0.0:
        return 0
    share = amount / limit if limit > 0.0 else inf
    return int(min(share * BELOW_LAST_BITS * FINENESS, ROOM + 1.0))
