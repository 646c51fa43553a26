"""What the exit code says."""

FAULT = 1
USAGE = 2
BAD_INPUT = 3
INFEASIBLE = 4
NOTHING_FOUND = 5
