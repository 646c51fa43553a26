"""The prompt for a chat model: the task, the parent and its verdict, and how to answer."""

import re
from collections.abc import Iterator, Sequence

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.luck import luck_sentence
from colocate.arena.tasks.task import Task
from colocate.arena.verdict import Verdict
from colocate.errors import InputError
from colocate.lab.messages import Kind, Request
from colocate.lab.patches.evolve_block import END, START, is_marker
from colocate.lab.program import Program
from colocate.outputs.text.sanitise import one_line

Message = dict[str, str]
"""A message of a chat: its `role` and its `content`."""

MOST_CASES = 5
MOST_INSPIRATIONS = 3
MOST_RECOMMENDATIONS = 10
"""Limits on what a prompt shows, so that it does not grow with the run."""
LONGEST_SENTENCE = 500
LONGEST_TRACEBACK = 1_500
LONGEST_INSPIRATION = 6_000
"""Characters: without the parents, a prompt stays below 30,000."""

RULES = """\
What always holds:
- An independent checker looks at each case. A case that fails counts as infinitely bad, so first \
be correct, then be good.
- Only the standard library and numpy may be imported; no files, network or other processes.
- Each case has a time limit. Bound every loop.
- A program that draws at random is judged under several seeds, and the worst counts. A seed that \
it sets itself is replaced, so another seed is no improvement: make the search find the same each \
time.
"""
"""The rules of every task."""
UNSEEN = """\
- The program is also judged on cases that nobody has seen. Nothing learned by heart helps there.
"""

HEAD = """\
<NAME>
a_short_name_in_snake_case
</NAME>

<DESCRIPTION>
In a few sentences: what changes, and why the program should get better.
</DESCRIPTION>
"""

BLOCKS = """\
<DIFF>
<<<<<<< SEARCH
lines of the parent, copied letter for letter with their indentation
=======
the lines that take their place
>>>>>>> REPLACE
</DIFF>
"""

CODE = """\
<CODE>
```python
the whole program
```
</CODE>
"""

FORMS = {
    Kind.DIFF: (
        "Change the parent in a few places. Answer in this form:",
        BLOCKS,
        "Use as many SEARCH/REPLACE blocks as you need, one after the other in the one DIFF. Quote "
        "so many lines in each SEARCH that it is found exactly once. Leave no block unfinished: an "
        "answer that does not fit as a whole is refused as a whole.",
    ),
    Kind.REWRITE: (
        "Write the program anew, with another idea where you have one. Answer in this form:",
        CODE,
        "Give the program whole, without leaving anything out: what is not there is gone.",
    ),
    Kind.CROSSING: (
        "Make one program of two: take what is best in the parent and in the other parent below "
        "it, so that they work together. Answer in this form:",
        CODE,
        "Give the program whole, without leaving anything out: what is not there is gone.",
    ),
}


def messages(request: Request) -> list[Message]:
    """Return the conversation that asks a chat model for a change.

    The prompt always shows the whole parent, and the whole other parent of a crossing. Everything
    else is cut to a length that does not grow with the run.

    Parameters
    ----------
    request
        The request to send.

    Raises
    ------
    InputError
        If a crossing has no inspiration to cross the parent with.
    """
    if request.kind is Kind.CROSSING and not request.inspirations:
        raise InputError("a crossing has no inspirations, must have one to cross the parent with")
    unseen = UNSEEN if request.parent.verdict.hidden.cases else ""
    return [
        {"role": "system", "content": f"{request.task.facts.strip()}\n\n{RULES}{unseen}"},
        {"role": "user", "content": "\n".join(_sections(request))},
    ]


def answer_form(kind: Kind) -> str:
    """Return the form that an answer must have."""
    _, change, _ = FORMS[kind]
    return f"{HEAD}\n{change}"


def _sections(request: Request) -> Iterator[str]:
    yield from _parent(request.parent, request.task)
    yield from _inspirations(request)
    if request.recommendations:
        yield "## What a review of all programs so far recommends\n"
        for number, advice in enumerate(request.recommendations[:MOST_RECOMMENDATIONS], 1):
            yield f"{number}. {one_line(advice, LONGEST_SENTENCE)}"
        yield ""
    yield from _how_to_answer(request)
    if request.refusal:
        yield "## Your last answer was refused\n"
        reason = one_line(str(request.refusal), LONGEST_SENTENCE)
        yield f"{reason}\n\nAnswer once more, and mend this.\n"


