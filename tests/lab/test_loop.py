import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from colocate import load_suite
from colocate.arena.tasks.placement_question import PlacementQuestion
from colocate.errors import ArchiveError, InputError, ProposerError
from colocate.lab.archive import Archive
from colocate.lab.loop import Lab
from colocate.lab.messages import NOBODY, Answer, Attempt, Kind
from colocate.lab.patches.refusal import RefusalCode
from colocate.lab.population import Population
from colocate.lab.program import Program, best_first
from colocate.lab.proposers.asking import CUT_OFF
from colocate.lab.proposers.replay import Replay
from colocate.lab.settings import Budget, Settings
from colocate.lab.spending import Spending
from tests.lab.toy import (
    CONTEST,
    ToyEvaluation,
    ToyProposer,
    content,
    lab,
    make,
    quality_of,
    source,
    verdict,
)

SETTINGS = Settings(seed=1, proposals=3, review=5)


def quiet(generation, best):
    pass


def grown(path, settings=SETTINGS, generations=6, **parts):
    archive = make(path, settings)
    reason = lab(archive, settings, **parts).run(Budget(generations=generations), quiet)
    return archive, reason


def test_it_climbs_and_keeps_all_it_did(tmp_path):
    archive, reason = grown(tmp_path / "lab.db")
    programs = archive.programs()
    assert reason == "the budget of 6 generations is spent"
    assert best_first(programs)[0].verdict.fitness > 0.9
    assert [p.number for p in programs] == sorted({p.number for p in programs})
    by_number = {p.number: p for p in programs}
    for program in programs[1:]:
        assert program.generation == (program.number - 1) // 3 + 1
        assert program.island == (program.number - 1) % 3 % 2
        assert by_number[program.parents[0]].generation < program.generation
    assert {a.number for a in archive.attempts()} == set(range(1, 19))
    assert any(a.refusal and a.refusal.code is RefusalCode.NO_CHANGE for a in archive.attempts())


def test_the_same_seed_makes_the_same_archive_with_any_number_of_askers(tmp_path):
    first, _ = grown(tmp_path / "a.db")
    second, _ = grown(tmp_path / "b.db", askers=3)
    other, _ = grown(tmp_path / "c.db", replace(SETTINGS, seed=2))
    assert content(first) == content(second)
    assert content(first) != content(other)


def test_a_run_that_stopped_goes_on_as_if_it_had_not(tmp_path):
    whole, _ = grown(tmp_path / "whole.db")
    parts, _ = grown(tmp_path / "parts.db", generations=2)
    parts.close()
    evaluation = ToyEvaluation()
    with Archive.open(tmp_path / "parts.db", writing=True) as again:
        lab(again, SETTINGS, evaluation=evaluation).run(Budget(generations=6), quiet)
        assert content(again) == content(whole)
    known = {quality_of(p.source) for p in whole.programs() if p.generation <= 2}
    assert all(quality not in known for quality, runs in evaluation.judged if runs == 1)


def test_the_start_is_confirmed_once_and_that_is_kept(tmp_path):
    evaluation = ToyEvaluation()
    archive, _ = grown(tmp_path / "lab.db", evaluation=evaluation, generations=3)
    assert evaluation.judged.count((0.5, 3)) == 1
    assert archive.programs()[0].verdict.runs == 3


def test_recorded_answers_make_the_same_programs(tmp_path):
    old, _ = grown(tmp_path / "old.db")
    new, _ = grown(tmp_path / "new.db", proposer=Replay(old.attempts()), askers=3)
    assert content(new) == content(old)


class Flaky(ToyProposer):
    """Hears nothing of some requests, and of others at first."""

    def propose(self, request):
        self.requests.append(request)
        again = sum(other.number == request.number for other in self.requests) > 1
        if request.number in (4, 8) or (request.number in (5, 10) and not again):
            raise ProposerError("too many requests")
        return super().propose(request)


