"""Check bounds on the worst ratio of latency to target, with the checker's own law.

A bound R says that no placement has a ratio below R. So every group of models that may share a GPU
at a ratio below R is counted, and a few more through rounding, which is safe.
"""

from collections.abc import Callable, Sequence
from math import inf

from colocate.problem.certificate import Certificate
from colocate.problem.checker.items import open_to
from colocate.problem.checker.latency.companies import (
    GpuCompany,
    ItemChoice,
    choices_of,
    companies_of,
)
from colocate.problem.checker.latency.cover import cover_exists
from colocate.problem.checker.latency.engines import engine_of, must_keep
from colocate.problem.checker.latency.group_weights import (
    TOO_LONG,
    homeless_owner,
    least_total,
    overweight,
)
from colocate.problem.checker.latency.law import ratio_at
from colocate.problem.checker.tolerance import BELOW
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.sharing import COSTS

Choices = Sequence[ItemChoice]
Companies = Sequence[GpuCompany]
LARGEST_MULTIPLIER = 2**32
"""Certificates with larger multipliers are refused: their sums would no longer be exact."""


def refuted_alone(problem: Problem, certificate: Certificate) -> str | None:
    """Return why one model does not prove a bound even alone, or None if it does."""
    model = next((m for m in problem.models if m.name == certificate.model), None)
    if model is None:
        return f"model {certificate.model!r} is not in the problem"
    if certificate.binding and not must_keep(model):
        return f"model {certificate.model!r} has no target that a placement must keep"
    if certificate.bound == inf and not certificate.finite:
        return "a ratio cannot prove that there is no placement"
    proven = ratio_alone(problem, model)
    if proven >= certificate.bound:
        return None
    return f"model {model.name!r} alone proves {proven:.15g} only, not {certificate.bound:.15g}"


def ratio_alone(problem: Problem, model: Model) -> float:
    """Return the least ratio that a model has on any GPU, alone and with any number of replicas.

    Its ratio is the worst over all time windows, so at least that of the one with most requests.
    """
    sharing = COSTS[problem.sharing]
    pins = ((frozenset(model.only), frozenset(model.never)),)
    pinned = bool(model.only or model.never)
    kinds = {gpu.kind for gpu in problem.gpus if not pinned or open_to(pins, gpu)}
    return min(
        (
            ratio_at(engine_of(model, replicas, (kind,)), 0.0, sharing, BELOW)
            for kind in kinds
            for replicas in range(model.replicas, model.most_replicas + 1)
        ),
        default=0.0,
    )


def refuted_groups(problem: Problem, certificate: Certificate) -> str | None:
    """Return why multipliers of groups do not prove a bound, or None if they do."""
    return _refuted(problem, certificate, _outweighed)


def refuted_cover(problem: Problem, certificate: Certificate) -> str | None:
    """Return why a search for groups that take all models proves nothing, or None if it does."""
    return _refuted(problem, certificate, _covered)


def _refuted(
    problem: Problem,
    certificate: Certificate,
    fault_of: Callable[[Choices, Companies, Certificate], str | None],
) -> str | None:
    """Return what is wrong with a proof at its ratio; a model that fits nowhere there is enough."""
    choices = choices_of(problem)
    if fault := _malformed(choices, certificate):
        return fault
    companies = companies_of(
        problem, choices, certificate.bound, certificate.binding, certificate.window
    )
    if homeless_owner(choices, companies) is not None:
        return None
    if len(certificate.carried) != len(companies):
        return (
            f"{len(certificate.carried)} kinds of GPU carry something, there are {len(companies)}"
        )
    kind = overweight(companies, certificate.multipliers, certificate.carried)
    if kind == TOO_LONG:
        return "the heaviest groups take too long to find"
    if kind is not None:
        return f"a possible group weighs more than the {certificate.carried[kind]} of its GPU"
    return fault_of(choices, companies, certificate)


def _outweighed(choices: Choices, companies: Companies, certificate: Certificate) -> str | None:
    total = least_total(choices, companies, certificate.multipliers)
    carried = sum(c.gpus * m for c, m in zip(companies, certificate.carried, strict=True))
    if carried < total:
        return None
    return f"the GPUs carry multipliers of {carried}, those of all models add up to {total}"


def _covered(choices: Choices, companies: Companies, certificate: Certificate) -> str | None:
    exists = cover_exists(choices, companies, certificate.multipliers, certificate.carried)
    if exists is None:
        return "the search for groups that take all models is too long to repeat"
    return "some groups that keep the ratio take all models" if exists else None


def _malformed(choices: list[ItemChoice], certificate: Certificate) -> str | None:
    multipliers = certificate.multipliers
    if len(multipliers) != len(choices):
        return f"there are {len(multipliers)} multipliers for {len(choices)} choices"
    if not all(isinstance(number, int) for number in (*multipliers, *certificate.carried)):
        return "a multiplier is not a whole number"
    if min(*multipliers, *certificate.carried, 0) < 0:
        return "a multiplier is negative"
    if max(*multipliers, *certificate.carried, 0) > LARGEST_MULTIPLIER:
        return f"a multiplier is above {LARGEST_MULTIPLIER}"
    if not 0.0 < certificate.bound < inf:
        return "the bound is not a positive number"
    return None