def _how_to_answer(request: Request) -> Iterator[str]:
    asked, _, rules = FORMS[request.kind]
    yield f"## How to answer\n\n{asked}\n\n{answer_form(request.kind)}\n{rules}"
    if any(is_marker(line) for line in request.parent.source.splitlines()):
        yield f"Only what is between `{START}` and `{END}` of the parent may change."
    yield ""


def _parent(parent: Program, task: Task) -> Iterator[str]:
    yield f"## The parent: {parent.name}\n"
    yield f"{_fenced(parent.source)}\n"
    yield "## What the referee says about the parent\n"
    yield f"{_figures(parent.verdict)}\n"
    yield from _worst_cases(parent.verdict, task)
    yield from _failures(parent.verdict.public.failures)


def _figures(verdict: Verdict) -> str:
    public = verdict.public
    unseen = f" and {verdict.hidden.ratio:.4f} on unseen cases" if verdict.hidden.cases else ""
    goal = public.goal
    beatable = any(result.bound is None for result in public.results)
    other = "more than 1 beats it" if beatable else "1 reaches it"
    reached = "1 is optimal" if goal == "optimum" else other
    ratio = f"mean ratio to the {goal} {verdict.ratio:.4f} ({reached})"
    figures = (
        f"Score {verdict.score:.4f}; {ratio}"
        f"{unseen}; "
        f"{public.valid_cases} of {public.cases} cases valid; {verdict.seconds:.3g} s in all."
    )
    told = luck_sentence(verdict.public_only.luck)
    return f"{figures} {told[0].upper()}{told[1:]}." if told else figures


def _worst_cases(verdict: Verdict, task: Task) -> Iterator[str]:
    short = [result for result in verdict.public.results if result.valid and result.ratio < 1]
    if not short:
        return
    goal = verdict.public.goal
    yield f"The valid cases that are furthest from their {goal}:"
    for result in sorted(short, key=lambda result: result.ratio)[:MOST_CASES]:
        yield (
            f"- {result.case}: ratio {result.ratio:.4f} "
            f"({task.value} {result.value:.6g}, {goal} {result.optimum:.6g})"
        )
    yield ""


def _failures(failures: Sequence[CaseVerdict]) -> Iterator[str]:
    if not failures:
        return
    yield f"Failed cases, {min(MOST_CASES, len(failures))} of {len(failures)}:"
    for result in failures[:MOST_CASES]:
        yield f"- {result.case}: {result.failure}. {one_line(result.reason, LONGEST_SENTENCE)}"
    traceback = next((result.traceback for result in failures if result.traceback), "")
    if traceback:
        yield f"\nThe end of the first traceback:\n\n{_fenced(_last_lines(traceback), '')}"
    yield ""


def _inspirations(request: Request) -> Iterator[str]:
    for number, program in enumerate(request.inspirations[:MOST_INSPIRATIONS]):
        crossed = request.kind is Kind.CROSSING and number == 0
        title = "The other parent" if crossed else "For inspiration"
        source = program.source if crossed else _first_lines(program.source)
        yield f"## {title}: {program.name}\n"
        yield f"{one_line(program.description, LONGEST_SENTENCE)}\n\n{_figures(program.verdict)}\n"
        yield f"{_fenced(source)}\n"


def _first_lines(source: str) -> str:
    if len(source) <= LONGEST_INSPIRATION:
        return source
    shown = source[:LONGEST_INSPIRATION].rpartition("\n")[0]
    left_out = source.rstrip().count("\n", len(shown))
    return f"{shown}\n# ... and {left_out} more lines"


def _last_lines(traceback: str) -> str:
    """Return the end of a traceback, where the fault is named."""
    if len(traceback) <= LONGEST_TRACEBACK:
        return traceback
    end = traceback[-LONGEST_TRACEBACK:]
    return "...\n" + (end.partition("\n")[2] or end)


def _fenced(text: str, language: str = "python") -> str:
    """Return a text in a fence that is longer than any row of backticks in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
