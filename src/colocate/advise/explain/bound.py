"""Take the bound of a plan apart: which proof it rests on, with figures."""

from dataclasses import dataclass, replace

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.items import Kin, kin_of
from colocate.problem.checker.multipliers import multiplier_sums
from colocate.problem.problem import Problem
from colocate.problem.tolerance import JUST_ABOVE
from colocate.problem.verify_bound import refuted
from colocate.solver.plan import Plan, gap_between


@dataclass(frozen=True)
class MultiplierFacts:
    """The figures of a proof by multipliers.

    Parameters
    ----------
    counted
        How many models, or parts of them, have a multiplier above zero.
    total
        The sum of all multipliers.
    carried
        The most that all GPUs can carry at a pressure below the bound.
    """

    counted: int
    total: int
    carried: int


@dataclass(frozen=True)
class BoundFacts:
    """A bound, its proof, and the figures of the proof.

    Parameters
    ----------
    proof, bound
        The kind of proof, and the bound that it claims.
    gap
        How far the pressure is above the bound at most, as a share of the bound.
    fault
        Why the proof does not hold; None if it holds, or cannot be checked.
    model
        The model, or part of it, that a proof by one model looks at.
    load, size_gb, memory_gb
        For a proof by volume those of all models and GPUs; for a proof by one model those of that
        model and of the largest GPU that it may be on.
    multipliers
        For a proof by multipliers; None where the number of replicas is open.
    nodes
        How many nodes a search took.
    """

    proof: Proof
    bound: float
    gap: float
    fault: str | None = None
    model: str = ""
    load: float = 0.0
    size_gb: float = 0.0
    memory_gb: float = 0.0
    multipliers: MultiplierFacts | None = None
    nodes: int = 0


def bound_of(plan: Plan, peak: float) -> BoundFacts | None:
    """Take the bound of a plan apart; None if the plan states none.

    Parameters
    ----------
    plan
        The plan; its bound is checked, not trusted.
    peak
        Its highest pressure, as the checker computes it.
    """
    certificate = plan.certificate
    asleep = {name for name, gpus in plan.placement.items() if not gpus}
    problem = plan.problem.awake(asleep) if plan.problem.sleepers else plan.problem
    if certificate is None or problem is None:
        return None
    gap = gap_between(peak, certificate.bound)
    facts = BoundFacts(certificate.proof, certificate.bound, gap, nodes=certificate.nodes)
    fault = refuted(problem, certificate)
    if certificate.bound > peak * JUST_ABOVE:
        fault = "it is above the pressure of the plan itself"
    if fault is not None:
        return BoundFacts(certificate.proof, certificate.bound, gap, fault)
    if certificate.proof is Proof.VOLUME:
        return _volume(facts, problem, certificate)
    if certificate.proof is Proof.MODEL:
        return _model(facts, problem, certificate)
    if certificate.proof is Proof.MULTIPLIERS:
        return _multipliers(facts, problem, certificate)
    return facts


def _volume(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    window = certificate.window
    load = sum(model.load[min(window, len(model.load) - 1)] for model in problem.models)
    memory = sum(gpu.memory_gb for gpu in problem.gpus)
    size = memory - load / facts.bound if facts.bound > 0.0 else 0.0
    return replace(facts, load=load, size_gb=size, memory_gb=memory)


def _model(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    named = certificate.model
    kin = next(k for k in kin_of(problem) if any(m.name == named for m in k.members))
    load = max(_load(kin, window) for window in range(problem.windows))
    size = sum(model.size_gb for model in kin.members) / kin.shards
    free = load / facts.bound if facts.bound > 0.0 else 0.0
    return replace(facts, model=kin.name, load=load, size_gb=size, memory_gb=size + free)


def _load(kin: Kin, window: int) -> float:
    """Return the load of one item with as many replicas as there may be."""
    loads = [model.load[min(window, len(model.load) - 1)] for model in kin.members]
    return sum(loads) / (max(model.most_replicas for model in kin.members) * kin.shards)


def _multipliers(facts: BoundFacts, problem: Problem, certificate: Certificate) -> BoundFacts:
    found = None if problem.open_replicas else multiplier_sums(problem, certificate)
    if found is None or isinstance(found, str):
        return facts
    counted = sum(number > 0 for number in certificate.multipliers)
    return replace(facts, multipliers=MultiplierFacts(counted, found.total, found.carried))
