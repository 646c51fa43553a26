"""Proofs by CP-SAT: a second exhaustive search that shares nothing with the first.

It repeats what a proof by search claims, and takes part where loads have several windows or
further resources are limited, which the bounds by weights do not see.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.task import GENEROUS, STRICT
from colocate.solver.prove.constraint_solver import never, solve_program

FINENESS = 2.0**50
"""Virtual sizes are rounded down to so many parts of a GPU, so that no packing is lost."""
ROUNDING = 4e-15


def search_by_constraints(
    instance: Instance,
    target: float,
    seconds: float,
    workers: int,
    squads: Sequence[Sequence[int]] = (),
    node_of: Sequence[int] = (),
    stopped: Callable[[], bool] = never,
) -> tuple[Outcome, Ints]:
    """Search for a placement with no pressure above the target, as a constraint program.

    That there is none is proven; what is found fits up to the rounding. Models of a squad go to
    one node; `node_of[g]` is the node of a GPU.
    """
    cp_model = import_module("ortools.sat.python.cp_model")  # slow, and not always needed
    program = cp_model.CpModel()
    models, gpus = range(len(instance.size)), range(len(instance.capacity))
    here = [[program.new_bool_var("") for _ in gpus] for _ in models]
    for row in here:
        program.add_exactly_one(row)
    loaded = np.flatnonzero(instance.load.max(axis=1) > 0.0).tolist()
    for gpu in gpus:
        idle = program.new_bool_var("")
        for model in loaded:
            program.add_implication(here[model][gpu], idle.negated())
        for need in _needs(instance, target, gpu):
            room = int(FINENESS * STRICT) + int(FINENESS * (GENEROUS - STRICT)) * idle
            using = np.flatnonzero(need).tolist()
            if need.sum() > FINENESS * STRICT:
                program.add(sum(int(need[m]) * here[m][gpu] for m in using) <= room)
    for squad in squads:
        home = {node: program.new_bool_var("") for node in dict.fromkeys(node_of)}
        program.add_exactly_one(home.values())
        for model, gpu in product(squad, gpus):
            program.add_implication(here[model][gpu], home[node_of[gpu]])
    solver, status = solve_program(program, seconds, workers, stopped)
    if status == cp_model.INFEASIBLE:
        return Outcome.NONE, np.empty(0, np.int64)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome.UNDECIDED, np.empty(0, np.int64)
    found = [[solver.boolean_value(place) for place in row].index(True) for row in here]
    return Outcome.FOUND, np.array(found, np.int64)


def _needs(instance: Instance, target: float, gpu: int) -> list[Floats]:
    """Return what models need of a GPU, in parts of it, for every window and resource."""
    memory = instance.capacity[gpu]
    rows = []
    for window in range(instance.load.shape[1]):
        need = instance.load[:, window] / (target * memory) + instance.size / memory
        rows.append(_rounded_down(need))
    for resource in range(instance.limit.shape[1]):
        limit = instance.limit[gpu, resource]
        use = instance.use[instance.kind[gpu], :, resource]
        if np.isfinite(limit):
            share = np.where(use > 0.0, use / max(limit, 1e-300), 0.0)
            rows.append(_rounded_down(share))
    return rows


def _rounded_down(shares: Floats) -> Floats:
    return np.floor(np.minimum(shares, 2.0) * (1.0 - ROUNDING) * FINENESS)
