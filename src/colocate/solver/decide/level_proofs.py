"""Ways to a bound on a level, for one choice of GPUs that hold the levels above.

Sums take no search. The search improves the placement too. Two solvers search all numbers of
replicas, for which there is no tree.
"""

from collections.abc import Iterator
from dataclasses import replace

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.level import LevelProof
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.problem.tolerance import CEILING, JUST_BELOW
from colocate.problem.verify_levels import refuted_level
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.decide.holders import Holders
from colocate.solver.decide.level_problem import level_problem
from colocate.solver.decide.level_state import MARGIN, LevelState
from colocate.solver.decide.replicas import place_awake
from colocate.solver.prove.obstacles import obvious_obstacle, too_many_parts
from colocate.solver.prove.replica_bounds import prove_with_replicas
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.prove.volume import prove_by_model, prove_by_volume

LOOSE, TIGHT = 0.5, 1.0 - 1e-4
"""Floors, as shares of the pressure of a level. The first leaves room for a better placement; the
second hides nothing that matters and makes for the best bounds."""
ROOF = 1.001
"""The roof, as a multiple of the pressure of a level: enough to exclude holders beyond doubt."""
OUT = 1.0005
"""The pressure that solvers look for with other holders, as a multiple of that of the level: if
there is none, these holders are out."""
FLOORS = (TIGHT, 0.999, 0.99, 0.95, 0.9, 0.75, LOOSE)
"""Floors for bounds by sums, the best first: a bound counts only if it is above its floor."""


def by_sums(state: LevelState, holders: Holders) -> LevelProof | None:
    """Return the best proof by sums for a choice of holders: it takes no search."""
    for floor in FLOORS:
        problem = _stated(state, holders, floor)
        certificates = sorted(_sums(problem), key=lambda each: -each.bound)
        for certificate in certificates:
            if proof := _confirmed(state, holders, floor, certificate):
                return proof
        if state.budget.deadline.left < MARGIN * state.stating:
            return None
    return None


def searched(
    state: LevelState, holders: Holders, floor: float, stage: SolveBudget
) -> LevelProof | None:
    """Search one choice of holders; take a better placement, and return its proof.

    Parameters
    ----------
    state
        What is known about the levels.
    holders
        The GPUs that hold the levels above.
    floor
        The floor of the level problem, as a share of the pressure of the level.
    stage
        What the search may spend.
    """
    problem = _stated(state, holders, floor)
    value, own = state.value, state.is_own(holders)
    if not own:
        stage = replace(stage, ceiling=value * CEILING)
    plan = place_awake(problem, stage, state.placement if own else None)
    state.alarms.extend(plan.alarms)
    if plan.placement:
        state.offer(plan.placement)
    return _confirmed(state, holders, floor, plan.certificate, value)


def asked(state: LevelState, holders: Holders, stage: SolveBudget) -> LevelProof | None:
    """Let two solvers search one choice of holders, with any numbers of replicas.

    Parameters
    ----------
    state, holders, stage
        As `searched` takes them.
    """
    problem, value = _stated(state, holders, TIGHT), state.value
    steps = (JUST_BELOW,) if state.is_own(holders) else (OUT, JUST_BELOW)
    for step in steps if small_enough(problem) else ():
        deadline = stage.deadline.part(stage.deadline.left)
        answer = search_all(problem, value * step, deadline, stage.workers)
        state.alarms.extend([answer.alarm] if answer.alarm else [])
        if answer.outcome is Outcome.NONE:
            proof = Certificate(Proof.SOLVERS, value * step)
            return _confirmed(state, holders, TIGHT, proof, value)
        if answer.outcome is Outcome.FOUND and state.offer(Placement(answer.placement)):
            return None
    return None


def _sums(problem: Problem) -> Iterator[Certificate]:
    """Yield what follows from sums about any placement."""
    if obstacle := too_many_parts(problem):
        yield obstacle.proof
        return
    if problem.open_replicas:
        yield prove_with_replicas(problem)
        return
    reduction = reduction_of(problem)
    if obstacle := obvious_obstacle(reduction):
        yield obstacle.proof
    yield prove_by_volume(reduction.instance)
    yield prove_by_model(reduction)


def _stated(state: LevelState, holders: Holders, floor: float) -> Problem:
    """Return the problem of the level, and note how long that took."""
    started = state.budget.deadline.seconds
    ceilings = dict(zip(holders, state.ceilings, strict=True))
    problem = level_problem(state.problem, ceilings, state.value * floor, state.value * ROOF)
    state.stating = state.budget.deadline.seconds - started
    return problem


def _confirmed(
    state: LevelState,
    holders: Holders,
    floor: float,
    certificate: Certificate | None,
    value: float | None = None,
) -> LevelProof | None:
    """Return a proof if it says something and the checker does not refute it."""
    if certificate is None:
        return None
    value = state.value if value is None else value
    proof = LevelProof(holders, value * floor, value * ROOF, certificate)
    ceilings = dict(zip(holders, state.ceilings, strict=True))
    if proof.bound == 0.0 or refuted_level(state.problem, ceilings, proof) is not None:
        return None
    return proof
