"""The placement problem given to CP-SAT: a yes-or-no question for every lower target.

All numbers are exact integers where they have room in 64 bits; where not, needs and rooms are
rounded down together, so that no placement is lost and a proof that there is none holds.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf, isfinite

from ortools.sat.python import cp_model
from targets import Answer, Descent, descend, excluded, rearranged, virtual_sizes
from whole_numbers import WholeNumbers, judged, whole_numbers

from colocate import Problem

LARGEST = 2**48
"""Integers up to this leave CP-SAT room to add thousands of them."""
MOST_PAIRS = 600_000
"""With more pairs of model and GPU, the program would take gigabytes; it is not built."""


def minimise(problem: Problem, seconds: float, workers: int = 2) -> tuple[float, float]:
    """Return the lowest peak pressure that CP-SAT finds in time, and its bound.

    The time counts from reading the problem. A problem that is too large has an infinite value.
    """
    if len(problem.models) * len(problem.gpus) > MOST_PAIRS:
        return inf, 0.0
    return descend(problem, partial(_find, workers=workers), seconds)


def prove_from_scratch(problem: Problem, workers: int = 2) -> tuple[float, float]:
    """Return value and bound, which are equal: no start is given, and no limit of time."""
    search = Descent(whole_numbers(problem), partial(_find, workers=workers), None, Fraction(0))
    search.run(inf)
    return judged(problem, search.best), float(search.bound * search.numbers.unit)


def _find(
    numbers: WholeNumbers,
    target: Fraction,
    hint: Sequence[int] | None,
    seconds: float,
    workers: int,
) -> Answer:
    needs, rooms = _fitting_64_bits(*virtual_sizes(numbers, target))
    program, here = _program(needs, rooms, hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    if isfinite(seconds):
        solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    status = solver.solve(program)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer([[solver.boolean_value(x) for x in row].index(True) for row in here])
    return Answer(impossible=status == cp_model.INFEASIBLE)


def _program(
    needs: list[int], rooms: list[int], hint: Sequence[int] | None
) -> tuple[cp_model.CpModel, list[list[cp_model.IntVar]]]:
    program = cp_model.CpModel()
    here = [[program.new_bool_var("") for _ in rooms] for _ in needs]
    for row in here:
        program.add_exactly_one(row)
    for column, room in zip(zip(*here, strict=True), rooms, strict=True):
        program.add(cp_model.LinearExpr.weighted_sum(column, needs) <= room - 1)
    for model, gpu in excluded(needs, rooms):
        program.add(here[model][gpu] == 0)
    for row, place in zip(here, rearranged(hint, needs, rooms) if hint else [], strict=False):
        for gpu, x in enumerate(row):
            program.add_hint(x, gpu == place)
    return program, here


def _fitting_64_bits(needs: list[int], rooms: list[int]) -> tuple[list[int], list[int]]:
    top = max(rooms)
    if top <= LARGEST:
        return [min(need, top + 1) for need in needs], rooms
    rounded_rooms = [room * LARGEST // top + 1 for room in rooms]
    return [min(need * LARGEST // top, LARGEST + 1) for need in needs], rounded_rooms
