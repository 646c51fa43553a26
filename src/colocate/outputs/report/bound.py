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
MEANING = {
    Proof.VOLUME: "If the load and what the models leave free could be cut and spread at will, "
    "every GPU would be equally pressed; no placement does better than that.",
    Proof.MODEL: "It is that pressed on its own, wherever the others are.",
    Proof.MULTIPLIERS: "Every model has a multiplier, and a GPU can carry only so many. At a "
    "pressure below the bound the models outweigh what the GPUs can carry.",
    Proof.TREE: "All ways to stay below it were searched; there is none. What was tried is kept in "
    "the plan, so that anybody can see that nothing was left out.",
    Proof.SEARCH: "All ways to stay below it were searched; there is none.",
    Proof.SOLVERS: "CP-SAT and a second solver looked for a way to stay below it; both say that "
    "there is none.",
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
    lowest = f"No placement has a lower peak than {bound}"
    if isinf(found.bound):
        lowest = "No placement has a finite peak"
    return [
        f"{lowest}, {proof_text(found)}.",
        " ".join(filter(None, (MEANING[found.proof], _largest(plan, certificate)))),
    ]


def _largest(plan: Plan, certificate: Certificate) -> str:
    """Name the models with the largest multipliers; nothing where a proof has none for models."""
    awake = plan.problem.awake(frozenset(plan.asleep)) if plan.problem.sleepers else plan.problem
    names = names_of(kin_of(awake)) if awake and not awake.open_replicas else []
    total = sum(certificate.multipliers)
    if total == 0 or len(names) != len(certificate.multipliers):
        return ""
    largest = sorted(zip(certificate.multipliers, names, strict=True), key=lambda pair: -pair[0])
    named = [
        f"{quoted(name, '')} ({number / total:.0%})"
        for number, name in largest[:MOST_NAMED]
        if number > 0
    ]
    return f"The largest multipliers are those of {listed(named)}."
