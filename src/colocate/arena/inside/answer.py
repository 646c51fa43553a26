"""One case: loads the program, calls it, and writes its answer as plain data."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .chance import lend

LONGEST_TRACEBACK = 4000
"""Letters: about fifty lines. The referee keeps as many."""
MOST_FRAMES = 30
"""The last frames of a traceback that are shown; there may be a million."""
LONGEST_KEY = 100
"""Letters kept of a key that is not the number of a GPU."""


@dataclass
class Model:
    """A model as the public benchmark passes it to a program."""

    model_name: str
    model_size: float
    req_rate: float
    slo: float
    cur_gpu_id: int

    def __hash__(self) -> int:
        return hash(self.model_name)


def answer(request: int, reply: int, chance: int) -> None:
    """Make a call, and write the answer or what went wrong.

    Parameters
    ----------
    request
        The file with the question.
    reply
        The pipe for the answer.
    chance
        The pipe from which random draws get their seed.
    """
    lend(chance)
    with os.fdopen(request, "rb") as file:
        file.seek(0)
        question = json.load(file)
    text = json.dumps(_outcome(question)).encode()
    while text:
        text = text[os.write(reply, text) :]


def _outcome(question: dict[str, Any]) -> dict[str, Any]:
    try:
        function = _load(question["program"], question["entry_point"])
        return FORMS[question["form"]](function, question)
    except SystemExit as end:
        code = end.code
        return {"exit": _words(lambda: repr(code)[:LONGEST_KEY])}
    except BaseException as error:  # a border: a program may raise anything
        if isinstance(error, MemoryError):
            traceback.clear_frames(error.__traceback__)  # they hold what filled the memory
        kind = type(error).__name__
        return {"error": _sentence(error), "kind": kind, "traceback": _trace(error)}


def _load(source: str, entry_point: str) -> Callable[..., Any]:
    program = ModuleType("program")
    program.__file__ = "main.py"
    sys.modules["program"] = program
    exec(compile(source, "main.py", "exec", dont_inherit=True), program.__dict__)
    if not hasattr(program, entry_point):
        raise NameError(f"the program defines no function {entry_point}")
    return getattr(program, entry_point)  # type: ignore[no-any-return]


def _plain(function: Callable[..., Any], question: dict[str, Any]) -> dict[str, Any]:
    returned = function(*question["arguments"])
    try:
        return {"answer": json.loads(json.dumps(returned, default=_listed))}
    except TypeError:
        return {"returned": type(returned).__name__}


def _listed(returned: Any) -> Any:
    """Return an array of numpy, a set or the like as a list, and a number of numpy as a number."""
    return returned.tolist() if hasattr(returned, "tolist") else list(returned)


def _placement(function: Callable[..., Any], question: dict[str, Any]) -> dict[str, Any]:
    models = [
        Model(name, size, rate, slo, number)
        for number, (name, size, rate, slo) in enumerate(question["models"])
    ]
    numbers = {number: number for number in range(question["gpu_num"])}
    placed = function(question["gpu_num"], models)
    if not hasattr(placed, "items"):
        return {"returned": type(placed).__name__}
    pairs = [
        (_index(key, numbers), [_name(model) for model in group]) for key, group in placed.items()
    ]
    return {"placement": pairs}


FORMS = {"plain": _plain, "placement": _placement}
"""How a function is called, and what is made of that which it returns."""


def _index(key: Any, numbers: dict[int, int]) -> int | str:
    """Return the number of the GPU that a key of any type equals, or else the key's text."""
    number = numbers.get(key)
    return _words(lambda: repr(key)[:LONGEST_KEY]) if number is None else number


def _name(model: Any) -> str:
    return model if isinstance(model, str) else str(model.model_name)


def _sentence(error: BaseException) -> str:
    kind = type(error).__name__
    words = _words(lambda: str(error)[:LONGEST_TRACEBACK])
    return f"{kind}: {words}" if words else kind


def _trace(error: BaseException) -> str:
    """Return the traceback from the program's first frame on; frames above it are ours."""
    inner = error.__traceback__
    while inner and inner.tb_frame.f_code.co_filename != "main.py":
        inner = inner.tb_next
    shown = inner or error.__traceback__
    lines = traceback.format_exception
    return _words(
        lambda: "".join(lines(type(error), error, shown, limit=-MOST_FRAMES))[-LONGEST_TRACEBACK:]
    )


def _words(tell: Callable[[], str]) -> str:
    """Return an object's text as the program defines it; empty if that fails as well."""
    try:
        return tell()
    except BaseException:  # a border: its `__repr__` and `__str__` may raise anything
        return ""
