"""What the exit code says; docs/commands.md lists them all."""

FAULT = 1
USAGE = 2
BAD_INPUT = 3
INFEASIBLE = 4
NOTHING_FOUND = 5
NOT_ALL_CONFIRMED = 6
"""Nothing is wrong, but something rests on two solvers, or was not checked."""
INTERRUPTED = 130
"""As a shell reports a program that Ctrl-C ended."""
READER_GONE = 141
"""As a shell reports a program that writes to a pipe nobody reads any more."""
