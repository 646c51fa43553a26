"""Fills the gaps of a template: `@NAME@` becomes a text."""

import json
import re
import shlex
from textwrap import indent

from colocate.outputs.evaluators.settings import EvaluatorSettings

GAP = re.compile(r"@([A-Z_]+)@")
START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"
"""The lines around what frameworks may change."""
OPENAI = "https://api.openai.com/v1"
"""Where frameworks find models, unless the user names a server."""


def filled(template: str, settings: EvaluatorSettings, **more: str) -> str:
    """Return a template with all its gaps filled.

    Parameters
    ----------
    template
        The text; each gap must have a value.
    settings
        What most gaps are filled with.
    more
        Values for the other gaps, by their names in lower letters.
    """
    seconds, memory_mb = settings.limits or (None, None)
    limits = f", limits=Limits(seconds={seconds}, memory_mb={memory_mb})" if seconds else ""
    fresh = "" if settings.hidden_seed is None else f", hidden_seed={settings.hidden_seed}"
    values = {
        "FRESH": fresh,
        "LIMITS": f"{limits}, seeds={settings.seeds}",
        "REFEREE": "Limits, Referee" if limits else "Referee",
        "SCORE_OPTIONS": _score_options(settings),
        "TASK": json.dumps(settings.task),
        "TASK_NAME": settings.task,
        "TITLE": settings.title or settings.task,
        "TARGET": settings.target,
        "HIDDEN_TOO": ", hidden cases included" if settings.hidden else "",
        "AFTERWARDS": _afterwards(settings),
        "ENTRY_POINT": settings.entry_point,
        "FACTS": indent(settings.facts.strip("\n"), "    "),
        "GOAL": settings.goal,
        "SECONDS": str(settings.seconds),
        "SEEDS": str(settings.seeds),
        "VERSION": settings.version,
        "MODEL": json.dumps(settings.model),
        "API_BASE": json.dumps(settings.api_base or OPENAI),
    } | {name.upper(): value for name, value in more.items()}
    return GAP.sub(lambda gap: values[gap.group(1)], template)


def _score_options(settings: EvaluatorSettings) -> str:
    """Return the options with which `colocate score` judges as the evaluator does."""
    options = ["--suite", settings.task]
    if settings.limits:
        options += ["--time-limit", f"{settings.limits[0]:g}"]
    if settings.hidden_seed is not None:
        options += ["--hidden-seed", str(settings.hidden_seed)]
    return shlex.join(options)


def _afterwards(settings: EvaluatorSettings) -> str:
    """Return what the page says of hidden cases, and of judging a run again."""
    options = _score_options(settings)
    if settings.hidden:
        return (
            "- Hidden cases never reach what a model is told. After a run, `colocate score` judges "
            f"with\n  them (for this task, give it `{options}`)."
        )
    return (
        "- The task has no hidden cases. After a run, `colocate score` judges again on the same "
        f"ones (for\n  this task, give it `{options}`)."
    )


def start_program(settings: EvaluatorSettings) -> str:
    """Return the start program, with the marks that frameworks look for."""
    source = settings.start_program
    return source if START in source else f"{START}\n{source.rstrip()}\n{END}\n"
