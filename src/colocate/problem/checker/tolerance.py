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
STRICTLY_BELOW = 1.0 - 2e-9
"""What is searched to repeat a proof, as a share of its bound: less than this is no lower.

Users: `solver/check.py`."""
SAME_LOSS = 1e-6
"""Part of what is lost that two solvers do not tell apart.

Users: `solver/check.py`."""
SAME_LATENCY = 1e-6
"""The same as `SAME` for a latency: close to saturation, rounding grows a thousandfold.

Users: what a plan file states about latencies."""
