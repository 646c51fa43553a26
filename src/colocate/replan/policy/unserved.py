"""Why models that must be awake go without an engine."""

from collections.abc import Mapping

from colocate.problem.gpu import Gpu
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.policy.decision import EngineObstacle, UnservedModels
from colocate.replan.policy.fitting import Fitting, Held, held_gb
from colocate.replan.policy.restoring import missing_units
from colocate.replan.policy.units import Unit

OBSTACLES = {
    "memory": EngineObstacle.MEMORY,
    "apart": EngineObstacle.APART,
    "most_models": EngineObstacle.MOST_MODELS,
}
"""By the name of the rule that is broken; other rules are resources."""


def unserved_in(problem: Problem, places: Places) -> tuple[UnservedModels, ...]:
    """Return the models that have no engine in a placement, with the reason of each.

    The reason is what is in the way on all GPUs that they may be on, as these are now.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    """
    fitting = Fitting(problem)
    return tuple(_unserved(fitting, places, unit) for unit in missing_units(problem, places))


def _unserved(fitting: Fitting, places: Places, unit: Unit) -> UnservedModels:
    held = fitting.held_by_gpu({**places, **dict.fromkeys(unit.names, ())})
    mine: list[Held] = [(name, 1) for name in unit.names]
    needed = sum(held_gb(fitting.part(each)) for each in mine)
    gpus = {gpu.name: gpu for gpu in fitting.problem.gpus}
    seats = [[gpus[name] for name in s] for s in unit.free_seats(fitting.problem, places)]
    free = max((min(_free_gb(fitting, gpu, held) for gpu in s) for s in seats), default=0.0)

    def found(obstacle: EngineObstacle, resource: str = "") -> UnservedModels:
        return UnservedModels(unit.names, obstacle, needed, free, resource, unit.shards)

    if not seats:
        return found(EngineObstacle.PINS)
    if unit.seats_with_room(fitting, places, more=True):
        return found(EngineObstacle.NO_STEPS)
    broken = [
        [rule for gpu in s for rule in fitting.broken_rules(gpu, [*held[gpu.name], *mine])]
        for s in seats
    ]
    left = [rules for rules in broken if "memory" not in rules]
    if not left:
        return found(EngineObstacle.MEMORY)
    everywhere = [rule for rule in left[0] if all(rule in rules for rules in left)]
    if not everywhere:
        return found(EngineObstacle.SEVERAL)
    obstacle = OBSTACLES.get(everywhere[0], EngineObstacle.RESOURCE)
    return found(obstacle, everywhere[0] if obstacle is EngineObstacle.RESOURCE else "")


def _free_gb(fitting: Fitting, gpu: Gpu, held: Mapping[str, list[Held]]) -> float:
    """Return the memory of a GPU that its models need not have."""
    used = sum(held_gb(fitting.part(each)) for each in held[gpu.name])
    return max(gpu.memory_gb - used, 0.0)
