"""Every tolerance with which numbers are compared: its value, the reason for it, and its users.

Shares are relative to what is compared. The independent checker has its own constants, in
`problem/checker/tolerance.py`; a test keeps the two in step. How much better a block of a strategy
wants a move to be is a parameter of that block, not a tolerance.
"""

from fractions import Fraction

FIT = 1e-11
"""Share of a GPU's memory, under a byte of 80 GB, below which an overfill is rounding; also the
share that must be free under load for the pressure to be finite. The checker allows as much.

Users: `problem`, the exact search, bounds by sums and by multipliers, explanations."""
EXACT_FIT = Fraction(1, 10**11)
"""`FIT` where sums are rational numbers.

Users: the requirements of a fleet."""
GENEROUS = 1.0 + 2.0 * FIT
"""What is searched is a little more than what fits, so that rounding loses no placement.

Users: the exact search, obstacles, `problem/reduction.py`."""
FULL_UNDER_LOAD = 1.0 + 1e-13
"""Share of a GPU that may be taken at a finite target: `GENEROUS` would hide that free memory must
be left, however little; the rest is the rounding of a sum of some hundred sizes.

Users: the exact search."""
FULL_BUT_FINITE = 1.0 - FIT + 1e-13
"""Share of a GPU that may be taken under load for its pressure to be finite, with that rounding.

Users: the exact search."""
FREE_WHILE_WAKING = 1e-6
"""Share of a GPU that is left free while models are woken: any pressure is then finite, and far
from the edge of rounding.

Users: `decide/waking.py`."""
ROOM_AT_LIMIT = 1.0 - 1e-10
"""Share of a GPU that sizes and loads together may take at the highest pressure allowed: ten times
`FIT` below it, so that what is woken stays within the limit.

Users: `decide/waking.py`."""

TIE = 1e-9
"""Share by which pressures may differ through rounding alone: a sum of a thousand loads over a
difference of memory loses up to three of sixteen digits, and three more where memory is scarce.

Users: every comparison of pressures, in the solver, the explanations, the arena and the outputs."""
JUST_BELOW = 1.0 - TIE
"""What is proven out of reach, as a share of a value, for it to count as the lowest.

Users: searches below the best value, bound search."""
JUST_ABOVE = 1.0 + TIE
"""What must be out of reach, as a multiple of a target, for the target to be.

Users: searches at a target, `portfolio/tightening.py`, `advise/explain/bound.py`."""
PROVEN = 2.0 * TIE
"""A gap of at most this is none: twice what rounding may do, once in the value and once in the
bound.

Users: the stop rule, the status of plans, the words for them."""
RECORDED_AS_PROVEN = 1e-8
"""The same for bounds that were written down in decimals, a little lower than they are.

Users: best known values of the arena, sentences on the bound of a plan."""
OVER_LIMIT = 1e-9
"""Share by which a pressure may be above the highest that is stated, as the checker has it.

Users: capacity trials, `advise/remedies/any_placement.py`."""
SMALLEST_GAP = 1e-6
"""A smaller gap is not worth an aim: exact searches and proofs by multipliers close it sooner.

Users: bound search, `portfolio/tightening.py`."""

ROUNDING = 1e-12
"""Share by which a few operations in floating point may be off: some thousand times the last bit.

Users: packings, bisection, moves that relieve the peak, knapsacks, dual functions, columns, best
known values."""
SAFE = 1.0 - ROUNDING
"""What is claimed of a bound that was worked out with a few such operations.

Users: bounds by sums, for fixed and for open numbers of replicas."""
EXACTLY_SAFE = 1 - Fraction(1, 10**12)
"""`SAFE` where sums are rational numbers, of parts that were divided in floating point.

Users: the requirements of a fleet."""
LAST_BITS = 1e-14
"""Share by which one sum of floats may be off.

Users: bounds by sums."""
BELOW_LAST_BITS = 1.0 - 4e-15
"""What a product of a few floats is at least, as a share of what it came out as.

Users: the program for CP-SAT, whose needs are rounded down."""
LONG_SUM = 1e-9
"""Share by which sums over a whole fleet are rounded where they only guide or filter, to be safe
without counting their terms.

Users: first fit and packings, numbers of replicas, what sleepers lose, mixes of GPUs, shares of
memory for engines, figures in reviews."""
LP_TOLERANCE = 1e-9
"""By how much a linear program may violate a row that is scaled to 1; solvers allow no less.

Users: SCIP, column generation."""

COST_ROUNDING = 1e-6
"""Part of the cost of sleeping below which costs are not told apart: solvers count them in whole
parts of the largest.

Users: plans with sleepers."""
SAME_COST = 2e-7
"""Part of all costs by which CP-SAT and SCIP may differ and still agree.

Users: `prove/two_solvers.py`."""
COST_MARGIN = 2e-8
"""Part of all costs that is more than what the rounding of SCIP makes of a bound.

Users: the program for SCIP."""

NEAREST_FLOAT = Fraction(1, 10**15)
"""A float is nearer than this, as a share, to any number that it is the nearest float of.

Users: `prove/same_target.py`."""
UNIT_MARGIN = Fraction(2, 10**10)
"""More than what `NEAREST_FLOAT` can change of a pressure: twice that for every unit in a GPU.

Users: `prove/same_target.py`."""

TINY = 1e-300
"""Instead of 0 where a number is divided by.

Users: what sleepers are worth for their memory, whole multipliers."""
LEAST_NEED = 1e-12
"""The same for shares of a GPU: what needs less than this needs nothing.

Users: `decide/waking.py`."""
SAME_FITNESS = 1e-6
"""Differences of fitness up to this are nothing: it is a mean over cases that are rounded.

Users: the reviews of the lab."""
