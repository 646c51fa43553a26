"""One case: load the program, call it, and write its answer down as plain data."""

import json
import os
import random
import sys
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import Any

FUNCTION = "compute_model_placement"
LONGEST_TRACEBACK = 4000


@dataclass
class Model:
    """What the public benchmark passes to a program."""

    model_name: str
    model_size: float
    req_rate: float
    slo: float
    cur_gpu_id: int

    def __hash__(self) -> int:
        return hash(self.model_name)


def answer(request: int, reply: int) -> None:
    """Read a request from one file, and write the answer, or what went wrong, to the other."""
    with os.fdopen(request, "rb") as file:
        file.seek(0)
        question = json.load(file)
    try:
        outcome: dict[str, Any] = {"placement": _placement(question)}
    except SystemExit as end:
        outcome = {"exit": str(end.code)}
    except BaseException as error:
        outcome = {"error": _sentence(error), "traceback": _trace(error)}
    text = json.dumps(outcome).encode()
    while text:
        text = text[os.write(reply, text) :]


def _placement(question: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    _seed(question["seed"])
    program = ModuleType("program")
    program.__file__ = "main.py"
    sys.modules["program"] = program
    exec(compile(question["program"], "main.py", "exec"), program.__dict__)
    if not hasattr(program, FUNCTION):
        raise NameError(f"the program defines no function {FUNCTION}")
    models = [
        Model(name, size, rate, slo, number)
        for number, (name, size, rate, slo) in enumerate(question["models"])
    ]
    placed = getattr(program, FUNCTION)(question["gpu_num"], models)
    return [(_index(key), [_name(model) for model in group]) for key, group in placed.items()]


def _seed(seed: int) -> None:
    """Let a program that draws at random without a seed of its own draw the same every time."""
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random:
        numpy_random.seed(seed)
        # What a numpy generator made without a seed would ask the machine for.
        numpy_random.bit_generator.randbits = random.Random(seed).getrandbits


def _index(key: Any) -> Any:
    """Return the whole number that a key equals, or its text."""
    try:
        number = int(key)
        return number if number == key else repr(key)
    except (TypeError, ValueError, OverflowError):
        return repr(key)


def _name(model: Any) -> Any:
    return model if isinstance(model, str) else str(model.model_name)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_TRACEBACK]


def _trace(error: BaseException) -> str:
    """Return the traceback from the program on: what is above is not the program's."""
    inner = error.__traceback__
    while inner and inner.tb_frame.f_code.co_filename != "main.py":
        inner = inner.tb_next
    lines = traceback.format_exception(type(error), error, inner or error.__traceback__)
    return "".join(lines)[-LONGEST_TRACEBACK:]
