"""Tokens and cost of questions and answers, where the server does not count them."""

from collections.abc import Mapping
from math import ceil
from threading import Lock
from typing import Any

from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.reply import ReplyReading
from colocate.lab.spending import Spending

LETTERS_OF_A_TOKEN = 3
"""Code has three to four letters a token, prose about four: an estimate is rather too high."""
UNKNOWN_ANSWER = 8192
"""Tokens of an answer of which nothing is known, not even a limit."""


class TokenEstimate:
    """Estimates from letters, and from the answers of each model so far.

    Parameters
    ----------
    max_tokens
        The longest answer; None if there is no limit.
    """

    def __init__(self, max_tokens: int | None) -> None:
        self._longest = max_tokens or UNKNOWN_ANSWER
        self._lock = Lock()
        self._answers: dict[str, tuple[int, int]] = {}

    def of_question(self, model: PricedModel, sent: Mapping[str, Any]) -> Spending:
        """Estimate what a question and its answer cost, before the answer is known.

        The answer is as long as those before it on average, or as long as it may be if it is the
        first one.
        """
        letters = sum(len(message["content"]) for message in sent["messages"])
        count, total = self._answers.get(model.name, (0, 0))
        tokens_out = ceil(total / count) if count else self._longest
        return _priced(model, _tokens(letters), tokens_out)

    def of_reply(self, model: PricedModel, estimate: Spending, reading: ReplyReading) -> Spending:
        """Return what a reply cost, by the server's own counts as far as there are any.

        Parameters
        ----------
        model
            The model that was asked.
        estimate
            The estimate from before.
        reading
            The reply.
        """
        usage = reading.usage
        counted = usage.tokens_in is not None and usage.tokens_out is not None
        tokens_in = estimate.tokens_in if usage.tokens_in is None else usage.tokens_in
        tokens_out = _tokens(reading.letters) if usage.tokens_out is None else usage.tokens_out
        with self._lock:
            count, total = self._answers.get(model.name, (0, 0))
            self._answers[model.name] = (count + 1, total + tokens_out)
        spending = _priced(model, tokens_in, tokens_out, estimated=not counted)
        if usage.cost is not None and not model.is_priced:
            return Spending(tokens_in, tokens_out, usage.cost, not counted)
        return spending


def estimate_of_letters(model: PricedModel, question: Spending, letters: int) -> Spending:
    """Estimate what a reply cost that nothing is known of but its length.

    Parameters
    ----------
    model
        The model that was asked.
    question
        The estimate of the question.
    letters
        What came.
    """
    return _priced(model, question.tokens_in, _tokens(letters))


def _priced(
    model: PricedModel, tokens_in: int, tokens_out: int, estimated: bool = True
) -> Spending:
    return Spending(tokens_in, tokens_out, model.cost(tokens_in, tokens_out), estimated)


def _tokens(letters: int) -> int:
    return ceil(letters / LETTERS_OF_A_TOKEN)
