"""What the bound of a plan is made of."""

from dataclasses import dataclass, replace

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.parts import problem_of_bounds
from colocate.problem.problem import Problem
from colocate.problem.verify_bound import refuted
from colocate.solver.plan import Plan
from colocate.solver.progress import gap_between
from colocate.solver.prove.knapsack import grid_of, most_weight

STEPS = 2**15
"""Fineness of the grid on which it is counted what GPUs can hold."""


@dataclass(frozen=True)
class Weighing:
    """A proof by weights.

    Parameters
    ----------
    weighted
        How many models, or parts of them, carry weight.
    weight
        What they weigh together.
    held
        What all GPUs can hold at most at a pressure below the bound.
    """

    weighted: int
    weight: int
    held: int


@dataclass(frozen=True)
class BoundFacts:
    """A bound, its proof, and the figures of the proof.

    Parameters
    ----------
    proof, bound
        What is claimed.
    gap
        How much of the pressure could still be gained at most, as a share of the bound.
    fault
        Why the proof does not hold; None if it does, or is a search, which is not repeated here.
    model
        The model, or part of it, that a proof by one model looks at.
    load, size_gb, memory_gb
        Volume: of all models and GPUs. Model: of it, and of the largest GPU that it may be on.
    weighing
        For a proof by weights; None where the number of copies is open, or a coarse count does
        not show it.
    nodes
        How many nodes a search took; 0 if it was CP-SAT's.
    """

    proof: Proof
    bound: float
    gap: float
    fault: str | None = None
    model: str = ""
    load: float = 0.0
    size_gb: float = 0.0
    memory_gb: float = 0.0
    weighing: Weighing | None = None
    nodes: int = 0


def bound_of(plan: Plan, peak: float) -> BoundFacts | None:
    """Take the bound of a plan apart; None if it states none.

    Parameters
    ----------
    plan
        The plan; its bound is not believed.
    peak
        Its highest pressure, as the checker has it.
    """
    certificate = plan.certificate
    asleep = {name for name, gpus in plan.placement.items() if not gpus}
    problem = problem_of_bounds(plan.problem, asleep)
    if certificate is None or problem is None:
        return None
    gap = gap_between(peak, certificate.bound)
    facts = BoundFacts(certificate.proof, certificate.bound, gap, nodes=certificate.nodes)
    fault = refuted(problem, certificate)
    if certificate.bound > peak * (1.0 + 1e-9):
        fault = "it is above the pressure of the plan itself"
    if fault is not None:
        return BoundFacts(certificate.proof, certificate.bound, gap, fault)
    if certificate.proof is Proof.VOLUME:
        return _volume(facts, problem, certificate)
    if certificate.proof is Proof.MODEL:
        return _model(facts, problem, certificate)
    if certificate.proof is Proof.WEIGHTS:
        return _weights(facts, problem, certificate)
    return facts


def _volume(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    window = certificate.window
    load = sum(model.load[min(window, len(model.load) - 1)] for model in problem.models)
    memory = sum(gpu.memory_gb for gpu in problem.gpus)
    size = memory - load / facts.bound if facts.bound > 0.0 else 0.0
    return replace(facts, load=load, size_gb=size, memory_gb=memory)


def _model(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    model = next(model for model in problem.models if model.name == certificate.model)
    part = model.part(model.most_replicas)
    load = max(part.load)
    free = load / facts.bound if facts.bound > 0.0 else 0.0
    memory = part.size_gb + free
    return replace(facts, model=model.name, load=load, size_gb=part.size_gb, memory_gb=memory)


def _weights(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    if problem.elastic:
        return facts
    grid = grid_of(problem.instance, certificate.bound, certificate.window, STEPS)
    weights = np.array(certificate.weights, dtype=float)
    most = most_weight(grid.size, weights[grid.models], int(grid.room[0]))
    held = int((most[grid.room] * grid.gpus).sum())
    weighing = Weighing(int(np.count_nonzero(weights)), int(weights.sum()), held)
    return replace(facts, weighing=weighing if held < weighing.weight else None)
