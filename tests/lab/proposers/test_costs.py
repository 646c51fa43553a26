"""Every reply is paid for, and nothing is sent once the budget is spent."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Thread
from time import sleep

import pytest

from colocate.lab.archive import Archive
from colocate.lab.messages import NOBODY, UnusableAnswer
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.prompt import messages
from colocate.lab.proposers.replay import Replay
from colocate.lab.settings import Budget, Settings
from colocate.lab.spending import BudgetSpent, Purse, Spending
from tests.lab.proposers.asked import GOOD, REQUEST, SMALL, proposer, unusable
from tests.lab.protocol_server import Reply, completion, fault, serving
from tests.lab.toy import ToyProposer, lab, make, source

LETTERS = sum(len(message["content"]) for message in messages(REQUEST))
ASKED = -(-LETTERS // 3)


def answer_to(reply, **settings):
    with serving(reply) as server:
        return proposer(server, **settings).propose(REQUEST)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -1, "completion_tokens": 10**20},
        {"prompt_tokens": "many", "completion_tokens": 1.5},
        "some",
    ],
)
def test_tokens_that_the_server_does_not_count_are_estimated(usage):
    answer = answer_to(completion(GOOD, usage=usage))
    assert answer.estimated
    assert (answer.tokens_in, answer.tokens_out) == (ASKED, -(-len(GOOD) // 3))
    assert answer.cost == pytest.approx(SMALL.cost(answer.tokens_in, answer.tokens_out))


def test_thinking_is_paid_for_although_it_is_cut_out():
    thought = "Hm. " * 300
    answer = answer_to(completion(f"<think>{thought}</think>{GOOD}", usage=None))
    beside = answer_to(completion(GOOD, usage=None, reasoning=thought))
    assert answer.tokens_out > 400
    assert beside.tokens_out > 400


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, (20, 603)),
        ({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81}, (21, 60)),
        ({"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}, (30, 12)),
        ({"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 0}, (30, 12)),
        ({"input_tokens": 30, "output_tokens": 12}, (30, 12)),
    ],
)
def test_the_counts_of_different_servers(usage, tokens):
    answer = answer_to(completion(GOOD, usage=usage))
    assert (answer.tokens_in, answer.tokens_out) == tokens
    assert not answer.estimated


def test_without_prices_the_word_of_the_server_on_the_cost_counts():
    usage = {"prompt_tokens": 30, "completion_tokens": 12, "cost": 0.00125}
    free = (PricedModel("small"),)
    assert answer_to(completion(GOOD, usage=usage), models=free).cost == 0.00125
    assert answer_to(completion(GOOD, usage=usage)).cost == SMALL.cost(30, 12)
    assert answer_to(completion(GOOD, usage={**usage, "cost": -1}), models=free).cost == 0


LATE = replace(completion(GOOD), seconds=30)


def test_a_reply_that_comes_too_late_is_paid_for_and_so_is_the_retry():
    with serving(LATE, completion(GOOD)) as server:
        answer = proposer(server, request_timeout=0.4, retries=1, max_tokens=300).propose(REQUEST)
    assert answer.estimated
    assert (answer.tokens_in, answer.tokens_out) == (ASKED + 1000, 300 + 200)
    with serving(LATE) as server:
        _, none = unusable(server, request_timeout=0.4, retries=1, max_tokens=300)
    assert (none.tokens_in, none.tokens_out, none.who) == (2 * ASKED, 600, NOBODY)


@pytest.mark.parametrize("status", [408, 504, 524])
def test_a_gateway_that_gave_up_waiting_is_paid_for(status):
    with serving(fault(status, "timed out")) as server:
        _, answer = unusable(server)
    assert answer.estimated
    assert answer.cost > 0


def test_later_estimates_are_the_mean_of_the_answers():
    with serving(completion(GOOD), completion(GOOD, usage=(1000, 401)), LATE) as server:
        asked = proposer(server, request_timeout=0.4)
        asked.propose(REQUEST)
        asked.propose(REQUEST)
        with pytest.raises(UnusableAnswer) as caught:
            asked.propose(REQUEST)
    assert caught.value.answer.tokens_out == 301


def test_nothing_is_sent_once_the_budget_is_spent():
    with serving(completion(GOOD)) as server:
        asked = proposer(server)
        asked.allow(tokens=2400, cost=None)
        asked.propose(REQUEST)
        asked.propose(REQUEST)
        with pytest.raises(BudgetSpent):
            asked.propose(REQUEST)
        asked.allow(tokens=None, cost=0.001)
        asked.propose(REQUEST)
        with pytest.raises(BudgetSpent):
            asked.propose(REQUEST)
    assert len(server.seen) == 3


def test_a_retry_is_not_sent_either_and_what_the_first_try_cost_is_kept():
    with serving(LATE) as server:
        asked = proposer(server, request_timeout=0.4, retries=3)
        asked.allow(tokens=100, cost=None)
        with pytest.raises(UnusableAnswer, match="the budget is spent, so the") as caught:
            asked.propose(REQUEST)
    assert len(server.seen) == 1
    assert caught.value.answer.tokens_out == 8192


def test_what_is_in_flight_is_reserved_and_waited_for():
    slow = replace(completion(GOOD), seconds=0.5)
    with serving(slow) as server:
        asked = proposer(server, max_tokens=1000)
        asked.allow(tokens=1.5 * (ASKED + 1000), cost=None)
        with ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(asked.propose, REQUEST)
            sleep(0.25)
            assert len(server.seen) == 2  # two estimates are beyond the limit
            assert asked.in_flight.tokens == 2 * (ASKED + 1000)
    assert asked.in_flight == Spending()
    assert 2 <= len(server.seen) <= 3


def test_an_asker_that_waits_for_the_purse_is_woken():
    purse, done = Purse(), Event()
    purse.allow(tokens=10, cost=None)

    def second():
        with pytest.raises(BudgetSpent), purse.reserved(Spending(5)):
            pass
        done.set()

    with purse.reserved(Spending(20)) as slip:
        Thread(target=second, daemon=True).start()
        assert not done.wait(0.1)
        slip.pay(Spending(15))
    assert done.wait(5)


SETTINGS = Settings(seed=1, proposals=4, attempts=2, review=50)


class Metered(ToyProposer):
    """Costs 30 tokens and 0.02 an answer; nothing is sent beyond the limit."""

    def __init__(self):
        super().__init__()
        self.purse = Purse()
        self.in_flight = Spending()

    def allow(self, tokens, cost):
        self.purse.allow(tokens, cost)

    def propose(self, request):
        with self.purse.reserved(Spending(10, 20, 0.02)) as slip:
            answer = super().propose(request)
            slip.pay(answer.spending)
            return answer


def quiet(generation, best):
    pass


def cost_of(archive):
    return sum((each.answer.spending for each in archive.attempts()), archive.unanswered())


@pytest.mark.parametrize("budget", [Budget(6, tokens=150), Budget(6, cost=0.12)])
@pytest.mark.parametrize("askers", [1, 3])
@pytest.mark.parametrize("ahead", [0, 1])
def test_a_budget_ends_within_a_generation_and_the_next_run_completes_it(
    tmp_path, budget, askers, ahead
):
    settings = replace(SETTINGS, ahead=ahead)
    archive = make(tmp_path / "lab.db", settings)
    search = lab(archive, settings, Metered(), askers=askers)
    reason = search.run(budget, quiet)
    assert "is spent, within generation" in reason
    spent = cost_of(archive)
    assert 150 <= spent.tokens < 180 + 30 * askers if budget.tokens else 0.12 <= spent.cost < 0.15
    before = archive.attempts()
    again = lab(archive, settings, Metered(), askers=askers)
    assert again.run(budget, quiet) == reason
    assert archive.attempts() == before
    lab(archive, settings, Metered(), askers=askers).run(Budget(6), quiet)
    whole = make(tmp_path / "whole.db", settings)
    lab(whole, settings, Metered()).run(Budget(6), quiet)
    assert (archive.programs(), archive.attempts()) == (whole.programs(), whole.attempts())
    assert archive.unanswered() == Spending()


PARENT = source(0.5)
CHILD = f"<NAME>\nbetter\n</NAME>\n<CODE>\n{source(0.75)}</CODE>\n"


def run_lab(archive, server, budget, **settings):
    asked = proposer(server, **settings)
    return lab(archive, SETTINGS, asked, askers=1).run(budget, quiet)


def test_a_real_server_and_a_lab_agree_on_what_was_spent(tmp_path):
    script = [
        completion(None, usage=(500, 7)),
        completion(CHILD),
        completion("no change here"),
        fault(503, "busy"),
        Reply('{"choices": [{"mess'),
        completion(CHILD, usage=None),
    ]
    with serving(*script) as server, make(tmp_path / "lab.db", SETTINGS) as archive:
        reason = run_lab(archive, server, Budget(3, tokens=9_000))
        assert reason.startswith("the budget of 9,000 tokens is spent")
        spent = cost_of(archive)
        assert spent.tokens >= 9_000
        assert spent.estimated
        first = archive.attempts()[0]
    assert (first.answer.tokens_in, first.answer.tokens_out) == (500, 7)
    assert str(first.refusal).startswith("the answer has no text")
    assert (first.answer.came, first.answer.who) == (False, "openai:small")


def test_a_server_that_never_says_anything_ends_the_run_and_its_cost_is_kept(tmp_path):
    with serving(completion(None)) as server, make(tmp_path / "lab.db", SETTINGS) as archive:
        for runs in (1, 2):
            with pytest.raises(Exception, match="the answer has no text"):
                run_lab(archive, server, Budget(3))
            assert archive.attempts() == []
            assert archive.unanswered().tokens == runs * 4 * 2 * 1200
        reason = run_lab(archive, server, Budget(3, tokens=1000))
        assert reason == "the budget of 1,000 tokens is spent"
    assert len(server.seen) == 16
    with serving(completion(CHILD)) as server, Archive.open(tmp_path / "lab.db", True) as archive:
        assert run_lab(archive, server, Budget(1)) == "the budget of 1 generations is spent"
        assert len(archive.programs()) == 2


def test_an_answer_without_a_text_is_replayed_with_its_cost(tmp_path):
    with serving(completion(None), completion(CHILD)) as server:
        old = make(tmp_path / "old.db", SETTINGS)
        run_lab(old, server, Budget(1))
    new = make(tmp_path / "new.db", SETTINGS)
    lab(new, SETTINGS, Replay(old.attempts())).run(Budget(1), quiet)
    assert new.attempts() == old.attempts()
    assert any(not each.answer.came and each.answer.cost for each in new.attempts())
