"""Other ways to place the models of a fleet, by name."""

from dataclasses import replace

from colocate.advise.comparison import GREEDY
from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.fault import Fault
from colocate.problem.parts import Places, replicas_in
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.solver.place import place
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve
from colocate.solver.targets import without_targets

SECONDS = 5.0
"""For a search, so that a comparison begins soon."""
ONE_EACH = "one-model-per-gpu"
WAYS = ("greedy", "lowest-pressure", ONE_EACH)


def other_way(name: str, problem: Problem, placement: Places, seed: int = 0) -> Placement:
    """Place the same replicas, with the same models asleep, in another way.

    Parameters
    ----------
    name
        `greedy`: each model in turn on the GPU with the lowest pressure, as others do.
        `lowest-pressure`: the lowest peak pressure. `one-model-per-gpu`: no GPU is shared.
    problem
        The models and GPUs.
    placement
        What the other way is compared with.
    seed
        Decides every random choice.

    Raises
    ------
    InputError
        If there is no such way, or it does not know shards.
    InfeasibleError, NothingFoundError
        If the models cannot be placed so, or no such placement was found.
    """
    if name not in WAYS:
        raise InputError.of(
            "compare", name, f"{', '.join(WAYS)}, or a file with a plan or a placement"
        )
    decided = _as_placed(problem, placement)
    if name == ONE_EACH:
        plan = _one_each(decided, seed)
    elif name == "greedy":
        if any(model.shards > 1 for model in decided.models):
            found = "cannot place a model in shards"
            raise InputError(Fault(f"greedy {found}", advice="leave out --compare greedy"))
        plan = place(decided, GREEDY, seed)
    else:
        plan = solve(decided, time_limit=SECONDS, seed=seed)
    if plan.placement:
        return Placement({**dict.fromkeys(placement, ()), **plan.placement})
    error = InfeasibleError if plan.status is Status.INFEASIBLE else NothingFoundError
    raise error(f"--compare {name}: {plan.reason}")


def _as_placed(problem: Problem, placement: Places) -> Problem:
    """Return the problem with the replicas and sleepers of a placement, and no target to keep."""
    asleep = [model.name for model in problem.models if not placement.get(model.name)]
    awake = problem.awake(asleep)
    if awake is None:
        raise InputError(Fault("places no model", "a placement of at least one"))
    replicas = replicas_in(awake, placement)
    models = tuple(
        model.changed(replicas=replicas[model.name], most_replicas=None) for model in awake.models
    )
    return without_targets(replace(awake, models=models, most_pressure=None))


def _one_each(problem: Problem, seed: int) -> Plan:
    needed = sum(model.parts for model in problem.models)
    if needed > len(problem.gpus):
        raise InfeasibleError(
            f"--compare {ONE_EACH}: needs {needed:,} GPUs, one for each model, replica and shard; "
            f"the fleet has {len(problem.gpus):,}"
        )
    alone = replace(problem, together=(), apart=(), most_models=1)
    return solve(alone, time_limit=SECONDS, seed=seed)
