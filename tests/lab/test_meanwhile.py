"""Programs are judged while others are still asked for."""

from threading import Event

import pytest

from colocate.arena.contest import Contest
from colocate.arena.repeats import FIRST_LOOK
from colocate.errors import SandboxError
from colocate.lab.judging.meanwhile import JudgingMeanwhile

CONTEST = Contest("toy", (), ())


class Watched:
    """Judges every source as soon as it comes, and tells when."""

    def __init__(self):
        self.judged = []
        self.first = Event()

    def judge(self, sources, contest, repeats):
        for place, source in enumerate(sources):
            if source == "broken":
                raise SandboxError("the disk is full")
            self.judged.append(source)
            self.first.set()
            yield place, f"verdict on {source}"


def test_a_program_is_judged_before_the_next_one_is_known():
    evaluation = Watched()
    judging = JudgingMeanwhile(evaluation, CONTEST, FIRST_LOOK)
    judging.add("a")
    assert evaluation.first.wait(10)
    assert evaluation.judged == ["a"]
    judging.add("b")
    judging.close(["b", "c", "a"], dict)
    assert judging.outcome() == {source: f"verdict on {source}" for source in "abc"}
    assert evaluation.judged == ["a", "b", "c"]


def test_nothing_to_judge_asks_nobody():
    evaluation = Watched()
    judging = JudgingMeanwhile(evaluation, CONTEST, FIRST_LOOK)
    judging.close([], dict)
    assert judging.outcome() == {}
    assert evaluation.judged == []


def test_a_fault_is_raised_where_somebody_waits():
    judging = JudgingMeanwhile(Watched(), CONTEST, FIRST_LOOK)
    judging.add("broken")
    after = JudgingMeanwhile(Watched(), CONTEST, FIRST_LOOK, judging)
    after.close(["more"], dict)
    judging.close(["broken", "more"], dict)
    for each in (judging, after):
        with pytest.raises(SandboxError, match="the disk is full"):
            each.outcome()


def test_no_program_is_judged_before_those_that_were_there_first():
    evaluation = Watched()
    first = JudgingMeanwhile(evaluation, CONTEST, FIRST_LOOK)
    second = JudgingMeanwhile(evaluation, CONTEST, FIRST_LOOK, first)
    first.add("a")
    second.add("c")
    assert evaluation.first.wait(10)
    first.close(["a", "b"], dict)
    second.close(["c"], dict)
    assert list(second.outcome()) == ["c"]
    assert evaluation.judged == ["a", "b", "c"]
