"""Having every kernel of a solve compiled, or loaded, before its clock starts."""

from dataclasses import replace
from functools import cache
from math import inf

import numpy as np

from colocate.machine_code.entry import compiled_together
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.checker.latency.cover import cover_exists
from colocate.problem.checker.latency.group_weights import overweight
from colocate.problem.checker.latency.groups import empty_search, group_is_possible
from colocate.problem.gpu import Gpu
from colocate.problem.layout import arrange, arrange_some, empty, empty_layout, take
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.verify_bound import refuted
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.filling import filled
from colocate.solver.construct.first_fit import pack_first
from colocate.solver.construct.tight_fit import fill_tightly
from colocate.solver.construct.vector_fit import fill_vectors
from colocate.solver.deadline import Deadline
from colocate.solver.improve.exchange import sorted_for_exchange, walk
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.improve.shard_moves import ShardGroups, move_shard_groups, scatter_shards
from colocate.solver.improve.smoothing import PASSES, smooth
from colocate.solver.improve.squeeze import squeeze_in
from colocate.solver.improve.trading import Wakeable, trade, wake
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.steps import LatencySearch
from colocate.solver.portfolio.start import FEW, THOROUGH
from colocate.solver.prove.columns import fill_gpus
from colocate.solver.prove.dual_functions import prove_by_dual_functions
from colocate.solver.prove.latency.bounds import latency_bounds
from colocate.solver.prove.latency.knapsacks import GpuKnapsacks
from colocate.solver.prove.tree import search_with_proof
from colocate.solver.targets import by_latency

SMALL = Problem(
    (Gpu("a", 80), Gpu("b", 80)), tuple(Model(f"m{n}", 5 + n, load=1 + n) for n in range(4))
)

ODD = Problem((Gpu("a", 80), Gpu("b", 80)), tuple(Model(f"m{n}", 5, load=1) for n in range(3)))
OUT_OF_REACH = 0.025
"""Two of the three share a GPU, at 2/70, while their sums would allow 3/145."""


ASKED = Requests(1.0, 10.0, (("", EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)),), 1.0)
SHARDED = Problem(
    tuple(Gpu(name, 80, node="n") for name in "abc"),
    tuple(Model(f"m{n}", 5, load=1, shards=1 + n // 3, requests=ASKED) for n in range(4)),
    objective="latency",
)


ABOVE_ALL, LONGEST = 0.02, 1.0
"""About twice the ratio of these models, and the most seconds for bounds below it."""


def warm_up(problem: Problem, several_levels: bool = False) -> None:
    """Call every kernel once that a problem, or the problems of its levels, may need."""
    with compiled_together():
        _warm_up_for_few()
        if len(problem.models) > FEW or several_levels or not problem.plain:
            _warm_up_for_many()
        if problem.windows > 1:
            _warm_up_for_windows()
        if problem.sleepers:
            _warm_up_for_sleepers()
        if by_latency(problem):
            _warm_up_for_latency()


@cache
def _warm_up_for_few() -> None:
    reduction = reduction_of(SMALL)
    instance = reduction.canonical
    layout = empty_layout(instance)
    THOROUGH.construct(instance, layout)
    filled(instance, layout, 0)
    pack_first(instance, layout, Deadline())
    regroup(instance, layout, np.random.default_rng(0), 0.0, fresh_pace(), 10)
    smooth(instance, layout, PASSES)
    arrange(reduction.instance, empty_layout(reduction.instance), np.zeros(4, np.int64))
    odd = reduction_of(ODD)
    _, proof = search_with_proof(odd.instance, empty_layout(odd.instance), OUT_OF_REACH, 100)
    assert proof is not None
    refuted(odd.whole, proof)
    prove_by_dual_functions(reduction.instance, 0.01, 0)
    sizes = np.array([1, 2])
    fill_gpus(sizes, sizes - 1, np.ones(2), np.array([3]), np.zeros(1))


@cache
def _warm_up_for_many() -> None:
    instance = reduction_of(SMALL).canonical
    layout = empty_layout(instance)
    rng = np.random.default_rng(0)
    fill_vectors(instance, layout, np.arange(2), 1.0, 1, rng)
    empty(layout)
    fill_tightly(instance, layout, np.arange(2), 10.0)
    shard_groups = ShardGroups(np.zeros(1, np.int64), np.ones(1, np.int64))
    move_shard_groups(instance, layout, shard_groups, rng, 1)
    scatter_shards(instance, layout, shard_groups, rng)
    take(instance, layout, 0)
    squeeze_in(instance, layout, 0, inf, rng, 10)


@cache
def _warm_up_for_windows() -> None:
    instance, models = sorted_for_exchange(reduction_of(SMALL).canonical)
    layout, homes = empty_layout(instance), np.zeros(4, np.int64)
    arrange(instance, layout, homes)
    walk(instance, layout, models, np.random.default_rng(0), 0.0, inf, 50.0, 10, homes)


@cache
def _warm_up_for_sleepers() -> None:
    instance = reduction_of(SMALL).canonical
    layout = empty_layout(instance)
    wakeable = Wakeable(np.ones(4), np.ones(4, np.bool_), np.ones(4, np.int64))
    wake(instance, layout, np.arange(4), wakeable)
    trade(instance, layout, wakeable, 1)
    arrange_some(instance, layout, np.zeros(4, np.int64))


@cache
def _warm_up_for_latency() -> None:
    progress = LatencyProgress(reduction_of(SHARDED), SolveBudget(Deadline()))
    search = LatencySearch(progress, Deadline(), 0)
    search.begin(np.array([0, 1, 2, 0, 1]))
    search.kick()
    progress.complete = False
    search.step()
    search.finish()
    whole = replace(SHARDED, models=SHARDED.models[:3])
    for proof in latency_bounds(whole, Deadline(LONGEST), ABOVE_ALL):
        refuted(whole, proof)
    choices = choices_of(whole)
    companies = companies_of(whole, choices, ABOVE_ALL, False)
    overweight(companies, [1] * len(choices), [1] * len(companies))
    cover_exists(choices, companies, [1] * len(choices), [1] * len(companies))
    group_is_possible(companies[0], empty_search(companies[0]), np.zeros(1, np.int64))
    GpuKnapsacks(companies[0]).heaviest(np.zeros(len(companies[0].owner), np.int64), 0)
