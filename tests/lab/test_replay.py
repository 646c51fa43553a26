from dataclasses import replace

import pytest

from colocate.errors import ProposerError
from colocate.lab.messages import NOBODY, Answer, Attempt, Kind, Request
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.proposers.replay import Replay
from tests.lab.test_openai import program

REQUEST = Request(Kind.DIFF, program(), number=7)


def attempt(number, place, answer, fault=None):
    refusal = fault and Refusal(RefusalCode.NO_ANSWER, fault)
    return Attempt(number, place, 1, Kind.DIFF, (0,), answer, refusal)


def test_every_request_gets_its_own_answers_in_order_and_then_no_more():
    answers = [Answer("a", "openai:small", 3, 4, 0.5), Answer("b", "blocks", cut_off=True)]
    other = Answer("c", "blocks")
    record = [attempt(7, 0, answers[0], "no"), attempt(7, 1, answers[1]), attempt(8, 0, other)]
    replay = Replay(iter(record))
    assert replay.propose(REQUEST) == answers[0]
    assert replay.propose(replace(REQUEST, number=8)) == other
    assert replay.propose(REQUEST) == answers[1]
    for number in (7, 8, 9):
        with pytest.raises(ProposerError, match=f"no further answer to request {number};"):
            replay.propose(replace(REQUEST, number=number))


def test_silence_is_repeated_as_well():
    replay = Replay([attempt(7, 0, Answer("", NOBODY), "the server is down")])
    with pytest.raises(ProposerError, match="the server is down"):
        replay.propose(REQUEST)