def test_a_request_that_nobody_answered_is_not_asked_again_once_others_built_on_it(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", proposer=Flaky())
    before = content(archive)
    silent = [a for a in archive.attempts() if not a.answer.came]
    assert {a.number for a in silent} == {4, 5, 8, 10}
    assert {str(a.refusal) for a in silent} == {"too many requests"}
    assert not {4, 8} & {p.number for p in archive.programs()}
    proposer = ToyProposer()
    lab(archive, SETTINGS, proposer).run(Budget(generations=6), quiet)
    assert proposer.requests == []
    assert content(archive) == before
    new, _ = grown(tmp_path / "new.db", proposer=Replay(archive.attempts()))
    assert content(new) == before


def test_an_unfinished_generation_can_be_replayed(tmp_path):
    old, _ = grown(tmp_path / "old.db", generations=3)
    record = [a for a in old.attempts() if a.number != 7]
    new, _ = grown(tmp_path / "new.db", generations=3, proposer=Replay(record))
    assert [p for p in new.programs() if p.number != 7] == [
        p for p in old.programs() if p.number != 7
    ]


@pytest.mark.long
def test_twenty_kills_lose_nothing_that_was_written(tmp_path):
    path = tmp_path / "lab.db"
    settings = replace(SETTINGS, proposals=2)
    make(path, settings).close()
    chance = random.Random(5)
    before: list[tuple[int, str]] = []
    kills = last = 0
    while kills < 20 or last < 4:
        kills += 1
        assert kills < 200
        command = [sys.executable, "-m", "tests.lab.killed_run", str(path), "1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path.cwd()) as process:
            assert process.stdout.readline() == b"begun\n"
            sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
        with Archive.open(path) as archive:
            programs = archive.programs()
        assert [(p.number, p.source) for p in programs][: len(before)] == before
        last = programs[-1].generation
        before = [(p.number, p.source) for p in programs if p.generation < last]
    with Archive.open(path, writing=True) as archive:
        lab(archive, settings).run(Budget(generations=last + 1), quiet)
        whole, _ = grown(tmp_path / "whole.db", settings, last + 1)
        assert content(archive) == content(whole)


def test_one_writer_at_a_time_and_any_number_of_readers(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=1)
    with pytest.raises(ArchiveError, match="another run is writing"):
        Archive.open(archive.path, writing=True)
    with Archive.open(archive.path) as reader:
        assert reader.programs() == archive.programs()
        with pytest.raises(ArchiveError, match="readonly"):
            reader.add_review(1, {})
    archive.close()
    Archive.open(archive.path, writing=True).close()


@pytest.mark.parametrize("name", ["a?mode=rwc&b", "50%41", "x#y", "with blank"])
def test_a_folder_may_have_any_name(tmp_path, name):
    make(tmp_path / name / "lab.db", SETTINGS).close()
    with Archive.open(tmp_path / name / "lab.db") as archive:
        assert len(archive.programs()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_lab_that_is_being_made_is_not_made_a_second_time(tmp_path):
    with (
        make(tmp_path / "lab.db", SETTINGS),
        pytest.raises(ArchiveError, match="another run is writing"),
    ):
        make(tmp_path / "lab.db", SETTINGS)
    with pytest.raises(ArchiveError, match="exists already"):
        make(tmp_path / "lab.db", SETTINGS)


def test_what_is_no_archive_is_said_to_be_none(tmp_path):
    with pytest.raises(ArchiveError, match="colocate lab init"):
        Archive.open(tmp_path / "lab.db")
    (tmp_path / "lab.db").write_bytes(b"something else" * 100)
    with pytest.raises(ArchiveError, match="not a database"):
        Archive.open(tmp_path / "lab.db")
    with pytest.raises(ArchiveError, match="exists already"):
        make(tmp_path / "lab.db", SETTINGS)


def test_a_changed_contest_judges_everything_again(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=2)
    count = len(archive.programs())
    problem_of_another_suite = replace(CONTEST, public=(_question(),))
    evaluation = ToyEvaluation()
    search = Lab(archive, SETTINGS, problem_of_another_suite, evaluation, ToyProposer())
    search.run(Budget(generations=0), quiet)
    assert len([runs for _, runs in evaluation.judged if runs == 1]) == count
    assert archive.judged_otherwise(problem_of_another_suite.digest) == []


class Reversed(ToyEvaluation):
    """What was best is worst."""

    def judge(self, sources, contest, repeats):
        known = list(sources)
        for place, _ in super().judge(known, contest, repeats):
            yield place, verdict(1.1 - quality_of(known[place]), repeats.runs)


def test_a_changed_contest_leaves_the_answers_as_they_were(tmp_path):
    archive, _ = grown(tmp_path / "lab.db")
    answers, reviews = archive.attempts(), archive.reviews()
    proposer = ToyProposer()
    contest = replace(CONTEST, public=(_question(),))
    search = Lab(archive, SETTINGS, contest, Reversed(), proposer)
    search.run(Budget(generations=6), quiet)
    assert proposer.requests == []
    assert (archive.attempts(), archive.reviews()) == (answers, reviews)
    search.run(Budget(generations=7), quiet)
    assert archive.attempts()[: len(answers)] == answers
    assert {r.number for r in proposer.requests} == {19, 20, 21}


def test_answers_in_flight_when_the_contest_changed_go_to_the_parents_they_were_for(tmp_path):
    whole, _ = grown(tmp_path / "whole.db")
    archive, _ = grown(tmp_path / "lab.db", generations=5)
    last = [a for a in whole.attempts() if a.generation == 6]
    archive.add_attempts(last)
    proposer = ToyProposer()
    contest = replace(CONTEST, public=(_question(),))
    Lab(archive, SETTINGS, contest, Reversed(), proposer).run(Budget(generations=6), quiet)
    assert proposer.requests == []
    assert archive.attempts() == whole.attempts()
    assert [(p.number, p.source, p.parents) for p in archive.programs()] == [
        (p.number, p.source, p.parents) for p in whole.programs()
    ]


def _question() -> PlacementQuestion:
    problem = load_suite("adrs").cases[0].problem
    return PlacementQuestion(case="adrs-00", problem=problem, optimum=1.0, bound=1.0, seed=0)


def test_the_leader_has_had_three_runs(tmp_path):
    archive, _ = grown(tmp_path / "lab.db")
    assert best_first(archive.programs())[0].verdict.runs == 3


class Erratic(ToyEvaluation):
    """Programs do well once, and worse when they are run again."""

    def judge(self, sources, contest, repeats):
        for place, judged in super().judge(sources, contest, repeats):
            worse = verdict(0.4, repeats.runs) if repeats.runs > 1 else judged
            yield place, worse


def test_who_is_only_lucky_does_not_lead(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=2, evaluation=Erratic())
    assert best_first(archive.programs())[0].verdict.fitness == 0.4


class Scripted:
    """Says the same in every generation."""

    def __init__(self, *texts, cut_off=False, error=""):
        self.texts, self.cut_off, self.error, self.requests = texts, cut_off, error, []

    def propose(self, request):
        self.requests.append(request)
        if self.error:
            raise ProposerError(self.error)
        return Answer(
            self.texts[(len(self.requests) - 1) % len(self.texts)], "it", cut_off=self.cut_off
        )


REWRITE = f"<CODE>\n{source(0.7)}</CODE>\n"


def test_a_refusal_is_shown_to_the_proposer(tmp_path):
    proposer = Scripted("nothing", "still nothing", REWRITE)
    settings = replace(SETTINGS, proposals=1, islands=1)
    archive, _ = grown(tmp_path / "lab.db", settings, 1, proposer=proposer)
    first, second, third = proposer.requests
    refusals = [a.refusal for a in archive.attempts()]
    assert first.refusal is None
    assert [second.refusal, third.refusal] == refusals[:2]
    assert refusals[2] is None
    assert len(archive.programs()) == 2


def test_the_kind_of_a_change_is_the_one_that_was_made(tmp_path):
    proposer = ToyProposer()
    archive, _ = grown(tmp_path / "lab.db", proposer=proposer)
    asked = {request.number: request.kind for request in proposer.requests}
    assert set(asked.values()) == set(Kind)
    for attempt in archive.attempts():
        made = Kind.CROSSING if asked[attempt.number] is Kind.CROSSING else Kind.REWRITE
        assert attempt.kind is (asked[attempt.number] if attempt.refusal else made)


def test_cut_off_answers_are_never_taken(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=1, proposer=Scripted(REWRITE, cut_off=True))
    assert len(archive.programs()) == 1
    refusals = {a.refusal for a in archive.attempts()}
    assert {refusal.code for refusal in refusals} == {RefusalCode.ANSWER_CUT_OFF}
    assert {refusal.fault for refusal in refusals} == {CUT_OFF}


def test_a_program_that_is_there_already_is_refused(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=3, proposer=Scripted(REWRITE))
    assert [p.number for p in archive.programs()] == [0, 1]
    refusals = {a.number: str(a.refusal) for a in archive.attempts()}
    assert refusals[2] == "program 1 of the same generation is the same"
    later = " ".join(refusals[number] for number in range(4, 10))
    assert "program 1 is the same, but for its comments" in later
    assert "the child does the same as its parent" in later


def test_an_answer_that_changes_a_seed_alone_is_refused_and_told_so(tmp_path):
    seeded = source(0.7).replace("    return", "    import random; random.seed(SEED)\n    return")
    answers = [f"<CODE>\n{seeded.replace('SEED', seed)}</CODE>\n" for seed in "34567"]
    settings = replace(SETTINGS, proposals=1, islands=1, attempts=3)
    proposer = Scripted(*answers)
    archive, _ = grown(tmp_path / "lab.db", settings, 2, proposer=proposer)
    assert len(archive.programs()) == 2
    codes = {a.refusal.code for a in archive.attempts() if a.refusal}
    assert codes <= {RefusalCode.ONLY_A_SEED, RefusalCode.KNOWN_PROGRAM}
    assert codes
    told = {str(request.refusal) for request in proposer.requests if request.refusal}
    assert any("seed" in words for words in told)


def test_a_proposer_that_never_answers_ends_the_run_and_leaves_no_trace(tmp_path):
    archive = make(tmp_path / "lab.db", SETTINGS)
    with pytest.raises(ProposerError, match="the server is down"):
        lab(archive, SETTINGS, Scripted(error="the server is down")).run(Budget(3), quiet)
    assert archive.attempts() == []


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(proposals=4), "4 proposals"),
        (Budget(tokens=60), "60 tokens"),
        (Budget(cost=0.05), "0.05 cost"),
        (Budget(seconds=0.0), "0 seconds"),
    ],
)
def test_every_budget_ends_a_run(tmp_path, budget, word):
    archive = make(tmp_path / "lab.db", SETTINGS)
    assert lab(archive, SETTINGS).run(budget, quiet) == f"the budget of {word} is spent"


