"""Verdicts that call a program by the name of its file.

Behind the walls all programs have one name: what a program is called decides nothing.
"""

import re
from dataclasses import replace

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.inside.flat_text import PROGRAM_FILE
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line

FILE = re.escape(PROGRAM_FILE)
PLACE = re.compile(rf'(?<=File "){FILE}(?=", line \d)|(?<=\(){FILE}(?=, line \d)')
"""Where Python names the file: in a frame of a traceback, and in the sentence of a SyntaxError."""


def under_own_name(verdict: Verdict, file: str) -> Verdict:
    """Return a verdict whose reasons and tracebacks name the file that the program is in."""
    name = one_line(file, LONGEST_NAME)
    public, hidden = _renamed(verdict.public, name), _renamed(verdict.hidden, name)
    return replace(verdict, public=public, hidden=hidden)


def _renamed(tally: Tally, name: str) -> Tally:
    return replace(tally, results=tuple(_told(result, name) for result in tally.results))


def _told(result: CaseVerdict, name: str) -> CaseVerdict:
    reason, traceback = (
        PLACE.sub(lambda _: name, text) for text in (result.reason, result.traceback)
    )
    return replace(result, reason=reason, traceback=traceback)
