"""Reads a server's reply with distrust, since it may be anything."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from colocate.errors import ProposerError
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.proposers.openai.thinking import without_thinking
from colocate.outputs.text.sanitise import one_line

CUT_OFF = ("length", "max_tokens", "abort", "error")
"""Reasons for which a server ends an answer early; only the first is part of the protocol."""
FILTERED = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist")
"""Reasons of filters; only the first is part of the protocol."""
MOST_TOKENS = 10**12
"""A server that counts more for one answer is broken; the archive could not hold the figure."""
MOST_MONEY = 1e9
"""Nor does any answer cost more."""
LONGEST_QUOTE = 200
"""Letters to quote from a model that refuses: some sentences."""
FOR_THOUGHT = ("reasoning_content", "reasoning", "thinking")
"""Fields in which servers put what a model thinks aloud."""


def _plausible(value: Any) -> int | None:
    """Return a count of tokens, or None for what cannot be one: then it is estimated."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _money(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value <= MOST_MONEY else None


_Tokens = Annotated[int | None, BeforeValidator(_plausible)]
_Money = Annotated[float | None, BeforeValidator(_money)]


class _Message(BaseModel, extra="allow"):
    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None


class _ReplyChoice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class Usage(BaseModel):
    """The token counts of a server, where they can be believed."""

    prompt_tokens: _Tokens = None
    completion_tokens: _Tokens = None
    input_tokens: _Tokens = None
    output_tokens: _Tokens = None
    total_tokens: _Tokens = None
    cost: _Money = None

    @property
    def tokens_in(self) -> int | None:
        """Tokens of the question."""
        return self.input_tokens if self.prompt_tokens is None else self.prompt_tokens

    @property
    def tokens_out(self) -> int | None:
        """Tokens of the answer with its thinking, which some servers have in the total alone."""
        told = self.output_tokens if self.completion_tokens is None else self.completion_tokens
        if self.total_tokens is None or self.tokens_in is None:
            return told
        return max(told or 0, self.total_tokens - self.tokens_in)


def _usage(value: object) -> object:
    return value if isinstance(value, dict) else {}


class Completion(BaseModel):
    """The fields that the lab needs of a reply."""

    choices: list[_ReplyChoice] = Field(min_length=1)
    usage: Annotated[Usage, BeforeValidator(_usage)] = Usage()


@dataclass(frozen=True)
class ReplyReading:
    """What a reply says.

    Parameters
    ----------
    text
        The answer without its thinking.
    cut_off
        Whether the server ended it early.
    refusal
        Why it cannot be used, if that is known already.
    usage
        The counts of the server.
    letters
        How much the model wrote, its thinking included.
    """

    text: str
    cut_off: bool
    refusal: Refusal | None
    usage: Usage
    letters: int


def read_reply(body: str, kind: str = "") -> ReplyReading:
    """Read the body of a reply.

    Parameters
    ----------
    body
        What the server sent.
    kind
        The content type that it stated.

    Raises
    ------
    ProposerError
        If it is no chat completion; the message says what it is instead.
    """
    try:
        completion = Completion.model_validate_json(body)
    except ValidationError as error:
        if "event-stream" in kind:
            raise ProposerError("the server streams, although it was not asked to") from None
        first = error.errors()[0]
        wrong = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise ProposerError(f"the reply is no chat completion ({wrong})") from None
    choice = completion.choices[0]
    said = _text(choice.message.content)
    text = without_thinking(said)
    thought = "".join(_thoughts(choice.message))
    reason = (choice.finish_reason or "").lower()
    cut_off = reason in CUT_OFF
    thinks = bool(thought.strip() or said.strip())
    refusal = None if reason not in FILTERED and text.strip() else _why(choice, reason, thinks)
    return ReplyReading(
        text if refusal is None else "",
        cut_off,
        refusal,
        completion.usage,
        len(said) + len(thought),
    )


def _text(content: object) -> str:
    """Return the text of a content: a string, or a list of parts, of which some are text."""
    if isinstance(content, str):
        return content
    return "".join(_parts(content)) if isinstance(content, list) else ""


def _parts(content: list[Any]) -> Iterator[str]:
    for part in content:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
            text = part.get("text")
            yield text if isinstance(text, str) else ""


def _thoughts(message: _Message) -> Iterator[str]:
    for name in FOR_THOUGHT:
        thought = (message.model_extra or {}).get(name)
        if isinstance(thought, str):
            yield thought
            return  # servers send the same thoughts under several names


def _why(choice: _ReplyChoice, reason: str, thinks: bool) -> Refusal:
    """Say why there is no text."""
    message = choice.message
    if reason in FILTERED:
        fault = f"the server's filter stopped the answer (finish_reason={reason!r})"
        return Refusal(RefusalCode.FILTERED, fault, "ask another model")
    if message.refusal:
        words = one_line(_text(message.refusal), LONGEST_QUOTE)
        return Refusal(RefusalCode.MODEL_REFUSED, f"the model refused to answer ({words})")
    if message.tool_calls or message.function_call:
        name = _tool(message.tool_calls or message.function_call)
        fault = f"the model called the tool {name} instead of answering"
        return Refusal(RefusalCode.TOOL_CALL, fault, "answer in text; there are no tools")
    if reason in CUT_OFF:
        what = "while it was thinking" if thinks else "before its first word"
        fault = f"the answer was cut off {what} (finish_reason={reason!r})"
        return Refusal(RefusalCode.ANSWER_CUT_OFF, fault, "think less, or raise --max-tokens")
    what = "only thinking and no text" if thinks else "no text"
    fault = f"the answer has {what} (finish_reason={choice.finish_reason!r:.40})"
    return Refusal(RefusalCode.NO_TEXT, fault, "answer in the form that the question states")


def _tool(calls: object) -> str:
    call = calls[0] if isinstance(calls, list) and calls else calls
    call = call.get("function", call) if isinstance(call, dict) else {}
    name = call.get("name") if isinstance(call, dict) else None
    return repr(one_line(name, 40)) if isinstance(name, str) else "of no name"


def is_page(text: str) -> bool:
    """Whether a text is a web page, which no model wrote."""
    return text.lstrip().startswith("<")


def is_error(body: str) -> bool:
    """Whether a reply states an error in place of an answer, with a status of success."""
    try:
        data = from_json(body)
    except ValueError:
        return False
    return isinstance(data, dict) and bool(data.get("error")) and not data.get("choices")
