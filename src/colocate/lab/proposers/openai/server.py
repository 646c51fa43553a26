"""Proposals by a language model behind any server that speaks OpenAI's chat protocol."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from colocate.errors import InputError
from colocate.inputs.server.address import ServerAddress
from colocate.lab.messages import NOBODY, Answer, Request, UnusableAnswer
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.proposers.openai.bandit import Bandit, Reward
from colocate.lab.proposers.openai.chat_server import ChatServer
from colocate.lab.proposers.openai.learned_forms import LearnedForms
from colocate.lab.proposers.openai.patience import Patience
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.prompt import messages
from colocate.lab.proposers.openai.request_form import NEEDED, RequestForm
from colocate.lab.proposers.openai.token_estimate import TokenEstimate
from colocate.lab.spending import Spending

SEEDS = 2**31
"""Some servers take no larger seed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenAiProposer:
    """Asks a server; of several models, the one that improves most for its cost.

    Everything is counted that may have been paid for: replies without a text, replies that came
    too late, and retries. Where the server does not count tokens, they are estimated. If it
    refuses a field, the proposer learns to leave it out or rename it, for each model once.

    Parameters
    ----------
    base_url
        The address of the server, such as `http://127.0.0.1:8000/v1`.
    models
        The models to ask.
    api_key
        The key for the server; a local one needs none.
    temperature
        How freely the model chooses its words; None leaves it to the server.
    max_tokens
        The longest answer; None leaves it to the server.
    send, left_out, renamed
        Further fields of every question, those to leave out, and other names for some.
    request_timeout
        Seconds from sending a question to the last byte of its reply.
    total_timeout
        Seconds without any answer, over all requests and retries, after which every request fails.
    retries
        How often to send a question again after silence, a broken connection, a fault of the
        server, or too many requests (then after the server's delay, up to two minutes). An unusable
        reply is not requested again, since it may have cost money.
    tell
        Is told once what the proposer learned about each model.

    Raises
    ------
    InputError
        If a setting makes no sense.
    """

    base_url: str
    models: tuple[PricedModel, ...]
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.7
    max_tokens: int | None = 8192
    send: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    request_timeout: float = 600.0
    total_timeout: float = 900.0
    retries: int = 2
    tell: Callable[[str], None] = field(default=lambda sentence: None, repr=False)
    _rewards: list[Reward] = field(init=False, repr=False, default_factory=list)
    _failures: list[Reward] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature < inf:
            raise InputError.of("temperature", self.temperature, "a finite number >= 0")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InputError.of("max_tokens", self.max_tokens, "at least 1")
        for name in ("request_timeout", "total_timeout"):
            if not 0 < getattr(self, name) < inf:
                raise InputError.of(name, getattr(self, name), "a finite number of seconds > 0")
        if self.retries < 0:
            raise InputError.of("retries", self.retries, "at least 0")
        for name in (*self.left_out, *self.renamed, *self.renamed.values(), *self.send):
            if name in NEEDED or not name:
                raise InputError.of("field", name, "the name of a field other than these two")
        _ = self._server  # it refuses what is no address
        self._bandit()  # it refuses an empty list and repeated names

    def propose(self, request: Request) -> Answer:
        """Ask one of the models for a change.

        Raises
        ------
        UnusableAnswer
            If the server gives no answer, or an answer without text; it says what that cost.
        BudgetSpent
            If nothing may be sent any more.
        """
        seed = request.seed % SEEDS
        who = self._bandit().choose(np.random.default_rng(seed))
        model = self._models[who]
        fields = {
            "model": model.name,
            "seed": seed,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            **self.send,
        }
        begin = perf_counter()
        outcome, spent = self._server.ask(model, fields, messages(request))
        cost = (spent.tokens_in, spent.tokens_out, spent.cost, perf_counter() - begin)
        if isinstance(outcome, str):
            # Otherwise a model that never answers would count as never asked, and be asked again.
            self._failures.append((who, 0.0, spent.cost))
            fault = f"{who} at {self._server.address}: {outcome}"
            nothing = Answer("", NOBODY, *cost, estimated=spent.estimated)
            raise UnusableAnswer(Refusal(RefusalCode.NO_ANSWER, fault), nothing)
        answer = Answer(outcome.text, who, *cost, outcome.cut_off, spent.estimated)
        if outcome.refusal:
            raise UnusableAnswer(outcome.refusal, answer)
        return answer

    def learn(self, rewards: Sequence[Reward]) -> None:
        """Learn again from scratch, from the results of all answers.

        Parameters
        ----------
        rewards
            The author, the child's improvement on its parent, and the cost of every answer. The
            answers of other proposers change nothing.
        """
        self._rewards[:] = rewards

    def allow(self, tokens: float | None, cost: float | None) -> None:
        """Spend at most so many tokens and so much money from now on; None means no limit."""
        self._server.purse.allow(tokens, cost)

    @property
    def in_flight(self) -> Spending:
        """The estimated cost of the requests without a reply so far."""
        return self._server.purse.in_flight

    def _bandit(self) -> Bandit:
        return Bandit.replayed(
            [_who(model) for model in self.models], [*self._rewards, *self._failures]
        )

    @cached_property
    def _models(self) -> dict[str, PricedModel]:
        return {_who(model): model for model in self.models}

    @cached_property
    def _server(self) -> ChatServer:
        first = RequestForm(frozenset(self.left_out), dict(self.renamed))
        return ChatServer(
            ServerAddress(self.base_url, self.api_key),
            LearnedForms(first, self.tell),
            TokenEstimate(self.max_tokens),
            Patience(self.total_timeout),
            self.request_timeout,
            self.retries,
        )


def _who(model: PricedModel) -> str:
    return f"openai:{model.name}"
