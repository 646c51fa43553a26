"""What happens before the command line is there."""

import subprocess
import sys

INTERRUPTED_IMPORT = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "colocate.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from colocate.cli.start import main
main()
"""


def test_an_interrupt_while_commands_are_imported_ends_without_a_traceback():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
