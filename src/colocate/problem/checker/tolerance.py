"""What the independent checker lets pass as rounding. It shares no constant with the solver."""

from fractions import Fraction

ROUNDING = Fraction(1, 10**11)
"""Share of a limit below which an excess counts as rounding of the inputs.

Users: `problem/verify.py`, sums, items and losses of the checker."""
SLACK = 1e-9
"""The same for a limit on the pressure.

Users: `problem/verify.py`, what is lost at least."""
CLEARLY = 1.0 - 1e-9
"""A sum that one rounding leaves below this share of a limit is within it.

Users: `problem/verify.py`."""
SAME = 1e-9
"""A stated number that differs by a smaller share from what was found is the same.

Users: `solver/check.py`."""
SAME_RATIO = 1e-6
"""The same for ratios: close to saturation, the last digits of an iteration count many times.

Users: `solver/check.py`."""
STRICTLY_BELOW = 1.0 - 2e-9
"""What is searched to repeat a proof, as a share of its bound: less than this is no lower.

Users: `solver/check.py`."""
SAME_LOSS = 1e-6
"""Part of what is lost that two solvers do not tell apart.

Users: `solver/check.py`."""
BELOW = 1.0 - 1e-12
"""What the law's results are multiplied by for lower limits: rounding changes them by far less.

Users: groups and placements of the checker."""
ABOVE = 1.0 + 1e-12
"""The same for upper limits.

Users: placements of the checker."""
SETTLED = 1e-13
"""Relative change of a delay below which the law's iteration has arrived.

Users: placements of the checker."""
NARROWEST = 1e-11
"""How far above the iteration, as a share of a delay, a point is tried that nothing moves upwards.

Users: placements of the checker."""
WIDEST = 2e-10
"""The same where engines are close to saturation; no point further up is tried.

Users: placements of the checker."""
LAST_BIT = 2.0**-53
"""The last bit of numbers just below 1, which stands for 0 in divisors.

Users: the law of the checker."""
SINGLE_TOKEN = 1.0 + 1e-6
"""Up to so many tokens a request counts as having one, as in the law.

Users: the law of the checker."""
FITS = 1.0 + 2e-11
"""Share of a limit that sums of floats may take and be called possible: twice `ROUNDING`.

Users: groups of the checker."""
SAME_LATENCY = 1e-6
"""The same as `SAME` for a latency: close to saturation, rounding grows a thousandfold.

Users: what a plan file states about latencies."""
