"""The placement problem as a MIP for HiGHS, in a process that answers what it reads.

highspy and OR-Tools both bring a library of the same name, in versions that do not fit each
other: never import this where OR-Tools is imported. `highs_peer` talks to it.
"""

import os
import pickle
import sys
from collections.abc import Sequence
from fractions import Fraction

import highspy
import numpy as np
from targets import Answer, descend, excluded, rearranged, virtual_sizes
from whole_numbers import WholeNumbers

from colocate import Problem

STEP = Fraction(1, 10**7)
"""HiGHS adds floats: what is better by less than this is lost in its tolerance."""
TOLERANCE = 1e-9
THREADS = 2


def main() -> None:
    """Answer pickled pairs of problem and seconds with pickled pairs of value and bound."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing HiGHS prints gets between the answers
    while True:
        try:
            problem, seconds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(minimise(problem, seconds), answers)
        answers.flush()


def minimise(problem: Problem, seconds: float) -> tuple[float, float]:
    """Return the lowest peak pressure that HiGHS finds in time, and its bound."""
    return descend(problem, _find, seconds, STEP)


def _find(
    numbers: WholeNumbers, target: Fraction, hint: Sequence[int] | None, seconds: float
) -> Answer:
    needs, rooms = virtual_sizes(numbers, target)
    highs = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "threads": THREADS,
        "time_limit": max(seconds, 0.01),
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
    }.items():
        highs.setOptionValue(option, value)
    highs.passModel(_program(needs, rooms))
    if hint:
        highs.setSolution(_solution(rearranged(hint, needs, rooms), len(rooms)))
    highs.run()
    if highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        chosen = np.reshape(highs.getSolution().col_value, (len(needs), len(rooms)))
        return Answer([int(gpu) for gpu in chosen.argmax(axis=1)])
    return Answer(impossible=highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible)


def _program(needs: list[int], rooms: list[int]) -> highspy.HighsLp:
    """One row for every model, that it is once, and one for every GPU, that all fit."""
    models, gpus = len(needs), len(rooms)
    pairs = np.arange(models * gpus).reshape(models, gpus)
    shares = np.array([float(Fraction(need, max(rooms))) for need in needs])
    capacities = np.array([float(Fraction(room, max(rooms))) for room in rooms])
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = models * gpus, models + gpus
    program.col_cost_ = np.zeros(models * gpus)
    program.col_lower_ = np.zeros(models * gpus)
    program.col_upper_ = _upper(needs, rooms)
    program.integrality_ = [highspy.HighsVarType.kInteger] * (models * gpus)
    program.row_lower_ = np.append(np.ones(models), np.full(gpus, -highspy.kHighsInf))
    program.row_upper_ = np.append(np.ones(models), capacities)
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    lengths = np.append(np.full(models, gpus), np.full(gpus, models))
    matrix.start_ = np.append(0, np.cumsum(lengths))
    matrix.index_ = np.append(pairs.ravel(), pairs.T.ravel())
    matrix.value_ = np.append(np.ones(models * gpus), np.tile(shares, gpus))
    return program


def _upper(needs: list[int], rooms: list[int]) -> np.ndarray:
    upper = np.ones((len(needs), len(rooms)))
    for model, gpu in excluded(needs, rooms):
        upper[model, gpu] = 0.0
    return upper.ravel()


def _solution(gpu_of: Sequence[int], gpus: int) -> highspy.HighsSolution:
    chosen = np.zeros((len(gpu_of), gpus))
    chosen[np.arange(len(gpu_of)), gpu_of] = 1.0
    solution = highspy.HighsSolution()
    solution.col_value = chosen.ravel().tolist()
    return solution


if __name__ == "__main__":
    main()
