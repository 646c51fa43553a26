"""A second opinion on a bound, in exact arithmetic, sharing no code with the solver.

`checker/` has one module for each kind of proof: sums, multipliers, trees.
"""

from math import isinf

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.multipliers import refuted_multipliers
from colocate.problem.checker.sums import refuted_model, refuted_volume
from colocate.problem.checker.tree import refuted_tree
from colocate.problem.problem import Problem

CHECKS = {
    Proof.VOLUME: refuted_volume,
    Proof.MODEL: refuted_model,
    Proof.MULTIPLIERS: refuted_multipliers,
    Proof.TREE: refuted_tree,
}


def refuted(problem: Problem, certificate: Certificate) -> str | None:
    """Return why a certificate does not prove its bound, or None if nothing speaks against it.

    A proof by search without a tree, or by other solvers, cannot be checked: nothing speaks for it
    either (see `Proof.checkable`).

    Parameters
    ----------
    problem
        The whole problem, with nobody asleep: who sleeps is left out (see `Problem.awake`).
    certificate
        The bound and its reason.
    """
    proof = certificate.proof
    if certificate.bound == 0.0 or not proof.checkable:
        return None
    return _out_of_place(problem, certificate) or CHECKS[proof](problem, certificate)


def _out_of_place(problem: Problem, certificate: Certificate) -> str | None:
    """Say what a proof of its kind cannot be about."""
    proof = certificate.proof
    if isinf(certificate.bound) and proof is Proof.MULTIPLIERS:
        return "multipliers prove no infinite bound"
    if certificate.finite and proof is not Proof.TREE:
        return "only a search proves that no pressure is finite"
    if proof in (Proof.VOLUME, Proof.MULTIPLIERS) and not 0 <= certificate.window < problem.windows:
        return f"window {certificate.window} is not one of the {problem.windows} of the problem"
    return None
