import pytest

from colocate.errors import ProposerError
from colocate.lab.proposal import Answer, Kind, Request
from colocate.lab.proposers.replay import Replay
from tests.lab.test_openai import program

REQUEST = Request(Kind.DIFF, program())


def test_answers_come_back_in_order_and_then_no_more():
    answers = [Answer("a", "openai:small", 3, 4, 0.5), Answer("b", "blocks", cut_off=True)]
    replay = Replay(iter(answers))
    assert [replay.propose(REQUEST) for _ in answers] == answers
    for _ in range(2):
        with pytest.raises(ProposerError, match="the record has no answer 3: it holds 2"):
            replay.propose(REQUEST)


def test_an_empty_record():
    with pytest.raises(ProposerError, match="the record has no answer 1: it holds 0"):
        Replay([]).propose(REQUEST)
