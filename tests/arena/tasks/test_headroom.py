"""The stored figures of how much room fleet tasks leave are those of the code."""

import ast
from statistics import fmean

import pytest

from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.fleets.fleet import FLEETS
from colocate.arena.tasks.fleets.headroom import (
    CLEARLY,
    Headroom,
    HeadroomRow,
    cases_digest,
    read_headroom,
    write_headroom,
)
from colocate.lab.proposers.composer.grammar import Composition
from colocate.lab.proposers.composer.notation import value_of
from colocate.lab.proposers.composer.source import write_program
from colocate.problem.verify import verify
from tests.campaign import LONG
from tests.lab.compositions import loaded

STORED = read_headroom()
FEW = None if LONG else 2
"""Hidden cases that programs answer again here."""
SOLVER = "solve, 10 s"
MANY = 100
"""Programs that the composer must have tried."""


def composed(task):
    parts = STORED[task].composition.items()
    fields = {name: value_of(ast.parse(text, mode="eval").body) for name, text in parts}
    return write_program(Composition(**fields), FLEETS[task].frame)


def values(task, source):
    program = loaded(source)
    for question in open_task(task).contest().hidden[:FEW]:
        found = program["place_models"](*question.inputs)
        placement = {name: [g] if isinstance(g, str) else g for name, g in found.items()}
        verdict = verify(question.problem, placement)
        assert verdict.valid, verdict.faults
        yield verdict.ratio if question.problem.objective == "latency" else verdict.pressure


def test_every_fleet_was_measured():
    assert set(STORED) == set(FLEETS)


@pytest.mark.parametrize("task", FLEETS)
def test_the_figures_are_those_of_these_cases(task):
    stored, contest = STORED[task], open_task(task).contest()
    assert stored.digest == cases_digest(contest)
    for row in stored.reached:
        bounds = [question.bound for question in contest.hidden]
        pairs = zip(bounds, row.values, strict=True)
        shares = [0.0 if value is None else bound / value for bound, value in pairs]
        assert fmean(shares) == pytest.approx(row.hidden, abs=1e-9)
        assert max(shares) <= 1 + 1e-9


@pytest.mark.parametrize("task", FLEETS)
def test_the_composer_stays_clearly_below_the_bound(task):
    stored = STORED[task]
    start, composer, solver = map(stored.by, ("start", "composer", SOLVER))
    assert stored.programs > MANY
    assert stored.room >= CLEARLY
    assert start.hidden < composer.hidden
    assert composer.hidden < solver.hidden


@pytest.mark.parametrize("task", FLEETS)
def test_programs_reach_what_is_stored(task):
    task_start = open_task(task).start_program
    for who, source in (("start", task_start), ("composer", composed(task))):
        for found, stored in zip(values(task, source), STORED[task].by(who).values, strict=False):
            assert found == pytest.approx(stored, rel=1e-6), who


def test_figures_are_written_and_read_again(tmp_path):
    path = tmp_path / "headroom.json"
    rows = (HeadroomRow("start", 0.5, 0.4, (1.0, None)), HeadroomRow("composer", 0.9, 0.8))
    found = Headroom("fleet-windows", "abc", 60, 241, {"starts": "()"}, rows)
    write_headroom(found, path)
    write_headroom(found, path)
    assert read_headroom(path) == {"fleet-windows": found}
    assert found.room == pytest.approx(0.2)
    assert found.by("start").values == (1.0, None)
