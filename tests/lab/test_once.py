"""What is done once: a run reads its archive once, and a child is parsed and applied once."""

from collections import Counter
from dataclasses import asdict, replace

import pytest

from colocate.lab.archive import Archive
from colocate.lab.patches import answer_writer, patch, syntax
from colocate.lab.program import Program
from colocate.lab.proposers import asking
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.proposers.composer.grammar import Composition
from colocate.lab.proposers.composer.source import write_program
from colocate.lab.settings import Budget, Settings
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.orders import Order
from tests.lab.toy import CONTEST, ToyEvaluation, lab, make, verdict

SETTINGS = Settings(proposals=3, islands=2, review=4)
START = write_program(Composition((Greedy(Order.LOAD, Look.RESULTING),)))


class SameForAll(ToyEvaluation):
    """Judges nothing: all programs are as good."""

    def judge(self, sources, contest, repeats):
        for place in range(len(list(sources))):
            yield place, verdict(0.5, repeats.runs)


def run(path, generations, proposer=None, start=None):
    """Run a lab, and return every statement that its archive was given."""
    if start is None:
        archive = make(path, SETTINGS)
        evaluation = ToyEvaluation()
    else:
        first = Program(0, "start", "", start, verdict(0.5))
        archive = Archive.create(path, asdict(SETTINGS), first, CONTEST.digest)
        evaluation = SameForAll()
    statements = []
    archive._connection.set_trace_callback(statements.append)
    search = lab(archive, SETTINGS, proposer, evaluation)
    search.run(Budget(generations=generations), lambda generation, best: None)
    archive._connection.set_trace_callback(None)
    return archive, statements


@pytest.mark.parametrize("generations", [1, 7])
def test_a_run_reads_the_archive_once_however_many_generations_it_has(tmp_path, generations):
    archive, statements = run(tmp_path / "lab.db", generations)
    tables = ("programs", "attempts", "reviews")
    reads = [
        next(table for table in tables if f"FROM {table} ORDER" in statement)
        for statement in statements
        if statement.startswith("SELECT") and " ORDER BY " in statement
    ]
    assert sorted(reads) == sorted(tables)
    assert max(attempt.generation for attempt in archive.attempts()) == generations


def test_what_is_kept_in_memory_is_what_the_archive_holds(tmp_path):
    archive, _ = run(tmp_path / "one.db", 6)
    again = make(tmp_path / "two.db", SETTINGS)
    for generation in range(1, 7):
        # Every run begins by reading, so nothing in memory outlives a generation here.
        lab(again, SETTINGS).run(Budget(generations=generation), lambda generation, best: None)
    assert archive.programs() == again.programs()
    assert archive.attempts() == again.attempts()
    assert archive.reviews() == again.reviews()


def test_a_child_is_applied_once_and_parsed_once(tmp_path, monkeypatch):
    applied, parsed = Counter(), Counter()

    def apply_patch(change, parent):
        made = patch.apply_patch(change, parent)
        applied[made.source] += 1
        return made

    def syntax_tree(source, whose="the program"):
        parsed[source] += 1
        return real(source, whose)

    real = syntax.syntax_tree
    for user in (answer_writer, asking):
        monkeypatch.setattr(user, "apply_patch", apply_patch)
    for user in (patch, syntax):
        monkeypatch.setattr(user, "syntax_tree", syntax_tree)
    monkeypatch.setattr("colocate.lab.loop.write_review", None)  # it takes programs apart itself
    settings = replace(SETTINGS, review=1000)
    monkeypatch.setattr("tests.lab.test_once.SETTINGS", settings)
    archive, _ = run(tmp_path / "lab.db", 1, Composer(), START)
    children = [program.source for program in archive.programs()[1:]]
    assert len(children) == 3
    assert {applied[child] for child in children} == {1}
    assert {parsed[child] for child in children} == {1}
