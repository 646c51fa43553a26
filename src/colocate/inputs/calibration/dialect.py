"""What a server understands: completions or chats, how long answers get, and counts of tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS = """
    about after again all always another answer around ask back because before big book both bring
    call car change city close come country day different door down each early end enough every
    face family far few find first follow food friend give good great group hand hard head help
    here high home house idea just keep kind know large last late learn leave left letter life
    light line list live long look make man many mean might money morning most mother move much
    music name near need never new next night number often old once only open order other over
    page paper part people place point put question read real rest right river road room run same
    school second set short should show side small some soon start state still stop story street
    table take talk tell thing think three time together town true turn under until very voice
    walk want water week white whole word work world year young
""".split()  # noqa: SIM905, a list would fill two pages
"""Common words, each of which is about one token."""

NOT_THERE = (404, 405, 501)
"""HTTP status codes of an endpoint that a server does not have, or of a model."""
NOT_UNDERSTOOD = (400, 422)
"""HTTP status codes of a request with something in it that a server does not take."""


@dataclass(frozen=True)
class Dialect:
    """One way to ask for an answer in pieces.

    Parameters
    ----------
    model
        As the server calls it.
    chat
        Whether it is asked for chats, since it completes no text.
    full_length
        Whether answers go on after the token that ends them, up to the length asked for.
    usage
        Whether it is asked to count tokens.
    """

    model: str
    chat: bool = False
    full_length: bool = True
    usage: bool = True

    @property
    def endpoint(self) -> str:
        """Where to ask."""
        return "chat/completions" if self.chat else "completions"

    def body(self, prompt: str, max_tokens: int) -> Mapping[str, Any]:
        """Return the request for an answer of so many tokens."""
        text = {"messages": [{"role": "user", "content": prompt}]} if self.chat else {}
        return {
            "model": self.model,
            **(text or {"prompt": prompt}),
            "max_tokens": max_tokens,
            "stream": True,
            "temperature": 1.0,
            **({"ignore_eos": True} if self.full_length else {}),
            **({"stream_options": {"include_usage": True}} if self.usage else {}),
        }

    def other(self, status: int | None) -> "Dialect | None":
        """Return the next dialect to try after a refusal, None if there is none."""
        if status in NOT_THERE and not self.chat:
            return Dialect(self.model, chat=True)
        if status in NOT_UNDERSTOOD and self.full_length:
            return Dialect(self.model, self.chat, full_length=False, usage=self.usage)
        if status in NOT_UNDERSTOOD and self.usage:
            return Dialect(self.model, self.chat, full_length=True, usage=False)
        return None


def random_prompt(words: int, random: np.random.Generator) -> str:
    """Return a text that no server has seen before, so that nothing of it is in a cache."""
    chosen: Sequence[str] = random.choice(WORDS, size=words).tolist()
    return " ".join(chosen)
