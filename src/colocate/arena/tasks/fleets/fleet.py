"""The fleet tasks: their cases, what programs are told, and where evolution starts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, resources
from typing import cast

from numpy.random import RandomState

from colocate.arena.contest import Contest
from colocate.arena.tally import Formula
from colocate.arena.tasks.fleets.copies import copies_case
from colocate.arena.tasks.fleets.fleet_question import ENTRY_POINT, FleetQuestion
from colocate.arena.tasks.fleets.frames import COPIES, LATENCY, WINDOWS
from colocate.arena.tasks.fleets.latency import latency_problem
from colocate.arena.tasks.fleets.planted import FleetCase
from colocate.arena.tasks.fleets.records import read_records
from colocate.arena.tasks.fleets.shown import Shown, shown_copies, shown_latency, shown_windows
from colocate.arena.tasks.fleets.windows import windows_case
from colocate.arena.tasks.frame import Frame
from colocate.arena.tasks.solved_cases import tell_solved
from colocate.arena.tasks.start import start_program
from colocate.arena.tasks.task import Task
from colocate.arena.walls.sandbox import Limits
from colocate.errors import InputError, UnknownNameError
from colocate.problem.problem import Problem

PUBLIC_CASES, HIDDEN_CASES = 20, 12
"""Enough for a mean that one lucky case does not decide; few enough for a verdict in seconds."""
HIDDEN = "hidden"
"""What the names of hidden cases begin with."""
LIMITS = Limits(seconds=5.0)
"""Of a program for a case: time for a search in plain Python, and a verdict within a minute."""
SOLVE_SECONDS = 10.0
"""For a case of a fresh seed whose optimum is not planted."""
SOLVING = "colocate.arena.tasks.fleets.solving"
"""The module that loads the solver; it is imported only for such a case."""


@dataclass(frozen=True)
class FleetRecipe:
    """How to make a fleet task.

    Parameters
    ----------
    summary, goal, value
        As a `Task` has them.
    seed, hidden_seed
        Of the public and of the hidden cases.
    make
        Makes a case, or only its problem if the optimum is not planted.
    shown
        Returns GPUs and models as programs get them.
    frame
        What lets the composer write programs.
    left_out
        Which draws make no public case, as nobody has proven a bound close to what is known.
    """

    summary: str
    goal: str
    value: str
    seed: int
    hidden_seed: int
    make: Callable[[RandomState], FleetCase | Problem]
    shown: Callable[[Problem], Shown]
    frame: Frame
    left_out: frozenset[int] = frozenset()


FLEETS = {
    "fleet-windows": FleetRecipe(
        "8 to 12 GPUs of 24 to 141 GB, loads in six time windows",
        "the lowest peak pressure over all windows",
        "pressure",
        3001,
        30_260,
        windows_case,
        shown_windows,
        WINDOWS,
    ),
    "fleet-copies": FleetRecipe(
        "7 to 11 GPUs of 80 GB, least caches, and as many copies as pay",
        "the lowest peak pressure, with as many copies of each model as pay",
        "pressure",
        3002,
        30_261,
        copies_case,
        shown_copies,
        COPIES,
    ),
    "fleet-latency": FleetRecipe(
        "models that slow each other down, on 6 to 8 GPUs of two kinds",
        "the lowest worst ratio of the time of a token to its target",
        "ratio",
        3003,
        30_262,
        latency_problem,
        shown_latency,
        LATENCY,
        left_out=frozenset({18}),
    ),
}
"""All fleet tasks by name."""


def fleet_task(name: str) -> Task:
    """Return a fleet task."""
    fleet = FLEETS[name]
    return Task(
        name=name,
        summary=fleet.summary,
        entry_point=ENTRY_POINT,
        facts=facts_of(name),
        start_program=start_program(name.replace("-", "_")),
        goal=fleet.goal,
        value=fleet.value,
        place=name,
        open_contest=partial(open_contest, name),
        limits=LIMITS,
        frame=fleet.frame,
    )


def facts_of(name: str) -> str:
    """Return what a prompt tells a model about a fleet task."""
    return (resources.files(__package__) / "facts" / f"{name}.md").read_text(encoding="utf-8")


@cache
def open_contest(name: str, hidden_seed: int | None = None) -> Contest:
    """Return the contest on a fleet task; a fresh seed makes fresh hidden cases."""
    fleet = FLEETS[name]
    if hidden_seed == fleet.seed:
        expected = f"another one than that of the public cases of {name!r}"
        raise InputError.of("hidden_seed", hidden_seed, expected)
    seed = fleet.hidden_seed if hidden_seed is None else hidden_seed
    public = tuple(_questions(name, fleet.seed, PUBLIC_CASES, name))
    hidden = tuple(_questions(name, seed, HIDDEN_CASES, HIDDEN))
    return Contest(name, public, hidden, Formula.RATIO)


def fleet_cases(name: str, part: str) -> dict[str, FleetCase | Problem]:
    """Return the cases of a task by name: those of the part ``public``, or ``hidden``."""
    if name not in FLEETS:
        raise UnknownNameError.among("task", name, FLEETS)
    fleet = FLEETS[name]
    if part == HIDDEN:
        return _made(fleet, fleet.hidden_seed, HIDDEN_CASES, HIDDEN)
    return _made(fleet, fleet.seed, PUBLIC_CASES, name)


def _made(fleet: FleetRecipe, seed: int, count: int, prefix: str) -> dict[str, FleetCase | Problem]:
    draw = RandomState(seed)
    left_out = fleet.left_out if seed == fleet.seed else frozenset()
    made = [fleet.make(draw) for _ in range(count + len(left_out))]
    kept = [case for number, case in enumerate(made) if number not in left_out]
    return {f"{prefix}-{number:02d}": case for number, case in enumerate(kept)}


def _questions(name: str, seed: int, count: int, prefix: str) -> Iterator[FleetQuestion]:
    fleet, records = FLEETS[name], read_records(name)
    solved = 0
    for number, (case, made) in enumerate(_made(fleet, seed, count, prefix).items()):
        problem = made if isinstance(made, Problem) else made.problem
        record = records.get(case)
        if record and record.digest == problem.digest:
            value, bound = record.value, record.certificate.bound
        elif isinstance(made, FleetCase):
            value, bound = made.value, made.certificate.bound
        else:
            tell_solved(solved, count)
            known = _solved(made)
            solved += 1
            value, bound = known.value, known.certificate.bound
        yield FleetQuestion(
            case=case,
            seed=number,
            optimum=value,
            bound=bound,
            problem=problem,
            inputs=fleet.shown(problem),
        )


def _solved(problem: Problem) -> FleetCase:
    solving = import_module(SOLVING)
    return cast(FleetCase, solving.solved_case(problem, SOLVE_SECONDS))
