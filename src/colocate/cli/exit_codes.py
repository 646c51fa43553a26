"""The exit codes; docs/commands.md lists them all."""

FAULT = 1
"""Something failed that should not fail."""
USAGE = 2
"""The command line is wrong."""
BAD_INPUT = 3
"""A file or its content is wrong."""
INFEASIBLE = 4
"""There is a proof that no answer exists."""
NOTHING_FOUND = 5
"""The search found no answer in time; there may be one."""
NOT_ALL_CONFIRMED = 6
"""Nothing is wrong, but something rests on two solvers, or was not checked."""
INTERRUPTED = 130
"""As a shell reports a program that Ctrl-C ended."""
READER_GONE = 141
"""As a shell reports a program that writes to a pipe without a reader."""
