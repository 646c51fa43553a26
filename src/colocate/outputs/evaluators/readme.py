"""The page beside an evaluator: how to run it, and what its figures mean."""

from colocate.outputs.evaluators.filling import filled
from colocate.outputs.evaluators.settings import EvaluatorSettings

PAGE = """\
# The task @TITLE@ for @FRAMEWORK@

Programs define `@ENTRY_POINT@` and aim at @GOAL@. The referee of colocate judges them: it runs
every program behind walls, checks each answer by itself, and compares with the @TARGET@.
A program that leaves something out, breaks a limit, crashes, takes too long or looks around gets
what it deserves.

## Run it

@USE@
## What comes back

@NOTES@@AFTERWARDS@
- Time: judging one program may take up to @SECONDS@ s, most take a few. The referee stops programs
  itself; the framework's own limits are only there in case it hangs.

Written by `colocate evaluator` @VERSION@ for `--task @TASK_NAME@`.
"""


def readme(framework: str, use: str, notes: str, settings: EvaluatorSettings) -> str:
    """Return the page.

    Parameters
    ----------
    framework
        Its name.
    use
        How to run it: blocks of commands.
    notes
        Lines about the figures, and about faults.
    settings
        What it is for.
    """
    return filled(
        PAGE,
        settings,
        framework=framework,
        use=filled(use, settings),
        notes=filled(notes, settings),
    )
