"""Faults of a server in words, and whether it makes sense to ask again."""

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from pydantic_core import from_json

from colocate.lab.proposers.openai.reply import is_page
from colocate.lab.proposers.openai.wire import HttpReply, LostCause, LostReplyError
from colocate.outputs.text.sanitise import one_line

LONGEST_QUOTE = 200
"""Letters to quote from a server: a message, but not a whole page."""
FIRST_WAIT, MOST_WAIT = 0.5, 120.0
"""Seconds before the second try, which double from try to try, and the longest wait: a server
that asks for more does so because a quota is used up, not because it is busy."""
GAVE_UP = (408, 504, 522, 524)
"""With these a gateway gave up waiting for the model, which may have worked all the same."""
AGAIN = (408, 409, 425, 429)
"""The statuses below 500 that may pass."""
NEVER = (501, 505)
"""The statuses from 500 on that stay."""

ADVICE = {
    400: "check the model's name, its context length and what it lets you set (--leave-out)",
    401: "give the API key of this server, in OPENAI_API_KEY",
    402: "add credit to the account of this key",
    403: "give an API key that may use this model",
    404: "check the model's name and the address, which often ends in /v1",
    413: "the prompt is too long for this model",
    422: "check what the model lets you set (--leave-out)",
    429: "wait, ask less often (--askers) or raise the limit of your account",
    503: "wait until the model is loaded",
}
"""Advice on each HTTP status."""
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
"""Codes with which servers say that the account is empty: waiting does not help."""

FILTERS = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
"""Codes with which servers refuse a prompt for what it says."""


@dataclass(frozen=True)
class ServerFault:
    """Why a try gave no answer.

    Parameters
    ----------
    words, advice
        What happened, and what to do about it.
    wait
        Seconds to wait before the next try; None if another one makes no sense, 0 if the server
        does not say.
    paid
        Whether the model may have worked, so that the try costs something.
    """

    words: str
    advice: str
    wait: float | None = None
    paid: bool = False

    def told(self, tries: int) -> str:
        """Return it as a sentence."""
        often = f", tried {tries} times" if tries > 1 else ""
        return f"{self.words}{often}; {self.advice}"


def lost(error: LostReplyError, seconds: float, key: str | None) -> ServerFault:
    """Return the fault of a reply that did not come whole.

    Parameters
    ----------
    error
        What happened.
    seconds
        How long was waited.
    key
        The API key, which no message shows.
    """
    words = quote(error.words, key)
    if error.cause is LostCause.SILENCE and error.sent:
        told = f"no whole reply within {seconds:.3g} s"
        return ServerFault(told, "raise --request-timeout", 0.0, paid=True)
    if error.cause is LostCause.TOO_LARGE:
        return ServerFault(
            f"the reply is too large ({words})", "look at the log of the server", paid=True
        )
    if error.cause is LostCause.BROKEN:
        told = f"the connection broke ({words})"
        return ServerFault(told, "look at the log of the server", 0.0, paid=True)
    told = f"no connection ({words})"
    return ServerFault(told, "check the address and that the server runs", 0.0)


def refused(reply: HttpReply, key: str | None) -> ServerFault:
    """Return the fault of a reply with another status than success.

    Parameters
    ----------
    reply
        The reply.
    key
        The API key, which no message shows.
    """
    if 300 <= reply.status < 400:
        to = quote(reply.headers.get("location", ""), key)
        return ServerFault(
            f"the server answered {reply.status} and sends us to {to}",
            "give that address as --base-url, if you trust it",
        )
    words = quote(message_of(reply.text), key)
    told = f"the server answered {reply.status} ({words})"
    advice = ADVICE.get(reply.status, "look at the log of the server")
    if any(code in reply.text for code in NO_CREDIT):
        return ServerFault(told, ADVICE[402])
    if any(code in reply.text for code in FILTERS):
        return ServerFault(told, "the server's filter refuses this prompt, so ask another model")
    passes = reply.status in AGAIN or (reply.status >= 500 and reply.status not in NEVER)
    if not passes:
        return ServerFault(told, advice)
    wait = _delay(reply)
    if wait > MOST_WAIT:
        return ServerFault(f"{told} and asks to wait for {wait:,.0f} s", advice)
    return ServerFault(told, advice, wait, paid=reply.status in GAVE_UP)


def message_of(body: str) -> str:
    """Return what an error says for people, or all of it if that cannot be told apart."""
    try:
        data: Any = from_json(body)
    except ValueError:
        return body
    data = data[0] if isinstance(data, list) and data else data
    for name in ("error", "message", "detail"):
        if isinstance(data, dict) and data.get(name):
            data = data[name]
    return data if isinstance(data, str) else body


def quote(text: str, key: str | None) -> str:
    """Return the beginning of a text from outside, on one line and without the key."""
    if is_page(text):
        return "an HTML page"
    if key:
        text = text.replace(key, "***")
    return one_line(text[: 4 * LONGEST_QUOTE], LONGEST_QUOTE) or "nothing"


def _delay(reply: HttpReply) -> float:
    """Return the seconds that a server asks to wait for; 0 if it does not say."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(reply.headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, parsedate_to_datetime(reply.headers["retry-after"]).timestamp() - time())
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0
