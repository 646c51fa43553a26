"""A proposer and a request for tests with a server on loopback."""

from time import perf_counter

import pytest

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.lab.messages import Kind, Request, UnusableAnswer
from colocate.lab.program import Program
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.server import OpenAiProposer
from tests.lab.answers import HEAD, ONE, PARENT, diff
from tests.lab.protocol_server import KEY

GOOD = HEAD + diff(ONE)
SMALL = PricedModel("small", price_in=2.0, price_out=10.0)
_TALLY = Tally((CaseVerdict("case-0", 0.05, 0.04, bound=0.04),))
_VERDICT = Verdict("adrs", _TALLY, _TALLY, walls=("process",))
REQUEST = Request(Kind.DIFF, Program(0, "deal_out", "Deals.", PARENT, _VERDICT), seed=7)


def proposer(server, **settings):
    given = {"models": (SMALL,), "api_key": KEY, "request_timeout": 5.0, "retries": 0} | settings
    return OpenAiProposer(base_url=getattr(server, "url", server), **given)


def unusable(server, seconds=5.0, **settings):
    """Return the refusal and the answer with its cost, which must come within this time."""
    begin = perf_counter()
    with pytest.raises(UnusableAnswer) as caught:
        proposer(server, **settings).propose(REQUEST)
    assert perf_counter() - begin < seconds
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value.refusal, caught.value.answer
