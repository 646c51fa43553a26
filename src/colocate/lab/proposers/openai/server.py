"""Proposals by a language model behind any server that speaks OpenAI's chat protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from pydantic import ValidationError

from colocate.errors import InputError, ProposerError
from colocate.lab.messages import Answer, Request
from colocate.lab.proposers.openai.bandit import Bandit, Reward
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.prompt import messages
from colocate.lab.proposers.openai.reply import Completion, Usage, text_of
from colocate.outputs.text.sanitise import one_line

if TYPE_CHECKING:
    from openai import OpenAI, OpenAIError

NO_KEY = "no-key-needed"
"""The package requires a key even if the server does not."""

LONGEST_QUOTE = 200
"""Letters to quote from a server: a message, but not a whole page."""
MOST_SECONDS_TO_CONNECT = 10.0
"""A running server accepts a connection within this; answers have their own, longer limit."""
SEEDS = 2**31
"""Some servers take no larger seed."""

ADVICE = {
    400: "check the model's name, its context length and what it lets you set",
    401: "give the API key of this server, in OPENAI_API_KEY",
    403: "give an API key that may use this model",
    404: "check the model's name and the address, which often ends in /v1",
    429: "wait, ask less often or raise the limit of your account",
}
"""Advice on each HTTP status."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenAiProposer:
    """Asks a server; of several models, the one that improves most for its cost.

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
    timeout
        Seconds without a sign of life after which the proposer gives up a try.
    retries
        How often to send a question again after silence, a broken connection, a fault of the
        server, or too many requests (then after the server's delay, up to two minutes). An unusable
        reply is not requested again, since it may have cost money.

    Raises
    ------
    InputError
        If a setting makes no sense.
    ProposerError
        If the package `openai` is not installed.
    """

    base_url: str
    models: tuple[PricedModel, ...]
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.7
    max_tokens: int | None = 8192
    timeout: float = 300.0
    retries: int = 2
    _rewards: list[Reward] = field(init=False, repr=False, default_factory=list)
    _failures: list[Reward] = field(init=False, repr=False, default_factory=list)
    _client: "OpenAI" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "_client", self._connected())

    def propose(self, request: Request) -> Answer:
        """Ask one of the models for a change.

        Raises
        ------
        ProposerError
            If the server gives no answer, or an answer without text.
        """
        seed = request.seed % SEEDS
        who = self._bandit().choose(np.random.default_rng(seed))
        begin = perf_counter()
        try:
            completion = self._read(self._reply(self._models[who], request, seed))
            text, cut_off = text_of(completion)
        except ProposerError as error:
            # Otherwise a model that never answers would count as never asked, and be asked again.
            self._failures.append((who, 0.0, 0.0))
            raise ProposerError(f"{who} at {self._address}: {error}") from None
        usage = completion.usage or Usage()
        tokens_in, tokens_out = usage.prompt_tokens or 0, usage.completion_tokens or 0
        cost = self._models[who].cost(tokens_in, tokens_out)
        seconds = perf_counter() - begin
        return Answer(text, who, tokens_in, tokens_out, cost, seconds, cut_off)

    def learn(self, rewards: Sequence[Reward]) -> None:
        """Learn again from scratch, from the results of all answers.

        Parameters
        ----------
        rewards
            The author, the child's improvement on its parent, and the cost of every answer. The
            answers of other proposers change nothing.
        """
        self._rewards[:] = rewards

    def _bandit(self) -> Bandit:
        return Bandit.replayed(
            [_who(model) for model in self.models], [*self._rewards, *self._failures]
        )

    @cached_property
    def _models(self) -> dict[str, PricedModel]:
        return {_who(model): model for model in self.models}

    @property
    def _address(self) -> str:
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"

    def _check(self) -> None:
        if not _is_address(self.base_url):
            expected = "an address like http://127.0.0.1:8000/v1"
            raise InputError.of("base_url", self.base_url, expected)
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InputError("the API key has letters that no key has, such as an end of line")
        if self.temperature is not None and not 0 <= self.temperature < inf:
            raise InputError.of("temperature", self.temperature, "a finite number >= 0")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InputError.of("max_tokens", self.max_tokens, "at least 1")
        if not 0 < self.timeout < inf:
            raise InputError.of("timeout", self.timeout, "a finite number of seconds > 0")
        if self.retries < 0:
            raise InputError.of("retries", self.retries, "at least 0")
        self._bandit()  # it refuses an empty list and repeated names

    def _connected(self) -> "OpenAI":
        try:
            from openai import OpenAI, Timeout  # noqa: PLC0415, an extra
        except ImportError:
            raise ProposerError(
                "the package openai is not installed; install it with pip install 'colocate[llm]'"
            ) from None
        return OpenAI(
            base_url=self.base_url,
            api_key=self.api_key or NO_KEY,
            timeout=Timeout(self.timeout, connect=min(self.timeout, MOST_SECONDS_TO_CONNECT)),
            max_retries=self.retries,
        )

    def _reply(self, model: PricedModel, request: Request, seed: int) -> str:
        """Return the body of the server's reply, which may be anything."""
        from openai import OpenAIError  # noqa: PLC0415, an extra

        limits = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        options: dict[str, Any] = {
            "model": model.name,
            "messages": messages(request),
            "seed": seed,
            **{name: limit for name, limit in limits.items() if limit is not None},
        }
        try:
            return self._client.chat.completions.with_raw_response.create(**options).text
        except OpenAIError as error:
            raise ProposerError(self._fault(error)) from None

    def _fault(self, error: "OpenAIError") -> str:
        """Return one sentence on what went wrong and what to do."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError  # noqa: PLC0415

        tries = f"tried {self.retries + 1} times" if self.retries else "tried once"
        if isinstance(error, APITimeoutError):
            return f"no sign of life within {self.timeout:g} s, {tries}; raise the timeout"
        if isinstance(error, APIConnectionError):
            cause = self._quote(str(error.__cause__ or error))
            return f"no connection ({cause}), {tries}; check the address and that the server runs"
        if isinstance(error, APIStatusError):
            status, body = error.status_code, error.body
            words = body.get("message") if isinstance(body, Mapping) else body
            advice = ADVICE.get(status, "look at the log of the server")
            return f"the server answered {status} ({self._quote(str(words or ''))}); {advice}"
        return self._quote(str(error))

    def _read(self, reply: str) -> Completion:
        try:
            return Completion.model_validate_json(reply)
        except ValidationError as error:
            first = error.errors()[0]
            wrong = ": ".join([*map(str, first["loc"]), first["msg"]])
            raise ProposerError(
                f"the reply is no chat completion ({wrong}) but {self._quote(reply)}; "
                "check the address, which often ends in /v1"
            ) from None

    def _quote(self, text: str) -> str:
        """Return the beginning of a text from outside, on one line and without the key."""
        if text.lstrip().startswith("<"):
            return "an HTML page"
        if self.api_key:
            text = text.replace(self.api_key, "***")
        return one_line(text[: 4 * LONGEST_QUOTE], LONGEST_QUOTE) or "nothing"


def _is_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _who(model: PricedModel) -> str:
    return f"openai:{model.name}"