def test_the_optimum_ends_a_run(tmp_path):
    proposer = Scripted(f"<CODE>\n{source(1.0)}</CODE>\n")
    _, reason = grown(tmp_path / "lab.db", generations=9, proposer=proposer)
    assert reason == "the proven optimum is reached on every public case"


class Learner(ToyProposer):
    def __init__(self):
        super().__init__()
        self.lessons = []

    def learn(self, rewards):
        self.lessons.append(list(rewards))


def test_a_learning_proposer_is_told_all_rewards_so_far(tmp_path):
    proposer = Learner()
    archive, _ = grown(tmp_path / "lab.db", generations=3, proposer=proposer)
    assert proposer.lessons[0] == []
    fitness = {p.number: p.verdict.fitness for p in archive.programs()}
    expected = [
        ("toy", 0.0 if a.refusal else fitness[a.number] - fitness[a.parents[0]], a.answer.cost)
        for a in archive.attempts()
        if a.generation < 3
    ]
    assert proposer.lessons[2] == expected


def test_reviews_steer_what_comes_after_them(tmp_path):
    proposer = ToyProposer()
    archive, _ = grown(tmp_path / "lab.db", proposer=proposer)
    counts = [count for count, _ in archive.reviews()]
    assert counts
    assert all(count % 5 == 0 for count in counts)
    first = archive.reviews()[0][1]
    steered = [r for r in proposer.requests if r.recommendations]
    assert steered
    assert list(steered[0].recommendations) == list(first["recommendations"])


