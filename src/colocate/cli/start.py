"""The start of the command, before there is anything that could say what an interrupt ended."""

import sys

from colocate.cli.exit_codes import INTERRUPTED


def main() -> None:
    """Run the command line; an interrupt while it is imported ends it without a traceback."""
    try:
        from colocate.cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
