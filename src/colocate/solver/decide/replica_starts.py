"""Places to begin with if one model gets another number of replicas."""

from collections.abc import Mapping

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify

TRIED = 4
"""GPUs that are tried for one replica more."""


def places_nearby(
    fixed: Problem, best: Placement, pressures: Mapping[str, float]
) -> Placement | None:
    """Return a placement that differs from another only in the replicas of one model.

    A replica too many leaves the GPU under the highest pressure; a missing one goes to the GPU
    under the lowest pressure that has room. None if none of the few GPUs tried has.

    Parameters
    ----------
    fixed
        The problem with the numbers of replicas of the placement to return.
    best, pressures
        The other placement, and the pressures of all GPUs in it.
    """
    changed = next(model for model in fixed.models if len(best[model.name]) != model.parts)
    places, shards = best[changed.name], changed.shards
    replicas = [places[first : first + shards] for first in range(0, len(places), shards)]
    if len(places) > changed.parts:
        replicas.remove(max(replicas, key=lambda gpus: max(pressures[gpu] for gpu in gpus)))
        options = [tuple(gpu for gpus in replicas for gpu in gpus)]
    elif shards == 1:
        idlest = sorted(pressures, key=lambda gpu: pressures[gpu])
        options = [(*places, gpu) for gpu in idlest if gpu not in places][:TRIED]
    else:
        options = []
    nearby = (Placement({**best, changed.name: gpus}) for gpus in options)
    return next((places for places in nearby if verify(fixed, places).valid), None)
