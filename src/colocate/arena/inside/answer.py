"""One case: loads the program, calls it, and writes what came of it."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from types import CodeType, ModuleType
from typing import Any

from .chance import take
from .flat_text import (
    ANSWER,
    END,
    ERROR,
    EXIT,
    NAME,
    PROGRAM_FILE,
    RETURNED,
    SOMETHING_ELSE,
    lines,
    table,
)

OUR_FOLDER = os.path.dirname(__file__) + os.sep
"""Where frames are ours, and none of the program's business."""
SCAN: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
"""Reads JSON without white space around it, as `json.loads` does, in fewer steps."""
LONGEST_TRACEBACK = 4000
"""Letters: about fifty lines. The referee keeps as many."""
MOST_FRAMES = 30
"""The last frames of a traceback that are shown; there may be a million."""
LONGEST_KEY = 100
"""Letters kept of a key that is not the number of a GPU."""
REHEARSALS = 10
"""Python makes code quicker at its eighth call, and that writes to the pages of the code."""
REHEARSED = "def place(gpu_num, models):\n    return {0: models}\n"
"""A program of ours."""


class _MadeByDataclass:
    """What makes a class a dataclass; made when a program first asks for it.

    Parameters
    ----------
    name
        The name of the attribute.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _model: object, _owner: type) -> Any:
        return getattr(_as_dataclass(), self._name)


@cache
def _as_dataclass() -> type:
    from dataclasses import make_dataclass  # noqa: PLC0415, few programs need it

    kinds = Model.__init__.__annotations__
    return make_dataclass("Model", [(name, kinds[name]) for name in Model.__match_args__])


class Model:
    """A model as the public benchmark passes it to a program: a dataclass.

    It is written out, as the library that makes dataclasses is large: every case would copy its
    pages, and few programs need it.

    Parameters
    ----------
    model_name
        Its name.
    model_size
        The GB that it always holds.
    req_rate, slo
        Requests a second, and the latency that they are promised; their ratio is the load.
    cur_gpu_id
        Where it is now, which no rule looks at.
    """

    __match_args__ = ("model_name", "model_size", "req_rate", "slo", "cur_gpu_id")
    __hash__ = None  # type: ignore[assignment]
    __dataclass_fields__ = _MadeByDataclass("__dataclass_fields__")
    __dataclass_params__ = _MadeByDataclass("__dataclass_params__")

    def __init__(
        self, model_name: str, model_size: float, req_rate: float, slo: float, cur_gpu_id: int
    ) -> None:
        self.model_name = model_name
        self.model_size = model_size
        self.req_rate = req_rate
        self.slo = slo
        self.cur_gpu_id = cur_gpu_id

    def __repr__(self) -> str:
        told = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({', '.join(told)})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return FIGURES(self) == FIGURES(other)  # type: ignore[no-any-return]


FIGURES: Callable[[object], Any] = attrgetter(*Model.__match_args__)
"""Returns all that the public benchmark tells of a model."""


class LoadedProgram:
    """A program, as all its cases share it.

    Parameters
    ----------
    source
        Its text.
    code
        What it compiles to; None if every case has to try, and tell why it does not.
    """

    def __init__(self, source: str, code: CodeType | None) -> None:
        self.source = source
        self.code = code
        self.uses_sockets = "asyncio" in source or "socketpair" in source
        """Whether it may need pairs of connected sockets, as event loops do."""


def compiled(source: str) -> CodeType:
    """Return the code of a program."""
    return compile(source, PROGRAM_FILE, "exec", dont_inherit=True)


def answer(request: int, reply: int, chance: int, program: LoadedProgram) -> None:
    """Make a call, and write the answer or what went wrong.

    Parameters
    ----------
    request
        The file with the question.
    reply
        The pipe for the answer.
    chance
        The pipe from which random draws get their seed.
    program
        The program to call.
    """
    take(chance)
    text = os.pread(request, os.fstat(request).st_size, 0)
    os.close(request)
    question, _ = SCAN(text.decode(), 0)
    tell(reply, _outcome(question, program))


def rehearse() -> None:
    """Make calls to a program of ours, so that cases find ready what all of them need.

    Otherwise each would prepare it anew, on pages that it copies for that.
    """
    question = {
        "entry_point": "place",
        "form": "placement",
        "gpu_num": 1,
        "models": [("model", 1, 1, 1)],
    }
    for _ in range(REHEARSALS):
        _outcome(question, LoadedProgram(REHEARSED, compiled(REHEARSED)))
        del sys.modules["program"]


def tell(file: int, text: bytes) -> None:
    """Write all of a text to a file."""
    while text:
        text = text[os.write(file, text) :]


def _outcome(question: dict[str, Any], program: LoadedProgram) -> bytes:
    called = False
    try:
        function = _load(program, question["entry_point"])
        called = True
        return FORMS[question["form"]](function, question)
    except SystemExit as end:
        code = end.code
        return lines(EXIT, str(int(called)), _words(lambda: repr(code)[:LONGEST_KEY]))
    except BaseException as error:  # a border: a program may raise anything
        if isinstance(error, MemoryError):
            traceback.clear_frames(error.__traceback__)  # they hold what filled the memory
        kind = type(error).__name__
        return lines(ERROR, str(int(called)), kind, _sentence(error), _trace(error))


def _load(program: LoadedProgram, entry_point: str) -> Callable[..., Any]:
    module = ModuleType("program")
    module.__file__ = PROGRAM_FILE
    sys.modules["program"] = module
    exec(program.code or compiled(program.source), module.__dict__)
    if not hasattr(module, entry_point):
        raise NameError(f"the program defines no function {entry_point}")
    return getattr(module, entry_point)  # type: ignore[no-any-return]


def _plain(function: Callable[..., Any], question: dict[str, Any]) -> bytes:
    """Write what was returned as one line of JSON."""
    returned = function(*question["arguments"])
    try:
        return ANSWER + END + json.dumps(returned, default=_listed).encode()
    except TypeError:
        return lines(RETURNED, type(returned).__name__)


def _listed(returned: Any) -> Any:
    """Return an array of numpy, a set or the like as a list, and a number of numpy as a number."""
    return returned.tolist() if hasattr(returned, "tolist") else list(returned)


def _placement(function: Callable[..., Any], question: dict[str, Any]) -> bytes:
    """Write a row for each GPU: its number, or what was in its place, and the names of models."""
    models = [
        Model(name, size, rate, slo, number)
        for number, (name, size, rate, slo) in enumerate(question["models"])
    ]
    numbers = {number: number for number in range(question["gpu_num"])}
    placed = function(question["gpu_num"], models)
    if not hasattr(placed, "items"):
        return lines(RETURNED, type(placed).__name__)
    rows = []
    for key, group in placed.items():
        if isinstance(group, str) or not (
            hasattr(group, "__iter__") or hasattr(group, "__getitem__")
        ):
            return lines(RETURNED, f"{type(placed).__name__} of {type(group).__name__}")
        listed = list(group)
        for model in listed:
            if not isinstance(model, str) and not hasattr(model, "model_name"):
                kinds = (type(each).__name__ for each in (placed, group, model))
                return lines(RETURNED, " of ".join(kinds))
        rows.append((_index(key, numbers), *map(_name, listed)))
    return table(rows)


def _places(function: Callable[..., Any], question: dict[str, Any]) -> bytes:
    """Write a row for each model: its name and those of its GPUs."""
    placed = function(*question["arguments"])
    if not hasattr(placed, "items"):
        return lines(RETURNED, type(placed).__name__)
    return table(
        (_words(lambda key=key: str(key)), *_names(found))  # type: ignore[misc]
        for key, found in placed.items()
    )


FORMS = {"plain": _plain, "placement": _placement, "places": _places}
"""How a function is called, and what is made of that which it returns."""


def _names(found: Any) -> list[str]:
    """Return names with a mark before each: for one name or several, or for something else."""
    names = [found] if isinstance(found, str) else found
    if hasattr(names, "tolist"):
        names = names.tolist()
    if hasattr(names, "items") or not hasattr(names, "__iter__"):
        return [SOMETHING_ELSE]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        return [SOMETHING_ELSE]
    return [NAME + name for name in listed]


def _index(key: Any, numbers: dict[int, int]) -> str:
    """Return the number of the GPU that a key of any type equals, or else the key's text."""
    number = numbers.get(key)
    return NAME + _words(lambda: repr(key)[:LONGEST_KEY]) if number is None else str(number)


def _name(model: Any) -> str:
    return model if isinstance(model, str) else str(model.model_name)


def _sentence(error: BaseException) -> str:
    kind = type(error).__name__
    words = _words(lambda: str(error)[:LONGEST_TRACEBACK])
    return f"{kind}: {words}" if words else kind


def _trace(error: BaseException) -> str:
    """Return the traceback without frames of ours; empty if it says no more than the sentence."""

    def told() -> str:
        whole = traceback.TracebackException.from_exception(error, limit=-MOST_FRAMES)
        theirs = [frame for frame in whole.stack if not frame.filename.startswith(OUR_FOLDER)]
        whole.stack[:] = theirs
        says_more = theirs or isinstance(error, SyntaxError)
        return "".join(whole.format())[-LONGEST_TRACEBACK:] if says_more else ""

    return _words(told)


def _words(tell: Callable[[], str]) -> str:
    """Return an object's text as the program defines it; empty if that fails as well."""
    try:
        return tell()
    except BaseException:  # a border: its `__repr__` and `__str__` may raise anything
        return ""
