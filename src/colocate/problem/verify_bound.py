"""Check a bound: in exact arithmetic, and with no code of the solver.

`checker/` has one module for each kind of proof: sums, multipliers, trees,
ratios.
"""

from math import isinf

from colocate.problem.certificate import OF_RATIOS, Certificate, Proof
from colocate.problem.checker.latency.ratio_bound import (
    refuted_alone,
    refuted_cover,
    refuted_groups,
)
from colocate.problem.checker.multipliers import refuted_multipliers
from colocate.problem.checker.sums import refuted_model, refuted_volume
from colocate.problem.checker.tree import refuted_tree
from colocate.problem.problem import Problem

OF_WINDOWS = (Proof.VOLUME, Proof.MULTIPLIERS, Proof.GROUPS, Proof.COVER)
"""Proofs that look at one time window."""
CHECKS = {
    Proof.VOLUME: refuted_volume,
    Proof.MODEL: refuted_model,
    Proof.MULTIPLIERS: refuted_multipliers,
    Proof.TREE: refuted_tree,
    Proof.ALONE: refuted_alone,
    Proof.GROUPS: refuted_groups,
    Proof.COVER: refuted_cover,
}


def refuted(problem: Problem, certificate: Certificate) -> str | None:
    """Return why a certificate does not prove its bound, or None if it is not refuted.

    A proof by a search without a tree, or by outside solvers, cannot be checked, so it is neither
    refuted nor confirmed (see `Proof.checkable`).

    Parameters
    ----------
    problem
        The problem of the models that are awake; sleepers are left out (see `Problem.awake`).
    certificate
        The bound and its proof.
    """
    proof = certificate.proof
    if certificate.bound == 0.0 or not proof.checkable:
        return None
    return _out_of_place(problem, certificate) or CHECKS[proof](problem, certificate)


def _out_of_place(problem: Problem, certificate: Certificate) -> str | None:
    """Return why a proof of this kind cannot support such a bound; None if it can."""
    proof = certificate.proof
    if proof in OF_RATIOS and not problem.has_requests:
        return "the problem does not say what its models are asked"
    if isinf(certificate.bound) and proof is Proof.MULTIPLIERS:
        return "multipliers cannot prove an infinite bound"
    if certificate.finite and proof not in (Proof.TREE, Proof.ALONE):
        return "only a search can prove that no pressure is finite"
    if proof in OF_WINDOWS and not 0 <= certificate.window < problem.windows:
        return f"window {certificate.window} is not one of the {problem.windows} of the problem"
    return None
