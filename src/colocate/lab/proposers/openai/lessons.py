"""Learns from the error of a server which fields of a question it does not take.

The messages are those of OpenAI and Azure (`Unsupported parameter: 'max_tokens' is not supported
with this model. Use 'max_completion_tokens' instead.`), of vLLM, SGLang and Mistral (`loc: body,
seed`, `Extra inputs are not permitted`), of Anthropic (``` `temperature` is deprecated for this
model ```), of Gemini (`Unknown name "seed": Cannot find field.`), of llama.cpp (`n_ctx`,
`n_prompt_tokens`), and of gateways that quote them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from colocate.lab.proposers.openai.request_form import LIMITS, NEEDED, RequestForm

STATUSES = (400, 416, 422)
"""With these a server refuses a question for its fields."""
LONGEST_ERROR = 20_000
"""Letters of an error that are looked at: some servers repeat the whole question in it."""
NUMBER = r"\b(\d{1,12})\b"
"""A number of tokens; Python refuses to read one of thousands of digits."""
LEAST_TOKENS = 256
"""An answer shorter than this holds no change, so that a prompt is too long that leaves less."""

_COMPLAINT = re.compile(
    r"unsupported|not (?:be )?support|n't support|unrecogni[sz]ed|not recogni[sz]ed|unknown|"
    r"unexpected|not permitted|not allowed|forbidden|deprecated|cannot both|invalid|must be|"
    r"only the default|no longer|not available|not compatible|does not accept|cannot find field|"
    r"too large|too high|exceed|maximum|not one of",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"""["']?(?:param|parameter|field)["']?\s*[:=]\s*["'`]([\w.]+)["'`]|"""
    r"""["']body["']\s*,\s*["'](\w+)["']""",
    re.IGNORECASE,
)
"""Where a server says in a field of its own which field it means."""
_INSTEAD = re.compile(r"use\s+[\"'`]?(\w+)[\"'`]?\s+instead", re.IGNORECASE)
_CONTEXT = re.compile(
    rf"(?:maximum context length (?:is|of)|context window of|\"n_ctx\"\s*:)\s*{NUMBER}",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    rf"(at least )?{NUMBER} (?:input tokens|in the messages|in your prompt|tokens in the messages)|"
    rf"\"n_prompt_tokens\"\s*:\s*{NUMBER}",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system role not supported|system role is not supported|not support (?:the )?'?system|"
    r"roles must alternate|developer instruction is not enabled|system messages? (?:is|are) not",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;])\s+|\n(?!\s)|[{}]")
"""A line that is indented belongs to the one before, as in the messages of pydantic."""


@dataclass(frozen=True)
class FieldLesson:
    """What a refusal teaches.

    Parameters
    ----------
    form
        The form to send from now on.
    fault, remedy
        What the server does not take, and what is done about it.
    option
        The option of the command line that says so from the beginning; empty if there is none.
    """

    form: RequestForm
    fault: str
    remedy: str
    option: str = ""


def lesson_of(
    form: RequestForm, sent: Mapping[str, Any], status: int, error: str
) -> FieldLesson | None:
    """Return what an error teaches about the fields of a question; None if it is about others.

    Parameters
    ----------
    form
        The form of the question.
    sent
        Its fields.
    status
        The HTTP status of the error.
    error
        The body of the error.
    """
    if status not in STATUSES:
        return None
    text = _plain(error[:LONGEST_ERROR])
    if form.has_system and _NO_SYSTEM.search(text):
        fault = "takes no message of the system"
        return FieldLesson(
            replace(form, has_system=False), fault, "the question begins with its text instead"
        )
    limit = _shorter(sent, text)
    if limit:
        name, most = limit
        option = f"--max-tokens {most}"
        remedy = f"the run asks for at most {most} tokens"
        fault = f"takes no {name} of {sent[name]}"
        return FieldLesson(replace(form, most_tokens=most), fault, remedy, option)
    refused = _refused(sent, text)
    return _without(form, refused, sent, text) if refused else None


def _plain(error: str) -> str:
    """Return an error without the escapes of JSON, which gateways nest."""
    return error.replace("\\n", "\n").replace("\\", "")


def _without(
    form: RequestForm, refused: list[str], sent: Mapping[str, Any], text: str
) -> FieldLesson:
    name = refused[0]
    fault = f"does not take {' and '.join(refused)}"
    hint = _INSTEAD.search(text)
    other = hint[1] if hint else _other_limit(name, form)
    if len(refused) == 1 and other and other not in sent and other not in form.left_out:
        option = f"--rename {name}={other}"
        return FieldLesson(
            form.with_name(name, other), fault, f"the run sends {other} instead", option
        )
    for each in refused:
        form = form.without(each)
    option = " ".join(f"--leave-out {each}" for each in refused)
    return FieldLesson(form, fault, "the run leaves it out", option)


def _other_limit(name: str, form: RequestForm) -> str:
    """Return the other name of the longest answer, if it was not tried before."""
    if name not in LIMITS or form.renamed:
        return ""
    return LIMITS[1 - LIMITS.index(name)]


def _refused(sent: Mapping[str, Any], text: str) -> list[str]:
    """Return the fields that an error is about: where it names them, or complains of them."""
    ours = [name for name in sent if name not in NEEDED]
    named = {place.rpartition(".")[2] for pair in _PLACE.findall(text) for place in pair if place}
    found = [name for name in ours if name in named]
    if found:
        return found
    for sentence in _SENTENCE.split(text):
        if _COMPLAINT.search(sentence):
            found += [
                n for n in ours if n not in found and re.search(rf"\b{re.escape(n)}\b", sentence)
            ]
    if len(found) > 1 and "cannot both" in text:
        return found[-1:]
    return found


def _shorter(sent: Mapping[str, Any], text: str) -> tuple[str, int] | None:
    """Return the field of the longest answer and a value that the server may take."""
    name = next((name for name in LIMITS if name in sent), "")
    asked = sent.get(name)
    if not name or not isinstance(asked, int):
        return None
    context = _CONTEXT.search(text)
    if context:
        most = _left(int(context[1]), text, asked)
    else:
        about = [
            s for s in _SENTENCE.split(text) if re.search(r"max_\w*tokens|output|completion", s)
        ]
        numbers = [int(n) for sentence in about for n in re.findall(NUMBER, sentence)]
        told = any(number == asked for number in numbers) or "less than or equal" in text
        range_of = re.search(r"range|at most|maximum|less than|<=", text)
        fitting = [n for n in numbers if LEAST_TOKENS <= n < asked] if told or range_of else []
        most = max(fitting, default=0)
    return (name, most) if LEAST_TOKENS <= most < asked else None


def _left(context: int, text: str, asked: int) -> int:
    """Return the tokens that a prompt leaves of the context.

    vLLM stops to count a prompt that is too long and says `at least`: then half is tried.
    """
    prompt = _PROMPT.search(text)
    if not prompt:
        return min(asked, context) // 2
    counted = int(prompt[2] or prompt[3])
    return asked // 2 if prompt[1] and context - counted > 0 else context - counted
