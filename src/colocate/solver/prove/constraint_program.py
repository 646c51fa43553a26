"""Proofs by CP-SAT: a second exhaustive search that shares nothing with the first.

It repeats what a proof by search claims, and takes part where loads have several windows or
further resources are limited, which the bounds by weights do not see.
"""

from importlib import import_module
from typing import Any

import numpy as np

from colocate.problem.instance import FIT, Floats, Instance
from colocate.solver.construct.completion import Outcome

FINENESS = 2.0**40
"""Virtual sizes are rounded down to so many parts of a GPU, so that no packing is lost."""
ROUNDING = 1e-12


def search_by_constraints(
    instance: Instance, target: float, seconds: float, workers: int
) -> Outcome:
    """Search for a placement with no pressure above the target, as a constraint program.

    That there is none is proven; what is found fits up to the rounding.
    """
    cp_model = import_module("ortools.sat.python.cp_model")  # slow, and not always needed
    program = cp_model.CpModel()
    models, gpus = range(len(instance.size)), range(len(instance.capacity))
    here = [[program.new_bool_var("") for _ in gpus] for _ in models]
    for row in here:
        program.add_exactly_one(row)
    for gpu in gpus:
        for need, room in _constraints(instance, target, gpu):
            program.add(sum(int(n) * here[m][gpu] for m, n in enumerate(need)) <= room)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.num_workers = workers
    solver.parameters.catch_sigint_signal = False
    status: Any = solver.solve(program)
    if status == cp_model.INFEASIBLE:
        return Outcome.NONE
    return Outcome.FOUND if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else Outcome.UNDECIDED


def _constraints(instance: Instance, target: float, gpu: int) -> list[tuple[Floats, int]]:
    """Return what models need and a GPU has, in whole numbers, for windows and resources."""
    memory = instance.capacity[gpu]
    room = int(np.floor(FINENESS * (1.0 + 2.0 * FIT)))
    rows = []
    for window in range(instance.load.shape[1]):
        need = instance.load[:, window] / (target * memory) + instance.size / memory
        rows.append((_rounded_down(need), room))
    for resource in range(instance.limit.shape[1]):
        limit = instance.limit[gpu, resource]
        use = instance.use[instance.kind[gpu], :, resource]
        if np.isfinite(limit):
            share = np.where(use > 0.0, use / max(limit, 1e-300), 0.0)
            rows.append((_rounded_down(share), room))
    return rows


def _rounded_down(shares: Floats) -> Floats:
    return np.floor(np.minimum(shares, 2.0) * (1.0 - ROUNDING) * FINENESS)
