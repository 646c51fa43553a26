"""The placement problem for SCIP: which part leads a GPU, and which parts follow, in floats.

Exchangeable GPUs have no names here. Each is a slot that some part leads, and all others in it come
later in the order of models. With one slot for every part that may lead, nothing is counted twice
(asymmetric representatives, Campelo, Campos and Correa 2008). If a class has few GPUs and many
models, its slots have no leader. Amounts are shares of a GPU, and rooms are larger than true by
more than the tolerance of the solver.
"""

from collections.abc import Iterable, Sequence
from itertools import permutations
from math import inf
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.tolerance import COST_MARGIN, LP_TOLERANCE
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
from colocate.solver.prove.solvers.crowds import Crowd
from colocate.solver.prove.solvers.scip import LinearProgram, ScipStatus, Term
from colocate.solver.prove.solvers.searching import NONE, UNDECIDED, Finding

ROOM = 1.0 + 100 * LP_TOLERANCE
"""The room of a GPU, a little too large."""
NOTHING = LP_TOLERANCE
"""Shares up to this size count as 0 for SCIP."""
MANY = 8
"""With more models than this for each GPU of a class, slots are GPUs without leaders."""


class Slot(NamedTuple):
    """A GPU without a name, or with one."""

    alike: int
    """Its class of exchangeable GPUs."""
    gpu: int
    """The GPU; with a leader, any GPU of the class may stand for it."""
    leader: int | None
    """The model that leads it; None if the slot is always there."""
    here: dict[int, dict[int, int]]
    """By model, then by the number of its parts: the variable for whether one is there."""

    def of_model(self, number: int) -> list[int]:
        """Return the variables of a model in the slot; at most one of them is true."""
        return list(self.here.get(number, {}).values())


