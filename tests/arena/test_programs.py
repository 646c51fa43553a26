from dataclasses import replace
from threading import Lock

import pytest

from colocate import InputError
from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.contest import Contest
from colocate.arena.leaderboard import program_table, verdict_page
from colocate.arena.luck import Chance
from colocate.arena.programs import judge_all
from colocate.arena.referee import Referee
from colocate.arena.repeats import RUNS_OF_THE_BEST, Repeats
from colocate.arena.source.program_text import MOST_CHARACTERS, read_program
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.arena.walls.sandbox import Limits
from colocate.outputs.text.console import show
from tests.arena.tiny_contest import CONTEST, program, question

APART, TOGETHER = program(), program("", "{0: models}")
LOSING = program("", "{0: models[1:]}")
ERRATIC = program("import time", "{0: models[:1], time.time_ns() // 1000 % 2: models[1:]}")


class ScriptedReferee:
    """Gives ratios from a list, one a run, and counts what it was asked."""

    def __init__(self, **ratios):
        self.ratios = ratios
        self.asked = []
        self.lock = Lock()

    def repeats(self):
        return Repeats()

    def judge_source(self, source, contest, repeats, halt=None):
        runs = repeats.runs
        with self.lock:
            self.asked.append((source, runs))
            drawn = [self.ratios[source].pop(0) for _ in range(runs)]
        worst = min(drawn)
        tally = Tally((CaseVerdict("case", 1 / worst, 1.0),))
        return Verdict("tiny", tally, tally, (), runs, len(set(drawn)) == 1)


def shown(capsys, *parts):
    show(*parts)
    return capsys.readouterr().out


def test_what_is_no_text_is_no_program(tmp_path):
    path = tmp_path / "main.py"
    for content, sentence in [
        (b"\xff\xfe\x00\x01", "cannot be read as a program: 'utf-8' codec"),
        (b"#" * (MOST_CHARACTERS + 1), "is too long, must be at most 1000000 characters"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InputError, match=sentence):
            read_program(path)
    with pytest.raises(InputError, match="no such file"):
        read_program(tmp_path / "none.py")
    with pytest.raises(InputError, match="Is a directory"):
        read_program(tmp_path)
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert read_program(path) == "x = 1\n"


def test_programs_are_ranked_and_the_leader_has_three_runs(capsys):
    programs = [("together", TOGETHER), ("losing", LOSING), ("apart", APART), ("beside", APART)]
    seen = []
    entries = judge_all(programs, CONTEST, Referee(limits=Limits(seconds=5)), 2, seen.append)
    assert [entry.name for entry in entries] == ["apart", "beside", "together", "losing"]
    assert [entry.verdict.runs for entry in entries] == [RUNS_OF_THE_BEST, 1, 1, 1]
    assert [entry.verdict.fitness for entry in entries] == pytest.approx([1, 1, 1 / 3, 0])
    assert sorted(entry.name for entry in seen) == ["apart", "beside", "losing", "together"]
    *lines, _, note = shown(capsys, program_table(entries, 200)).splitlines()[-6:]
    assert [line.split()[:3] for line in lines] == [
        *(["1", "apart", "1.000000"], ["2", "beside", "1.000000"]),
        *(["3", "together", "0.333333"], ["4", "losing", "0.000000"]),
    ]
    assert note == "losing: one: missing model: 'model_0' of 2 on no GPU"


def test_of_equals_the_one_that_knows_the_public_cases_by_heart_does_not_lead():
    referee = ScriptedReferee(a=[0.5] * 4, b=[0.5] * 4, honest=[0.5] * 4)
    usual = referee.judge_source

    def judge(source, contest, repeats, halt=None):
        verdict = usual(source, contest, repeats)
        learned = Tally((CaseVerdict("case", 1.0, 1.0),))
        return replace(verdict, public=learned) if source == "a" else verdict

    referee.judge_source = judge
    entries = judge_all([(n, n) for n in ("a", "honest", "b")], CONTEST, referee, 1)
    assert [entry.name for entry in entries] == ["honest", "b", "a"]


def test_a_lucky_leader_falls_back_and_the_next_one_is_run_again():
    referee = ScriptedReferee(lucky=[0.9, 0.9, 0.5, 0.9], steady=[0.8] * 4, third=[0.6])
    programs = [(name, name) for name in ("third", "lucky", "steady")]
    entries = judge_all(programs, CONTEST, referee, 1)
    assert [entry.name for entry in entries] == ["steady", "third", "lucky"]
    assert [entry.verdict.runs for entry in entries] == [3, 1, 3]
    assert [entry.verdict.steady for entry in entries] == [True, True, False]
    assert referee.asked[3:] == [("lucky", 3), ("steady", 3)]


def test_all_have_as_many_runs_as_are_wanted():
    referee = ScriptedReferee(lucky=[0.9, 0.9, 0.5, 0.9], steady=[0.8] * 4)
    programs = [(n, n) for n in ("lucky", "steady")]
    entries = judge_all(programs, CONTEST, referee, 1, repeats=Repeats(4))
    assert [(entry.name, entry.verdict.runs) for entry in entries] == [("steady", 4), ("lucky", 4)]
    assert referee.asked == [("lucky", 4), ("steady", 4)]


def test_a_program_that_goes_by_the_clock_is_marked_as_not_steady(capsys):
    questions = tuple(question(f"q{number}") for number in range(16))
    contest = Contest("tiny", questions[:8], questions[8:])
    entry = judge_all([("erratic", ERRATIC)], contest, Referee(limits=Limits(seconds=5)), 1)[0]
    assert entry.verdict.runs == RUNS_OF_THE_BEST  # it fails, so more seeds change nothing
    assert not entry.verdict.steady
    assert entry.verdict.luck.chance is Chance.OTHER
    assert "3, differing" in shown(capsys, program_table([entry], 200))
    assert "its answers differ from run to run" in shown(capsys, *verdict_page(entry.verdict, 200))


def test_no_programs_no_leader():
    assert judge_all([], CONTEST, Referee(), 1) == []
