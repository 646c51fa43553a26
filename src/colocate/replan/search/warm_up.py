"""Having the kernels of a replan compiled, or loaded, before its clock starts."""

from dataclasses import replace
from functools import cache

from colocate.machine_code.entry import compiled_together
from colocate.problem.problem import Problem
from colocate.problem.tolerance import OUT_OF_REACH
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import homes_of
from colocate.replan.search.seeker import Seeker
from colocate.solver.deadline import Deadline
from colocate.solver.targets import by_latency
from colocate.solver.warm_up import SHARDED, SMALL, warm_up


def warm_up_replan(problem: Problem) -> None:
    """Call every kernel once that a replan may need."""
    with compiled_together():
        warm_up(problem)
        _warm_up(False)
        if by_latency(problem):
            _warm_up(True)


@cache
def _warm_up(with_latency: bool) -> None:
    problem = SHARDED if with_latency else SMALL
    first = problem.gpus[0].name
    old = {model.name: [first] * model.parts for model in problem.models if model.parts == 1}
    homes = homes_of(problem, old, {})
    seeker = Seeker(homes, Deadline(), 0)
    start = homes.start.copy()
    if with_latency:
        start[:] = [0, 1, 2, 0, 1]
    else:
        start[0] = -1
        filled = seeker.filled(start, 1.0, True)
        assert filled is not None, "four small models fit on two GPUs"
        start = filled
    seeker.seek(start, OUT_OF_REACH, 1.0, 2, 0.1)
    if with_latency:
        _relieve_whole_models()
    GroupValues(homes.reduction).value(0, frozenset({0}))


def _relieve_whole_models() -> None:
    """Search once by latency without shards, which has a kernel of its own."""
    whole = [model for model in SHARDED.models if model.parts == 1]
    first = SHARDED.gpus[0].name
    homes = homes_of(replace(SHARDED, models=tuple(whole)), {m.name: [first] for m in whole}, {})
    Seeker(homes, Deadline(), 0).seek(homes.start.copy(), OUT_OF_REACH, 1.0, 2, 0.1)
