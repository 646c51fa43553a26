"""What is proven about the optimum, and what the proof is made of."""

from math import fsum

from colocate.outputs.plan_words import PROOFS, shown_pressure
from colocate.outputs.visible import LONGEST_NAME, one_line
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.parts import problem_of_bounds
from colocate.solver.plan import Plan

MOST_NAMED = 5


def bound_sentence(plan: Plan) -> str:
    """Say what no placement can be below, and why."""
    certificate = plan.certificate
    if certificate is None or certificate.bound == 0.0:
        return "Nothing is proven: no bound was asked for, or none was found in time."
    bound = shown_pressure(certificate.bound)
    return f"No placement has a lower peak than {bound}, by {PROOFS[certificate.proof]}."


def made_of(plan: Plan) -> str:
    """Say what goes into the bound; nothing if there is none."""
    certificate = plan.certificate
    if certificate is None or certificate.bound == 0.0:
        return ""
    tell = {
        Proof.VOLUME: _volume,
        Proof.MODEL: _model,
        Proof.WEIGHTS: _weights,
        Proof.SEARCH: _search,
    }
    return tell[certificate.proof](plan, certificate)


def _volume(plan: Plan, certificate: Certificate) -> str:
    told = (
        "If the load and what the models leave free could be cut and spread at will, every GPU "
        "would be equally pressed; no placement does better than that."
    )
    members = [part for parts in plan.models_by_gpu().values() for part in parts]
    load = fsum(part.load[min(certificate.window, len(part.load) - 1)] for part in members)
    free = fsum(gpu.memory_gb for gpu in plan.problem.gpus) - fsum(p.size_gb for p in members)
    if free <= 0 or abs(load / free - certificate.bound) > 1e-6 * certificate.bound:
        return told
    return f"{told} That is a load of {load:.6g} over {free:.6g} GB."


def _model(plan: Plan, certificate: Certificate) -> str:
    name = one_line(certificate.model, LONGEST_NAME)
    return f"{name} alone on the best GPU for it is that pressed already, wherever the others are."


def _weights(plan: Plan, certificate: Certificate) -> str:
    told = (
        "Every model has a weight, chosen so that below the bound no GPU can hold as much as it "
        "would have to: the models together weigh more than all GPUs can take."
    )
    bounded = problem_of_bounds(plan.problem, plan.asleep)
    names = [model.name for model in bounded.models] if bounded else []
    if len(names) != len(certificate.weights):
        return told
    heavy = sorted(zip(certificate.weights, names, strict=True), key=lambda pair: -pair[0])
    counted = sum(weight > 0 for weight in certificate.weights)
    total = sum(certificate.weights)
    named = ", ".join(
        f"{one_line(name, LONGEST_NAME)} ({weight / total:.0%})"
        for weight, name in heavy[:MOST_NAMED]
        if weight > 0
    )
    return f"{told} {counted:,} of {len(names):,} count; the heaviest are {named}."


def _search(plan: Plan, certificate: Certificate) -> str:
    steps = f" in {certificate.nodes:,} steps" if certificate.nodes else ""
    return f"All ways to stay below it were searched{steps}; there is none."
