"""The words for a kind of proof: the same wherever a bound is stated or checked."""

from colocate.problem.certificate import Proof

PROOFS = {
    Proof.VOLUME: "all load over all free memory",
    Proof.MODEL: "one model alone on its GPU",
    Proof.MULTIPLIERS: "multipliers (below the bound, models outweigh what GPUs can carry)",
    Proof.TREE: "exhaustive search",
    Proof.SEARCH: "exhaustive search, tree too large to keep",
    Proof.SOLVERS: "two solvers, not checkable",
    Proof.ALONE: "one model alone on its GPU",
    Proof.GROUPS: "multipliers (groups of models that stay below it cannot hold all of them)",
    Proof.COVER: "all groups of models that stay below it",
}
