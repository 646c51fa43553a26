"""A task from a folder: what it asks, a start program, facts for a prompt, and a trusted scorer."""

import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Any

from colocate.arena.contest import Contest
from colocate.arena.source.program_text import read_program
from colocate.arena.tally import Formula
from colocate.arena.tasks.scorer import Scorer
from colocate.arena.tasks.scorer_question import ScorerQuestion, question_digest
from colocate.arena.tasks.task import Task
from colocate.arena.walls.sandbox import A_LIMIT, MOST_OF_A_LIMIT, Limits
from colocate.errors import InputError, TaskError, within
from colocate.fault import Fault

DESCRIPTION, START, SCORER, FACTS = "task.toml", "start.py", "scorer.py", "facts.md"
"""The files of a task."""
PUBLIC_SEED = 0
"""The seed of the public cases."""
MOST_OF_A_NUMBER = sys.float_info.max
"""TOML has longer whole numbers, which no float holds."""
MOST_CASES = 1000
"""More would take a referee hours for each program."""
LONGEST_DESCRIPTION = 100_000
"""Letters of a description: it holds a dozen fields."""


@dataclass(frozen=True)
class TaskFile:
    """What `task.toml` says.

    Parameters
    ----------
    name, summary
        Its name, and what it is about in a few words.
    entry_point
        The function that a program defines.
    goal, value
        What a program is to reach, and what the value of a case is called.
    best_known
        The best value that anyone has reached; cases may state their own.
    bound
        The proven limit of the value, if there is one; cases may state their own.
    higher_is_better
        Whether programs are to raise the value.
    hidden_seed
        The seed of the hidden cases; there are none without it.
    seconds, memory_mb
        The resources of a program for a case.
    scorer_seconds
        The limit for one call of the scorer.
    """

    name: str
    entry_point: str
    higher_is_better: bool
    summary: str = ""
    goal: str = "the best value"
    value: str = "value"
    best_known: float | None = None
    bound: float | None = None
    hidden_seed: int | None = None
    seconds: float = 10.0
    memory_mb: int = 2048
    scorer_seconds: float = 10.0


KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "a text"),
    "entry_point": (str, "the name of a function"),
    "higher_is_better": (bool, "true or false"),
    "summary": (str, "a text"),
    "goal": (str, "a text"),
    "value": (str, "a text"),
    "best_known": ((int, float), "a finite number > 0"),
    "bound": ((int, float), "a finite number > 0"),
    "hidden_seed": (int, "a whole number >= 0"),
    "seconds": ((int, float), A_LIMIT),
    "memory_mb": (int, f"a whole number > 0, at most {MOST_OF_A_LIMIT}"),
    "scorer_seconds": ((int, float), A_LIMIT),
}
"""The fields of a description, their types, and how a message calls these."""
LIMITED = ("seconds", "memory_mb", "scorer_seconds")
"""Those that are limits."""
REQUIRED = ("name", "entry_point", "higher_is_better")


def folder_task(folder: Path) -> Task:
    """Return the task in a folder.

    Raises
    ------
    InputError
        If a file is missing or cannot be used.
    """
    text = _text(folder / DESCRIPTION, "the file that describes the task")
    with within(file=str(folder / DESCRIPTION)):
        told = _description(text)
    start = _program(folder / START, "the program that evolution starts from")
    _program(folder / SCORER, "the file with cases(seed) and score(arguments, answer)")
    facts = _text(folder / FACTS, "the text that tells a model the rules and the aim")
    scorer = Scorer(folder / SCORER, told.scorer_seconds)
    return Task(
        name=told.name,
        summary=told.summary,
        entry_point=told.entry_point,
        facts=facts,
        start_program=start,
        goal=told.goal,
        value=told.value,
        place=str(folder.resolve()),
        open_contest=partial(_contest, folder, told, scorer),
        limits=Limits(seconds=told.seconds, memory_mb=told.memory_mb),
    )


