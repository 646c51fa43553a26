"""CP-SAT calls feasible programs infeasible when their coefficients are large. OR-Tools alone.

Nine items in two dimensions go into four equal bins. For 200 values of K between 1.411 and 1.6 the
program asks for sum(size + load / K) <= 40 in each bin and dimension, scaled to 2^bits, with items
rounded down and the bins rounded up. One packing, `KNOWN`, satisfies every one of them: the script
checks that in whole numbers before it asks CP-SAT.

    python cpsat_false_infeasible.py                       a table over bits and parameters
    python cpsat_false_infeasible.py 28 50 --values 20     only these bits, 20 values of K

Last comes one of these programs with as little in it as it takes, and the same with all its numbers
divided by ten and rounded down.
"""

import argparse
from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor

import ortools
from ortools.sat.python import cp_model

SIZES = [Fraction(tenths, 10) for tenths in (9, 101, 16, 49, 25, 20, 62, 52, 63)]
LOADS = [(4, 24), (21, 28), (0, 29), (23, 0), (6, 6), (22, 15), (22, 13), (20, 0), (8, 26)]
BIN, BINS = 40, 4
KNOWN = [[1, 4], [3, 8], [2, 5, 7], [0, 6]]
VALUES = [Fraction(1411, 1000) + Fraction(189, 199_000) * n for n in range(200)]
BITS = [20, 28, 30, 32, 34, 36, 38, 40, 44, 50]
SMALL = [
    [300000000, 2600000000, 100000000, 2260000000, 1870000000, 2300000000, 2070000000, 1000000000],
    [1900000000, 3000000000, 2300000000, 500000000, 0, 1649694517, 500000000, 2600000000],
]
"""Eight items in two dimensions; bins of 4300000000 hold them as 1 | 3 7 | 2 4 6 | 0 5."""
SMALL_ROOM, SMALL_KNOWN = 4300000000, [[1], [3, 7], [2, 4, 6], [0, 5]]
VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    "one worker": {"num_workers": 1},
    "symmetry_level=1": {"symmetry_level": 1},
    "symmetry_level=0": {"symmetry_level": 0},
    "keep_symmetry_in_presolve": {"keep_symmetry_in_presolve": True},
    "one presolve iteration": {"max_presolve_iterations": 1},
    "presolve_inclusion_work_limit=0": {"presolve_inclusion_work_limit": 0},
    "no presolve": {"cp_model_presolve": False},
}


def needs(k: Fraction, bits: int) -> list[list[int]]:
    """Return what items take of a bin, in parts of 2^-bits, by dimension."""
    return [
        [
            floor((size + load[t] / k) / BIN * 2**bits)
            for size, load in zip(SIZES, LOADS, strict=True)
        ]
        for t in range(2)
    ]


def room(bits: int) -> int:
    """Return the size of a bin, rounded up."""
    return ceil(2**bits * (1 + Fraction(1, 10**13)))


def program(rows: list[list[int]], most: int) -> cp_model.CpModel:
    """Every item in one bin, no bin too full."""
    model = cp_model.CpModel()
    inside = [[model.new_bool_var(f"x{i}{b}") for b in range(BINS)] for i in range(len(rows[0]))]
    for row in inside:
        model.add_exactly_one(row)
    for b in range(BINS):
        for row in rows:
            model.add(sum(n * x[b] for n, x in zip(row, inside, strict=True)) <= most)
    return model


def denied(
    rows: list[list[int]], most: int, known: list[list[int]], parameters: Mapping[str, object]
) -> bool:
    """Say whether CP-SAT denies a packing that is there."""
    assert all(sum(row[i] for i in items) <= most for row in rows for items in known)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = 20.0
    for name, value in parameters.items():
        setattr(solver.parameters, name, value)
    return bool(solver.solve(program(rows, most)) == cp_model.INFEASIBLE)


def main() -> None:
    """Print how many answers are wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bits", nargs="*", type=int, default=BITS)
    parser.add_argument("--values", type=int, default=len(VALUES))
    chosen = parser.parse_args()
    bits, values = chosen.bits, VALUES[:: len(VALUES) // chosen.values]
    print(f"OR-Tools {ortools.__version__}: false INFEASIBLE, of {len(values)} feasible programs")
    print(f"{'parameters':<34}" + "".join(f"{f'2^{b}':>6}" for b in bits))
    for name, parameters in VARIANTS.items():
        counts = [
            sum(denied(needs(k, b), room(b), KNOWN, parameters) for k in values) for b in bits
        ]
        print(f"{name:<34}" + "".join(f"{count:>6}" for count in counts), flush=True)
    tenth = [[number // 10 for number in row] for row in SMALL]
    print(f"small program denied: {denied(SMALL, SMALL_ROOM, SMALL_KNOWN, {})}")
    print(f"a tenth of it denied: {denied(tenth, SMALL_ROOM // 10, SMALL_KNOWN, {})}")


if __name__ == "__main__":
    main()
