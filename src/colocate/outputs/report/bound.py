"""What is proven about the optimum, and what the proof is made of."""

from colocate.outputs.bound_words import proof_text
from colocate.outputs.plan_words import shown_pressure
from colocate.outputs.wording import listed, quoted
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.parts import problem_of_bounds
from colocate.solver.explain.bound import bound_of
from colocate.solver.plan import Plan

MOST_NAMED = 5
MEANING = {
    Proof.VOLUME: "If the load and what the models leave free could be cut and spread at will, "
    "every GPU would be equally pressed; no placement does better than that.",
    Proof.MODEL: "It is that pressed on its own, wherever the others are.",
    Proof.WEIGHTS: "Every model has a weight, chosen so that below the bound no GPU can hold as "
    "much as it would have to: the models together weigh more than all GPUs can take.",
    Proof.SEARCH: "All ways to stay below it were searched; there is none.",
}


def bound_sentences(plan: Plan) -> list[str]:
    """Say what no placement can be below, why, and what that means."""
    certificate = plan.certificate
    found = bound_of(plan, plan.pressure)
    if certificate is None or found is None or found.bound == 0.0:
        return ["Nothing is proven: no bound was asked for, or none was found in time."]
    bound = shown_pressure(found.bound)
    if found.fault is not None:
        return [f"The plan states a bound of {bound}, but that is not proven: {found.fault}."]
    return [
        f"No placement has a lower peak than {bound}, {proof_text(found)}.",
        " ".join(filter(None, (MEANING[found.proof], _heaviest(plan, certificate)))),
    ]


def _heaviest(plan: Plan, certificate: Certificate) -> str:
    """Name the models with the most weight; nothing where a proof has no weights of models."""
    bounded = problem_of_bounds(plan.problem, plan.asleep)
    names = [model.name for model in bounded.models] if bounded else []
    total = sum(certificate.weights)
    if total == 0 or len(names) != len(certificate.weights):
        return ""
    heavy = sorted(zip(certificate.weights, names, strict=True), key=lambda pair: -pair[0])
    named = [f"{quoted(n, '')} ({w / total:.0%})" for w, n in heavy[:MOST_NAMED] if w > 0]
    return f"The heaviest are {listed(named)}."