def program(number, fitness, island=0, generation=1, parents=(0,)):
    text = source(fitness)
    return Program(number, "p", "", text, verdict(fitness), parents, generation, island)


def test_the_best_of_an_island_moves_to_the_next_at_every_migration():
    settings = Settings(islands=2, migration=3)
    programs = [
        program(0, 0.5, generation=0, parents=()),
        program(1, 0.6, island=0),
        program(2, 0.7, island=1),
        program(5, 0.9, island=0, generation=4),
    ]
    population = Population(programs, settings)
    assert [p.number for p in population.members(1, generation=3)] == [2, 0]
    assert [p.number for p in population.members(1, generation=4)] == [2, 1, 0]
    assert [p.number for p in population.members(1, generation=7)] == [5, 2, 1, 0]


def test_better_programs_are_parents_more_often():
    programs = [program(0, 0.5, generation=0, parents=()), program(1, 0.9), program(2, 0.6)]
    settings = Settings(islands=1)
    requests = [
        Population(programs, replace(settings, seed=seed)).request(2, 0, ()) for seed in range(300)
    ]
    count = [sum(r.parent.number == n for r in requests) for n in range(3)]
    assert count[1] > count[2] > count[0] > 0
    assert {r.kind for r in requests} == set(Kind)
    assert all(r.parent not in r.inspirations for r in requests)
    alone = Population(programs[:1], settings).request(1, 0, ())
    assert alone.inspirations == ()
    assert alone.kind is not Kind.CROSSING


