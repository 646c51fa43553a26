"""The words for the proof of a bound: the same on screen and page."""

from colocate.advise.explain.bound import BoundFacts
from colocate.outputs.text.wording import amount, gigabytes, quoted
from colocate.problem.certificate import Proof

OF_LATENCY = {
    Proof.ALONE: "by one model: {} has this latency even alone on its best GPU",
    Proof.GROUPS: "by multipliers: groups of models that stay below it cannot hold all of them",
    Proof.COVER: "by all groups of models that stay below it: no choice of them has every model",
}
"""The proofs of bounds on the worst latency."""


def proof_text(found: BoundFacts) -> str:
    """Describe the proof of a bound, with its figures."""
    if found.proof is Proof.VOLUME:
        free = gigabytes(found.memory_gb - found.size_gb)
        return f"by volume: all load, {found.load:.4g}, over all free memory, {free}"
    if found.proof is Proof.MODEL:
        free = gigabytes(found.memory_gb - found.size_gb)
        return (
            f"by one model: {quoted(found.model, '')} has a load of {found.load:.4g} and leaves "
            f"{free} of the largest GPU that it may be on"
        )
    if found.proof in OF_LATENCY:
        return OF_LATENCY[found.proof].format(quoted(found.model, ""))
    if found.proof is Proof.MULTIPLIERS:
        return f"by multipliers: {_multipliers(found)}"
    if found.proof is Proof.SOLVERS:
        return "by two solvers, not checkable: both found no placement below it"
    nodes = f" of {found.nodes:,} nodes" if found.nodes else ""
    kept = ", tree too large to keep"
    if found.proof is Proof.TREE:
        kept = "; its tree is kept in the plan, and `colocate check` walks it"
    return f"by an exhaustive search{nodes}{kept}"


def _multipliers(found: BoundFacts) -> str:
    if found.multipliers is None:
        return "below the bound, the models outweigh what the GPUs can carry"
    sums = found.multipliers
    return (
        f"the multipliers of {amount(sums.counted, 'model')} or parts add up to "
        f"{sums.total:,}; at a lower pressure the GPUs can carry {sums.carried:,} at most"
    )
