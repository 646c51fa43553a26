"""Every tolerance for comparing numbers: its value, the reason for it, and its users.

Shares are relative to the numbers compared. The independent checker has its own constants, in
`problem/checker/tolerance.py`; a test keeps the two in step. A strategy's block that requires a
move to improve by some amount takes that amount as a parameter; it is not a tolerance.
"""

from fractions import Fraction

FIT = 1e-11
"""Share of a GPU's memory, under a byte of 80 GB, below which an overfill counts as rounding. A GPU
under load also needs this share free for a finite pressure. The checker allows the same share.

Users: `problem`, the exact search, bounds by sums and by multipliers, explanations."""
EXACT_FIT = Fraction(1, 10**11)
"""`FIT` where sums are rational numbers.

Users: the requirements of a fleet."""
GENEROUS = 1.0 + 2.0 * FIT
"""Searches allow a little more than fits, so that rounding loses no placement.

Users: the exact search, obstacles, `problem/reduction.py`."""
FULL_UNDER_LOAD = 1.0 + 1e-13
"""Share of a GPU that items may take at a finite target. `GENEROUS` would hide that some memory
must stay free, however little. The excess over 1 is the rounding of a sum of a few hundred sizes.

Users: the exact search."""
FULL_BUT_FINITE = 1.0 - FIT + 1e-13
"""Share of a GPU that items may take under load for a finite pressure, with the same rounding.

Users: the exact search."""
FREE_WHILE_WAKING = 1e-6
"""Share of a GPU that stays free while models are woken. Every pressure is then finite, and
rounding cannot decide it.

Users: `decide/waking.py`."""
ROOM_AT_LIMIT = 1.0 - 1e-10
"""Share of a GPU that sizes and loads together may take at the highest pressure allowed: ten times
`FIT` below 1, so that woken models stay within the limit.

Users: `decide/waking.py`."""

ARRIVED = 1e-11
"""Share of a latency that the search may leave out of the law's iteration: a hundredth of `TIE`,
since it counts several times close to saturation.

Users: `solver/latency`."""
SETTLED = 1e-13
"""The same for what a placement is said to bring: close to saturation, it counts many times.

Users: `latency/placed.py`."""
ONE_TOKEN = 1e-6
"""Up to so little more than one token a request counts as having one: the mean of one over their
number is a quotient of rounding errors there.

Users: `latency`."""
TIE = 1e-9
"""Share by which pressures may differ through rounding alone. Dividing a sum of a thousand loads by
a difference of memory loses up to three of sixteen digits, and three more where memory is scarce.

Users: every comparison of pressures, in the solver, the explanations, the arena and the outputs."""
JUST_BELOW = 1.0 - TIE
"""A value counts as the lowest once this share of it is proven out of reach.

Users: searches below the best value, bound search."""
JUST_ABOVE = 1.0 + TIE
"""A target counts as out of reach once this multiple of it is out of reach.

Users: searches at a target, `portfolio/tightening.py`, `advise/explain/bound.py`, budgets and
targets of `replan`."""
PROVEN = 2.0 * TIE
"""A gap up to this counts as closed: it allows for rounding in the value and in the bound.

Users: the stop rule, the status of plans, the words for them."""
CEILING = 1.0 + TIE / 2.0
"""What lower levels allow at a settled one, as a multiple of its pressure: enough for rounding, and
so little that a level which is proven stays proven.

Users: `decide/levels.py`."""
RECORDED_AS_PROVEN = 1e-8
"""The same for bounds recorded as decimals, which are rounded down a little.

Users: best known values of the arena, sentences on the bound of a plan."""
OVER_LIMIT = 1e-9
"""Share by which a pressure may exceed the highest one allowed, as in the checker.

Users: capacity trials, `advise/remedies/any_placement.py`."""
LEAST_SHOWN = 1e-6
"""Gaps and margins below this need no figure: readers take in four digits after the point at most.

Users: the words for plans and observations."""
SMALLEST_GAP = 1e-6
"""A smaller gap is not worth a target: exact searches and proofs by multipliers close it sooner.

Users: bound search, `portfolio/tightening.py`."""

ROUNDING = 1e-12
"""Share by which a few floating-point operations may be off: some thousand times the last bit.

Users: packings, bisection, moves that relieve the peak, knapsacks, dual functions, columns, best
known values, excesses in `replan`."""
SAFE = 1.0 - ROUNDING
"""The share of a bound that is claimed after a few such operations computed it.

Users: bounds by sums, for fixed and for open numbers of replicas."""
EXACTLY_SAFE = 1 - Fraction(1, 10**12)
"""`SAFE` where sums are rational numbers of parts that were divided in floating point.

Users: the requirements of a fleet."""
LAST_BITS = 1e-14
"""Share by which one sum of floats may be off.

Users: bounds by sums."""
BELOW_LAST_BITS = 1.0 - 4e-15
"""The true product of a few floats is at least this share of the computed one.

Users: the program for CP-SAT, whose needs are rounded down."""
LONG_SUM = 1e-9
"""Margin for sums over a whole fleet that only guide or filter: safe without counting the terms.

Users: first fit and packings, numbers of replicas, what sleepers lose, mixes of GPUs, shares of
memory for engines, figures in reviews."""
LP_TOLERANCE = 1e-9
"""By how much a linear program may violate a row that is scaled to 1; solvers allow no less.

Users: SCIP, column generation."""

LEFT_TO_ROUND = 1e-6
"""What a proof over groups must have left, as a share, to be rounded to whole multipliers.

Users: `prove/latency/columns.py`."""

COST_ROUNDING = 1e-6
"""Share of the cost of sleeping below which costs count as equal: solvers round them to whole parts
of the largest.

Users: plans with sleepers."""
SAME_COST = 2e-7
"""Share of all costs by which CP-SAT and SCIP may differ and still agree.

Users: `prove/solvers/two_solvers.py`."""
COST_MARGIN = 2e-8
"""Share of all costs that exceeds any error that SCIP's rounding causes in a bound.

Users: the program for SCIP."""

NEAREST_FLOAT = Fraction(1, 10**15)
"""The nearest float of a number differs from it by less than this share.

Users: `prove/solvers/same_target.py`."""
UNIT_MARGIN = Fraction(2, 10**10)
"""More than `NEAREST_FLOAT` can change a pressure: twice that for every unit in a GPU.

Users: `prove/solvers/same_target.py`."""

TINY = 1e-300
"""Stands for 0 in divisors.

Users: what sleepers are worth for their memory, whole multipliers, `replan`, `observe`."""
OUT_OF_REACH = 1e-9
"""A target that nothing under load reaches: a search for it spreads the load, or runs in full.

Users: `replan/search`."""
LEAST_NEED = 1e-12
"""The same for shares of a GPU: a smaller need counts as none.

Users: `decide/waking.py`."""
SAME_FITNESS = 1e-6
"""Differences in fitness up to this count as none: fitness is a mean over rounded cases.

Users: the reviews of the lab."""
