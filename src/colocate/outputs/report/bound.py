"""What is proven about the optimum, and what the proof is made of."""

from math import isinf

from colocate.advise.explain.bound import bound_of
from colocate.outputs.explain.bound import proof_text
from colocate.outputs.plan.words import shown_pressure
from colocate.outputs.text.wording import listed, quoted
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.items import kin_of, names_of
from colocate.solver.plan import Plan

MOST_NAMED = 5
"""Models that a sentence names."""
MEANING = {
    Proof.VOLUME: "Even if load and free memory could be cut and spread at will, every GPU would "
    "have this pressure. No placement does better.",
    Proof.MODEL: "It has this pressure on its own, wherever the other models are.",
    Proof.MULTIPLIERS: "Every model has a multiplier. They are chosen so that, at a lower "
    "pressure, the models together outweigh what the GPUs can carry.",
    Proof.TREE: "An exhaustive search found no way to stay below it. The plan keeps every step of "
    "the search, so anyone can check that nothing was left out.",
    Proof.SEARCH: "An exhaustive search found no way to stay below it.",
    Proof.SOLVERS: "CP-SAT and a second solver both found no way to stay below it.",
    Proof.ALONE: "It has this latency even on a GPU of its own, wherever the other models are.",
    Proof.GROUPS: "Every model has a multiplier. They are chosen so that groups of models that "
    "stay below it, one for each GPU, always come to less than all models do: one is left out.",
    Proof.COVER: "Of all groups of models that stay below it, no choice of one for each GPU has "
    "every model. Anyone can search them again.",
}


def bound_sentences(plan: Plan) -> list[str]:
    """Explain the bound: its value, its proof and its meaning."""
    certificate = plan.certificate
    by_latency = plan.problem.objective == "latency"
    found = bound_of(plan, plan.value)
    if certificate is None or found is None or found.bound == 0.0:
        return ["Nothing is proven: no bound was asked for, or none was found in time."]
    bound = shown_pressure(found.bound)
    if found.fault is not None:
        return [f"The plan states a bound of {bound}, but that is not proven: {found.fault}."]
    lowest = f"No placement has a lower peak than {bound}"
    if by_latency:
        lowest = f"No placement has a worst latency below {bound} of its target"
    if isinf(found.bound):
        lowest = "No placement has a finite peak"
    return [
        f"{lowest}, {proof_text(found)}.",
        " ".join(filter(None, (MEANING[found.proof], _largest(plan, certificate)))),
    ]


def _largest(plan: Plan, certificate: Certificate) -> str:
    """Name the models with the largest multipliers; nothing where models have none."""
    awake = plan.problem.awake(frozenset(plan.asleep)) if plan.problem.sleepers else plan.problem
    names = names_of(kin_of(awake)) if awake and not awake.open_replicas else []
    total = sum(certificate.multipliers)
    if total == 0 or len(names) != len(certificate.multipliers):
        return ""
    largest = sorted(zip(certificate.multipliers, names, strict=True), key=lambda pair: -pair[0])
    named = [f"{quoted(n, '')} ({m / total:.0%})" for m, n in largest[:MOST_NAMED] if m > 0]
    return f"The largest multipliers belong to {listed(named)}."
