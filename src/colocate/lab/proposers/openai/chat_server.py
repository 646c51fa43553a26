"""A server that is asked: tries and retries, within limits of time and money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import sleep
from typing import Any

from colocate.errors import ProposerError
from colocate.inputs.server.address import ServerAddress
from colocate.lab.proposers.openai.faults import FIRST_WAIT, ServerFault, lost, quote, refused
from colocate.lab.proposers.openai.learned_forms import LearnedForms
from colocate.lab.proposers.openai.patience import Patience
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.prompt import Message
from colocate.lab.proposers.openai.reply import ReplyReading, is_error, is_page, read_reply
from colocate.lab.proposers.openai.token_estimate import TokenEstimate, estimate_of_letters
from colocate.lab.proposers.openai.wire import HttpReply, LostReplyError, post
from colocate.lab.spending import NOTHING, BudgetSpent, Purse, Slip, Spending

MOST_LESSONS = 8
"""Refusals in a row that a question may teach something by, after which they are faults."""


@dataclass(frozen=True)
class ChatServer:
    """A server, and what all requests to it share.

    Parameters
    ----------
    address
        Where it is.
    forms
        The forms in which its models take questions.
    estimate
        Estimates tokens that it does not count.
    patience
        How long it may go without an answer.
    request_timeout, retries
        Seconds for one try, and how many tries may follow the first.
    purse
        What may be spent.
    """

    address: ServerAddress
    forms: LearnedForms
    estimate: TokenEstimate
    patience: Patience
    request_timeout: float
    retries: int
    purse: Purse = field(default_factory=Purse)

    def ask(
        self, model: PricedModel, fields: Mapping[str, Any], conversation: Sequence[Message]
    ) -> tuple[ReplyReading | str, Spending]:
        """Return the reading of a reply, or the reason why there is none, and what it cost.

        Parameters
        ----------
        model
            The model to ask.
        fields
            All fields of the question but the conversation.
        conversation
            The messages of the question.

        Raises
        ------
        BudgetSpent
            If nothing was sent, because nothing may be spent any more.
        """
        with self.patience.waiting():
            question = _Question(self, model, fields, conversation)
            return question.ask(), question.spent


@dataclass
class _Question:
    """One question to one model, with its tries and what they cost."""

    server: ChatServer
    model: PricedModel
    fields: Mapping[str, Any]
    conversation: Sequence[Message]
    spent: Spending = NOTHING

    def ask(self) -> ReplyReading | str:
        """Return the reading of a reply, or the reason why there is none."""
        tries = lessons = 0
        while True:
            seconds = min(self.server.request_timeout, self.server.patience.left)
            if seconds <= 0:
                total = f"{self.server.patience.seconds:g} s"
                return (
                    f"no answer to any request within {total}; raise --total-timeout or go on later"
                )
            try:
                outcome = self._try(seconds, learning=lessons < MOST_LESSONS)
            except BudgetSpent:
                if not self.spent:
                    raise
                return "the budget is spent, so the question was not sent again"
            if isinstance(outcome, ReplyReading):
                return outcome
            if outcome is None:
                lessons += 1
                continue
            tries += 1
            pause = self._pause(outcome, tries)
            if pause is None:
                return outcome.told(tries)
            sleep(pause)

    def _pause(self, fault: ServerFault, tries: int) -> float | None:
        """Return the seconds to wait before the next try; None if there is none."""
        if fault.wait is None or tries > self.server.retries:
            return None
        pause = fault.wait or FIRST_WAIT * 2 ** (tries - 1)
        return pause if pause < self.server.patience.left else None

    def _try(self, seconds: float, learning: bool) -> ReplyReading | ServerFault | None:
        """Send the question once; return None if the server's refusal taught something."""
        form = self.server.forms.form_of(self.model.name)
        sent = form.body(self.fields, self.conversation)
        estimate = self.server.estimate.of_question(self.model, sent)
        with self.server.purse.reserved(estimate) as slip:
            try:
                reply = post(self.server.address, sent, seconds)
            except LostReplyError as error:
                fault = lost(error, seconds, self.server.address.api_key)
            else:
                if reply.status == 200:
                    return self._read(reply, estimate, slip)
                if learning and self.server.forms.learn(self.model.name, form, sent, reply):
                    return None
                fault = refused(reply, self.server.address.api_key)
            self._pay(slip, estimate if fault.paid else NOTHING)
            return fault

    def _read(self, reply: HttpReply, estimate: Spending, slip: Slip) -> ReplyReading | ServerFault:
        """Read a reply of success, and pay for it unless no model wrote it."""
        try:
            reading = read_reply(reply.text, reply.headers.get("content-type", ""))
        except ProposerError as error:
            if reply.text.strip() and not is_page(reply.text) and not is_error(reply.text):
                letters = len(reply.text)
                self._pay(slip, estimate_of_letters(self.model, estimate, letters))
            found = quote(reply.text, self.server.address.api_key)
            return ServerFault(f"{error} but {found}", "check the address, which often ends in /v1")
        self.server.patience.heard()
        self._pay(slip, self.server.estimate.of_reply(self.model, estimate, reading))
        return reading

    def _pay(self, slip: Slip, spending: Spending) -> None:
        slip.pay(spending)
        self.spent += spending
