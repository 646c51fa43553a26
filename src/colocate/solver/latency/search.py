"""Places models by latency, all awake and with fixed numbers of replicas."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.tolerance import PROVEN
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.budget import SolveBudget
from colocate.solver.deadline import Deadline
from colocate.solver.latency.bounding import bounding
from colocate.solver.latency.checking import guessed_checking, timed_checking
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.steps import LatencySearch
from colocate.solver.plan import Alarm, Plan, Status
from colocate.solver.prove.latency.bounds import bound_alone
from colocate.solver.search import NOT_FOUND, attempt
from colocate.solver.targets import without_requests

BEGINNING = 0.3
"""The share of the time in which the ordinary solver may look for a first placement."""
START_STEPS = 2
"""Steps of the search before bounds are raised beside it; fewer where windows make them longer."""
MOST_STARTS, STARTING_OVER = 40, 0.3
"""Starts that are tried while targets break, and the share of the time for them, at most."""
FIRST_STEPS, LONGER = 20, 1.05
"""Steps from the first of these starts, and how many times as many from each further one."""
SEARCHING = 0.5
"""The share of the time for the search, if a single worker has to raise bounds as well."""
FINISHING, SHORTEST = 0.05, 0.02
"""The share of the time for the costs below the peak, and the fewest seconds for them."""
BROKEN_TARGETS = (
    "no placement was found that keeps all targets; it is not proven that there is none"
)

Start = Mapping[str, Sequence[str]]
"""The GPUs of the parts of every model, as far as they are known."""


def search_by_latency(
    problem: Problem,
    budget: SolveBudget,
    start: Start | None = None,
    proof: Certificate | None = None,
) -> Plan:
    """Place models so that the worst ratio is low, or the pressure if targets are only limits.

    Parameters
    ----------
    problem
        The models, all awake and with fixed numbers of replicas, and the GPUs.
    budget
        What the search may spend, and which answer is good enough.
    start
        Places to begin with; None to look for some.
    proof
        A bound on the value that is known already.
    """
    first = first_places(problem, budget, budget.deadline.left * BEGINNING, start)
    if not first.placement:
        return replace(first, problem=problem)
    progress = keeping_time_to_check(reduction_of(problem), budget, first.placement)
    progress.prove(proof)
    steps = max(START_STEPS // problem.windows, 1)
    improve(progress, budget.seed, first.placement, steps, only=False)
    progress.time_check()
    start_over(progress, budget)
    if problem.objective == "latency":
        progress.prove(bound_alone(problem))
    if len(progress.best) and not progress.finished:
        with bounding(progress, budget.workers):
            alone = budget.deadline.part(budget.deadline.left * SEARCHING)
            ends = alone if budget.workers == 1 else None
            improve(progress, budget.seed + 1, progress.placement, ends=ends)
    smooth(progress, budget)
    return concluded(progress)


def first_places(
    problem: Problem, budget: SolveBudget, seconds: float, start: Start | None
) -> Plan:
    """Return a plan with places to begin with: those given, or any that the ordinary solver finds.

    Parameters
    ----------
    problem
        The models, all awake and with fixed numbers of replicas, and the GPUs.
    budget, seconds
        The budget, and how much of it the ordinary solver may take.
    start
        The places given; single items may lack theirs, but no shards.
    """
    enough = start is not None and all(
        len(start.get(model.name, ())) == model.parts
        for model in problem.models
        if model.shards > 1
    )
    if enough:
        return Plan(problem, Status.UNKNOWN, Placement(start))
    return attempt(without_requests(problem), budget, seconds, target=np.inf)


def keeping_time_to_check(
    reduction: Reduction, budget: SolveBudget, start: Start
) -> LatencyProgress:
    """Return an empty progress, whose search leaves time for smaller costs and for the checker.

    Parameters
    ----------
    reduction, budget
        The problem as items, and what the search may spend.
    start
        Places to begin with. Only if all models have theirs do they tell how long the check takes.
    """
    finishing = max(budget.deadline.left * FINISHING, SHORTEST)
    problem = reduction.whole
    whole = all(len(start.get(model.name, ())) == model.parts for model in problem.models)
    checking = timed_checking(problem, start) if whole else guessed_checking(problem)
    return LatencyProgress(reduction, budget.keeping(finishing + checking), checking)


def improve(
    progress: LatencyProgress,
    seed: int,
    start: Start,
    steps: int | None = None,
    only: bool = True,
    ends: Deadline | None = None,
) -> None:
    """Search until the answer is good enough, nothing is left to find, or time is up.

    Parameters
    ----------
    progress
        Where better placements go, and when the search ends.
    seed
        Decides every random choice.
    start
        Where the parts of the models are, as far as known.
    steps
        How many steps the search has at most; None for any number.
    only
        Whether the search has this start only, if that leads to a placement.
    ends
        When the search ends, if earlier than its progress.
    """
    deadline = ends or progress.deadline
    search = LatencySearch(progress, deadline, seed, to_the_end=steps is None)
    taken = 0
    with deadline.watched():
        search.begin(indices_of(progress.reduction, start), only)
        while len(progress.best) and taken != steps and not (progress.ended or deadline.over):
            search.step()
            taken += 1


def start_over(progress: LatencyProgress, budget: SolveBudget, most: int = MOST_STARTS) -> None:
    """Search from one start after the other until a placement keeps all targets.

    Where the shards of models begin decides much, as a search hardly moves them. Most starts lead
    to a placement within a few steps or not for long.

    Parameters
    ----------
    progress
        The search so far.
    budget
        What the call may spend.
    most
        How many starts to try at most.
    """
    deadline = progress.deadline.part(progress.deadline.left * STARTING_OVER)
    steps = float(FIRST_STEPS)
    for number in range(1, most + 1):
        if progress.found or progress.ended or deadline.over:
            return
        other = replace(budget, seed=budget.seed + number)
        first = first_places(progress.problem, other, deadline.left, None)
        if first.placement:
            improve(progress, other.seed, first.placement, int(steps), only=False, ends=deadline)
        steps *= LONGER


def smooth(progress: LatencyProgress, budget: SolveBudget) -> None:
    """Lower the costs below the peak of the best placement, for as long as the search took."""
    if len(progress.best) and progress.hopeless is None:
        left = budget.deadline.left - progress.checking - progress.to_check
        seconds = max(min(progress.seconds, left), SHORTEST)
        finishing = budget.deadline.part(seconds)
        with finishing.watched():
            LatencySearch(progress, finishing, budget.seed).finish()


def indices_of(reduction: Reduction, placement: Start) -> Ints:
    """Return the GPU of every item, `NOWHERE` for parts that a placement does not have."""
    number = {gpu.name: place for place, gpu in enumerate(reduction.whole.gpus)}
    left = {model: list(reversed(gpus)) for model, gpus in placement.items()}
    names = [item.models[0].name for item in reduction.items]
    return np.array([number[left[n].pop()] if left.get(n) else NOWHERE for n in names], np.int64)


def concluded(progress: LatencyProgress, problem: Problem | None = None) -> Plan:
    """Return the plan with the best placement, if the independent checker confirms it.

    Parameters
    ----------
    progress
        The search.
    problem
        The problem that its proof is about; None for that of the search, with its replicas.
    """
    proof, alarms = progress.certificate, progress.alarms
    whole = problem or progress.problem
    if not progress.found:
        return _without_placement(progress, whole)
    placement = progress.placement
    verdict = verify(whole, placement)
    if not verdict.valid:
        return Plan(whole, Status.UNKNOWN, reason=NOT_FOUND)
    if proof is not None and refuted(whole, proof) is not None:
        alarms = [*alarms, Alarm(proof.proof.value, proof.bound, progress.value)]
        proof = None
    found = Plan(whole, Status.FEASIBLE, placement, verdict.pressures, certificate=proof)
    history, alarmed = tuple(progress.history), tuple(alarms)
    plan = replace(found, ratios=verdict.ratios, history=history, alarms=alarmed)
    return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan


def _without_placement(progress: LatencyProgress, problem: Problem) -> Plan:
    """Return a plan without a placement: infeasible if the checker confirms the proof."""
    proof = progress.hopeless
    if proof is not None and refuted(problem, proof) is None:
        reason = "no placement keeps all targets"
        return Plan(problem, Status.INFEASIBLE, reason=reason, certificate=proof)
    alarms = (Alarm(proof.proof.value, proof.bound, np.inf),) if proof is not None else ()
    reason = BROKEN_TARGETS if len(progress.best) else NOT_FOUND
    return Plan(problem, Status.UNKNOWN, reason=reason, alarms=alarms)
