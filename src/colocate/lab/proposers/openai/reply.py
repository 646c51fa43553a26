"""Reads a server's reply with distrust, since it may be anything."""

from typing import Annotated

from pydantic import BaseModel, Field

from colocate.errors import ProposerError

CUT_OFF = ("length", "abort", "error")
"""Reasons for which a server ends an answer early; only the first is part of the protocol."""

MOST_TOKENS = 10**12
"""A server that counts more for one answer is broken; the archive could not hold the figure."""

_Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class _Message(BaseModel):
    content: str | None = None


class _ReplyChoice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class Usage(BaseModel):
    """The token counts of a server."""

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None


class Completion(BaseModel):
    """The fields that the lab needs of a reply, checked here because the package does not."""

    choices: list[_ReplyChoice] = Field(min_length=1)
    usage: Usage | None = None


def text_of(completion: Completion) -> tuple[str, bool]:
    """Return the text of an answer, and whether it is cut off."""
    choice = completion.choices[0]
    text, reason = choice.message.content or "", choice.finish_reason
    if reason in CUT_OFF:
        return text, True
    if reason == "content_filter":
        raise ProposerError("the server's filter stopped the answer; ask another model")
    if not text.strip():
        raise ProposerError(
            f"the answer has no text (finish_reason={reason!r:.40}); ask another model"
        )
    return text, False
