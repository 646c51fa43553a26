import time

import pytest

from colocate.solver.deadline import Deadline, TimeOverError


def test_time_that_is_over_is_no_stop():
    deadline = Deadline(0.02)
    part = deadline.part(60.0)
    with deadline.watched():
        time.sleep(0.1)
    assert deadline.over
    assert part.over
    assert not part.go[0]
    assert not deadline.stopped
    assert not part.stopped
    assert not deadline.part(1.0).go[0]


def test_a_stop_reaches_parts_but_not_the_whole():
    whole = Deadline(60.0)
    part = whole.part(30.0)
    inner = part.part(10.0)
    part.stop()
    assert inner.stopped
    assert inner.left == 0.0
    assert not whole.stopped
    assert part.part(5.0).stopped


def test_a_wish_to_stop_is_heard_by_parts():
    wishes = []
    whole = Deadline(60.0, stop_when=lambda: bool(wishes))
    part = whole.part(30.0)
    part.check()
    wishes.append("enough")
    assert part.over
    with pytest.raises(TimeOverError):
        part.check()
    assert part.left > 0.0


def test_a_part_is_never_longer_than_the_whole():
    whole = Deadline(1.0)
    assert whole.part(60.0).left <= 1.0
    whole.extend(10.0)
    assert 10.0 < whole.left <= 11.0