@pytest.mark.parametrize("field", ["islands", "proposals", "migration", "attempts", "review"])
def test_settings_must_make_sense(field):
    with pytest.raises(InputError, match=f"{field}=0"):
        Settings(**{field: 0})


def test_every_island_needs_a_proposal():
    with pytest.raises(InputError, match="islands=3, must be at most proposals=2"):
        Settings(islands=3, proposals=2)


def test_budgets_count_what_was_answered_and_are_written_in_full():
    archive = [
        Attempt(1, place, 1, Kind.DIFF, (0,), Answer(text, who))
        for place, (text, who) in enumerate((("so", "it"), ("", NOBODY), ("so", "it"), ("", "it")))
    ]
    spent = Spending(70, 30, 0.5)
    for budget, reason in (
        (Budget(proposals=3), ""),
        (Budget(proposals=2), "the budget of 2 proposals is spent"),
        (Budget(seconds=1_234_567), "the budget of 1,234,567 seconds is spent"),
        (Budget(tokens=101, cost=0.51), ""),
        (Budget(tokens=100), "the budget of 100 tokens is spent"),
        (Budget(cost=0.5), "the budget of 0.5 cost is spent"),
    ):
        assert budget.spent(1, archive, spent, 1e9 if budget.seconds else 0.0) == reason


def test_the_goal_is_called_proven_only_where_it_is():
    question = _question()
    contest = replace(CONTEST, public=(question, question))
    assert contest.goal == "proven optimum"
    open_question = replace(question, bound=0.999)
    assert replace(contest, public=(question, open_question)).goal == "best value known"


def test_a_lab_in_a_folder_that_cannot_be_written_to_can_be_read(tmp_path, monkeypatch):
    archive, _ = grown(tmp_path / "lab.db", generations=1)
    programs = archive.programs()
    archive.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Archive.open(tmp_path / "lab.db") as reader:
        assert reader.programs() == programs
    assert not (tmp_path / "lab.db-shm").exists()


def test_what_is_held_does_not_grow_with_a_run(tmp_path):
    archive, _ = grown(tmp_path / "lab.db", generations=1)
    with Archive.open(archive.path) as reader:
        reader.hold()
        before = content(reader)
        lab(archive, SETTINGS).run(Budget(generations=3), quiet)
        assert content(reader) == before
    assert content(archive) != before