def _contest(
    folder: Path, told: TaskFile, scorer: Scorer, hidden_seed: int | None = None
) -> Contest:
    if hidden_seed is not None and told.hidden_seed is None:
        advice = f"add hidden_seed to {folder / DESCRIPTION}"
        raise InputError(Fault("is given, but the task has no hidden cases", advice=advice,
                               value=hidden_seed, path=("hidden_seed",)))  # fmt: skip
    seed = told.hidden_seed if hidden_seed is None else hidden_seed
    public = _questions(folder, told, scorer, PUBLIC_SEED, told.name)
    hidden = () if seed is None else _questions(folder, told, scorer, seed, "hidden")
    formula = Formula.MEAN if told.higher_is_better else Formula.RATIO
    return Contest(told.name, public, hidden, formula)


def _questions(
    folder: Path, told: TaskFile, scorer: Scorer, seed: int, prefix: str
) -> tuple[ScorerQuestion, ...]:
    path = folder / SCORER
    try:
        cases = scorer.cases(seed)
    except TaskError as error:
        raise InputError(Fault(f"cases({seed}) failed: {error}", file=str(path))) from error
    if not 1 <= len(cases) <= MOST_CASES:
        found = f"cases({seed}) returned {len(cases)} cases"
        raise InputError(Fault(found, f"1 to {MOST_CASES}", file=str(path)))
    questions = []
    for number, case in enumerate(cases):
        with within(("cases", number), file=str(path)):
            questions.append(_question(case, number, told, scorer, prefix))
    return tuple(questions)


def _question(
    case: Any, number: int, told: TaskFile, scorer: Scorer, prefix: str
) -> ScorerQuestion:
    if not isinstance(case, dict) or not isinstance(case.get("arguments"), list):
        raise InputError.of((), case, 'a dict with "arguments", the list that the function gets')
    if strange := sorted(case.keys() - {"arguments", "name", "best_known", "bound"}):
        raise InputError(Fault("is not known", advice="remove it", path=(strange[0],)))
    best = case.get("best_known", told.best_known)
    if best is None:
        raise InputError.missing("best_known", "a number here or in task.toml")
    bound = case.get("bound", told.bound)
    for name, figure in (("best_known", best), ("bound", bound)):
        if figure is not None:
            _checked(name, figure)
    return ScorerQuestion(
        case=f"{prefix}-{str(case.get('name', f'{number:02d}'))[:60]}",
        seed=number,
        optimum=float(best),
        bound=None if bound is None else float(bound),
        higher_is_better=told.higher_is_better,
        function=told.entry_point,
        inputs=tuple(case["arguments"]),
        scorer=scorer,
        rules=question_digest(scorer.path, case),
    )


def _description(text: str) -> TaskFile:
    if len(text) > LONGEST_DESCRIPTION:
        raise InputError(Fault("is too long", f"at most {LONGEST_DESCRIPTION} letters"))
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(Fault(f"is no TOML: {error}")) from error
    lost = [name for name in REQUIRED if name not in fields]
    strange = [name for name in fields if name not in KINDS]
    known = f"one of: {', '.join(KINDS)}"
    faults = [Fault("is missing", KINDS[name][1], path=(name,)) for name in lost]
    faults += [Fault("is not known", known, path=(name,)) for name in strange]
    if faults:
        raise InputError(*faults)
    for name, value in fields.items():
        _checked(name, value)
    if not fields["entry_point"].isidentifier() or iskeyword(fields["entry_point"]):
        raise InputError.of("entry_point", fields["entry_point"], KINDS["entry_point"][1])
    return TaskFile(**fields)


def _checked(name: str, value: Any) -> None:
    kind, expected = KINDS[name]
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if right and isinstance(value, int | float) and kind is not bool:
        enough = value >= 0 if name == "hidden_seed" else value > 0
        right = enough and value <= (MOST_OF_A_LIMIT if name in LIMITED else MOST_OF_A_NUMBER)
    if right and isinstance(value, str):
        right = bool(value.strip())
    if not right:
        raise InputError.of(name, value, expected)


def _text(path: Path, what: str) -> str:
    if not path.is_file():
        raise InputError(Fault("is missing", what, file=str(path)))
    return read_program(path)


def _program(path: Path, what: str) -> str:
    text = _text(path, what)
    try:
        compile(text, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise InputError(Fault(f"does not compile: {error}", file=str(path))) from error
    return text
