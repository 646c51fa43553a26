import random
from threading import Event, Lock
from time import sleep

import pytest

from colocate.follow.execution import carry_out
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.step import EngineStep, StepKind

ENGINE = PlacedEngine("alpha", ("g0",), 40.0, 16.0)


def chain(*after, behind=()):
    rows = zip(after, behind or [()] * len(after), strict=True)
    return [
        EngineStep(n, StepKind.LOAD, ENGINE, first, last) for n, (first, last) in enumerate(rows)
    ]


class Diary:
    """Remembers the order of things, and lets chosen steps fail."""

    def __init__(self, failing=(), seconds=0.0):
        self.failing, self.seconds = failing, seconds
        self.told, self.running, self.most = [], 0, 0
        self.lock = Lock()

    def perform(self, step):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        sleep(self.seconds)
        with self.lock:
            self.running -= 1
        return step.number not in self.failing

    def begun(self, step):
        self.told.append(("begun", step.number))

    def ended(self, step, succeeded):
        self.told.append(("ended" if succeeded else "failed", step.number))

    def run(self, steps, at_once=4, stop=None):
        return carry_out(steps, self.perform, self.begun, self.ended, at_once, stop or Event())


def test_steps_wait_for_those_before_them():
    diary = Diary()
    assert diary.run(chain((), (0,), (1,)))
    assert diary.told == [(w, n) for n in range(3) for w in ("begun", "ended")]


def test_independent_steps_run_side_by_side_up_to_the_limit():
    diary = Diary(seconds=0.1)
    assert diary.run(chain((), (), (), ()), at_once=2)
    assert diary.most == 2


def test_nothing_begins_after_a_failure():
    diary = Diary(failing={0})
    assert not diary.run(chain((), (0,), ()), at_once=1)
    assert diary.told == [("begun", 0), ("failed", 0)]


def test_a_step_waits_for_the_link_that_another_one_uses():
    diary = Diary()
    assert diary.run(chain((), (), behind=((), (0,))))
    assert diary.told[:2] == [("begun", 0), ("ended", 0)]


def test_what_runs_ends_when_another_step_fails():
    diary = Diary(failing={1})
    perform, failed = diary.perform, Event()

    def patient(step):
        if step.number == 0:
            assert failed.wait(20)
        return perform(step)

    def ended(step, succeeded):
        diary.ended(step, succeeded)
        if not succeeded:
            failed.set()

    assert not carry_out(chain((), (), (0,)), patient, diary.begun, ended, 2, Event())
    assert diary.told[-2:] == [("failed", 1), ("ended", 0)]
    assert ("begun", 2) not in diary.told


def test_no_step_begins_once_it_is_to_stop():
    stop = Event()
    stop.set()
    diary = Diary()
    assert not diary.run(chain((), ()), stop=stop)
    assert diary.told == []


def test_steps_that_were_done_before_are_not_waited_for():
    diary = Diary()
    assert diary.run(chain((), (0,))[1:])
    assert diary.told == [("begun", 1), ("ended", 1)]


@pytest.mark.parametrize("seed", range(20))
def test_any_order_respects_what_comes_before(seed):
    rng = random.Random(seed)
    steps = chain(*(tuple(rng.sample(range(n), min(n, rng.randrange(3)))) for n in range(12)))
    diary = Diary(failing={rng.randrange(12)} if seed % 2 else set())
    whole = diary.run(steps, at_once=rng.randint(1, 4))
    assert whole == (seed % 2 == 0)
    for place, (word, number) in enumerate(diary.told):
        if word == "begun":
            before = diary.told[:place]
            assert all(("ended", earlier) in before for earlier in steps[number].after)
    assert sum(word == "begun" for word, _ in diary.told) == sum(
        word != "begun" for word, _ in diary.told
    )