class ScipProgram:
    """A problem and a target, stated for SCIP.

    Parameters
    ----------
    problem, choices, target, deadline
        What to place how, and when to give up stating it: as `CpSatProgram` takes them.
    below
        The cost of sleeping that a placement must undercut; infinite for any cost.
    """

    def __init__(
        self,
        problem: Problem,
        choices: Options,
        target: float,
        deadline: Deadline,
        below: float = inf,
    ) -> None:
        self._problem, self._choices, self._deadline = problem, choices, deadline
        self._program = LinearProgram()
        self._classes = exchangeable_gpus(problem)
        self._shares = [
            _shares_of(problem, choices, problem.gpus[gpus[0]], target) for gpus in self._classes
        ]
        self._rank = self._ranks()
        self._slots = [slot for n in range(len(self._classes)) for slot in self._slots_of(n)]
        self._asleep: dict[int, int] = {}
        for number in range(len(choices)):
            deadline.check()
            self._choose(number)
        for slot in self._slots:
            deadline.check()
            self._limit(slot)
            self._keep_company(slot)
        self._count_slots()
        self._total = self._price(below)

    def search(self, deadline: Deadline) -> Finding:
        """Search for a placement with the least cost of sleeping, below the given cost."""
        status = self._program.run(deadline)
        if status is ScipStatus.INFEASIBLE:
            return NONE
        if status is ScipStatus.UNKNOWN:
            return UNDECIDED
        bound = max(self._program.bound - COST_MARGIN, 0.0) * self._total
        return Finding(Outcome.FOUND, self._placement(), bound)

    def forbid(self, crowd: Crowd) -> None:
        """Forbid parts to be all on one GPU."""
        for slot in self._slots:
            here = [
                slot.here[model][parts]
                for model, parts in crowd.choices
                if parts in slot.here.get(model, {})
            ]
            if slot.gpu in crowd.gpus and len(here) == len(crowd.choices):
                self._program.add_row(((on, 1.0) for on in here), upper=len(here) - 1.0)

    def _ranks(self) -> list[int]:
        """Return the rank of every model, largest first."""

        def size(number: int) -> float:
            choices = self._choices[number][:1]
            return max((max(self._shares[0][number, c.parts]) for c in choices), default=0.0)

        order = sorted(range(len(self._choices)), key=size, reverse=True)
        return [order.index(number) for number in range(len(order))]

    def _slots_of(self, alike: int) -> list[Slot]:
        """Return the slots of a class of GPUs, with a variable for every part that may be there."""
        gpus, shares = self._classes[alike], self._shares[alike]
        gpu = self._problem.gpus[gpus[0]]
        fitting = [
            choice
            for options in self._choices
            for choice in options
            if self._problem.models[choice.model].may_be_on(gpu)
            and max(shares[choice.model, choice.parts]) <= ROOM
        ]
        models = sorted({choice.model for choice in fitting}, key=self._rank.__getitem__)
        if len(gpus) == 1 or len(models) > MANY * len(gpus):
            return [self._slot(alike, number, None, fitting) for number in gpus]
        slots: list[Slot] = []
        for leader in models:
            most = max(choice.parts for choice in fitting if choice.model == leader)
            later = [c for c in fitting if self._rank[c.model] >= self._rank[leader]]
            replicas = range(min(most, len(gpus)))
            slots += [self._slot(alike, gpus[0], leader, later) for _ in replicas]
        return slots

    def _slot(self, alike: int, gpu: int, leader: int | None, choices: Sequence[Choice]) -> Slot:
        self._deadline.check()
        here: dict[int, dict[int, int]] = {}
        for choice in choices:
            here.setdefault(choice.model, {})[choice.parts] = self._program.add_variable()
        return Slot(alike, gpu, leader, here)

    def _choose(self, number: int) -> None:
        """Take exactly one number of replicas, with as many parts in slots."""
        model, taken = self._problem.models[number], []
        for _, parts, _ in self._choices[number]:
            rows = (slot.here.get(number, {}) for slot in self._slots)
            here = [(row[parts], 1.0) for row in rows if parts in row]
            taken.append(self._program.add_variable())
            self._program.add_row([*here, (taken[-1], -float(parts))], lower=0.0, upper=0.0)
        if model.sleep_cost is not None:
            self._asleep[number] = self._program.add_variable()
            taken.append(self._asleep[number])
        self._program.add_row(((chosen, 1.0) for chosen in taken), lower=1.0, upper=1.0)
        if model.shards > 1:
            self._keep_shards(number, model.shards)

    def _keep_shards(self, number: int, shards: int) -> None:
        """Let every node hold whole replicas only."""
        nodes: dict[str, list[Slot]] = {}
        for slot in self._slots:
            nodes.setdefault(self._problem.gpus[slot.gpu].node, []).append(slot)
        for slots in nodes.values():
            replicas = self._program.add_variable(len(self._problem.gpus) // shards)
            here = [(on, 1.0) for slot in slots for on in slot.of_model(number)]
            self._program.add_row([*here, (replicas, -float(shards))], lower=0.0, upper=0.0)

    def _limit(self, slot: Slot) -> None:
        """Let a slot hold no more than a GPU can, and nothing without its leader."""
        shares = self._shares[slot.alike]
        for limit in range(self._problem.windows + len(self._problem.gpus[slot.gpu].limits)):
            amounts = [
                (on, shares[number, parts][limit])
                for number, row in slot.here.items()
                for parts, on in row.items()
                if shares[number, parts][limit] > NOTHING
            ]
            if sum(amount for _, amount in amounts) > 1.0:
                self._at_most(slot, amounts, ROOM)
        if slot.leader is not None:
            for number in slot.here.keys() - {slot.leader}:
                self._at_most(slot, [(on, 1.0) for on in slot.of_model(number)], 1.0)

    def _keep_company(self, slot: Slot) -> None:
        problem = self._problem
        if problem.most_models is not None:
            here = [(on, 1.0) for number in slot.here for on in slot.of_model(number)]
            self._at_most(slot, here, float(problem.most_models))
        if not problem.apart and not problem.together:
            return
        place = {model.name: number for number, model in enumerate(problem.models)}
        for group in problem.apart:
            here = [(on, 1.0) for name in group for on in slot.of_model(place[name])]
            self._at_most(slot, here, 1.0)
        for group in problem.together:
            for one, other in permutations((place[name] for name in group), 2):
                here = [(on, 1.0) for on in slot.of_model(one)]
                company = [(on, -1.0) for on in slot.of_model(other)]
                if other in self._asleep:
                    company.append((self._asleep[other], -1.0))
                self._program.add_row([*here, *company], upper=0.0)

    def _count_slots(self) -> None:
        """Let no more slots of a class be led than the class has GPUs."""
        leads: list[list[Term]] = [[] for _ in self._classes]
        for slot in self._slots:
            if slot.leader is not None:
                leads[slot.alike] += [(on, 1.0) for on in slot.of_model(slot.leader)]
        for led, gpus in zip(leads, self._classes, strict=True):
            if len(led) > len(gpus):
                self._program.add_row(led, upper=float(len(gpus)))

    def _price(self, below: float) -> float:
        """Minimise the cost of sleeping, as a share of all costs, a margin below the given cost."""
        total = sum(self._problem.models[n].sleep_cost or 0.0 for n in self._asleep)
        if total > 0.0:
            shares = [
                (asleep, (self._problem.models[n].sleep_cost or 0.0) / total)
                for n, asleep in self._asleep.items()
            ]
            self._program.minimise(shares)
            if below < inf:
                self._program.add_row(shares, upper=below / total - COST_MARGIN)
        return total

    def _at_most(self, slot: Slot, terms: Iterable[Term], most: float) -> None:
        """Limit a sum in a slot; without its leader, the limit is 0."""
        if slot.leader is None:
            self._program.add_row(terms, upper=most)
            return
        amounts = dict.fromkeys(slot.of_model(slot.leader), -most)
        for on, amount in terms:
            amounts[on] = amounts.get(on, 0.0) + amount
        self._program.add_row(amounts.items(), upper=0.0)

    def _placement(self) -> Places:
        """Assign GPUs to the slots that are led, and return the placement."""
        unused = [list(gpus) for gpus in self._classes]
        places: list[list[int]] = [[] for _ in self._choices]
        for slot in self._slots:
            here = [n for n in slot.here if any(map(self._program.is_true, slot.of_model(n)))]
            if here:
                gpu = slot.gpu if slot.leader is None else unused[slot.alike].pop(0)
                for number in here:
                    places[number].append(gpu)
        return {
            model.name: in_order_of_nodes(self._problem, gpus)
            for model, gpus in zip(self._problem.models, places, strict=True)
        }


Shares = dict[tuple[int, int], list[float]]
"""By model and number of parts: the share of a GPU that a part takes, for each limit."""


def _shares_of(problem: Problem, choices: Options, gpu: Gpu, target: float) -> Shares:
    windows = range(problem.windows)

    def shares(part: Model) -> list[float]:
        loads = (load_in(part, window) for window in windows)
        kept = (_quotient(load, target) for load in loads)
        uses = ((use_on(part, name, gpu), limit) for name, limit in gpu.limits)
        return [
            *((part.size_gb + memory) / gpu.memory_gb for memory in kept),
            *(_quotient(use, limit) for use, limit in uses),
        ]

    return {(c.model, c.parts): shares(c.part) for options in choices for c in options}


def _quotient(amount: float, limit: float) -> float:
    """Divide; an amount of 0 is no share of any limit, and any other exceeds a limit of 0."""
    if amount == 0.0:
        return 0.0
    return amount / limit if limit > 0.0 else inf
