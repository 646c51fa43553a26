"""The engines of a plan as a file beside it: a later change finds their names and ports there."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from colocate.errors import InputError, within
from colocate.fault import Fault
from colocate.inputs.text_file import naming, read_text
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.gateway_settings import LAST_PORT
from colocate.outputs.emit.settings import RunningEngine, Target

FILE = "engines.json"
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""What an engine may be called: scripts take such a name unquoted."""
WRITTEN = "what `colocate replan --steps` writes"


def running_engines(launches: Iterable[Launch]) -> tuple[RunningEngine, ...]:
    """Return engines with the names and ports that they keep."""
    return tuple(RunningEngine(la.model, la.gpus, la.name, la.port) for la in launches)


def engines_file(target: Target, launches: Iterable[Launch]) -> EmittedFile:
    """Return the file with the engines of a plan.

    Parameters
    ----------
    target
        What starts them.
    launches
        The engines.
    """
    engines = [each._asdict() for each in running_engines(launches)]
    text = json.dumps({"target": target.value, "engines": engines}, indent=2)
    return EmittedFile(FILE, f"{text}\n")


def read_engines(folder: Path, target: Target) -> tuple[RunningEngine, ...]:
    """Read the engines that run from the folder with the files that started them.

    Parameters
    ----------
    folder
        The folder.
    target
        What the engines must have been started by.

    Raises
    ------
    InputError
        If there is no such file, it is for another target, or it names engines wrongly.
    """
    with naming(folder / FILE):
        data = _parsed(read_text(folder / FILE))
        if data["target"] != target.value:
            expected = f"{target.value!r}, as --to says"
            raise InputError.of("target", data["target"], expected)
        return _distinct([_engine(each, place) for place, each in enumerate(data["engines"])])


def _parsed(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(Fault("is no JSON", WRITTEN)) from None
    if not isinstance(data, dict) or not isinstance(data.get("engines"), list):
        raise InputError(Fault("has no list of engines", WRITTEN))
    if "target" not in data:
        raise InputError.missing("target", WRITTEN)
    return data


def _engine(data: Any, place: int) -> RunningEngine:
    with within(("engines", place)):
        if not isinstance(data, dict) or set(data) != set(RunningEngine._fields):
            expected = f"an engine with {', '.join(RunningEngine._fields)}"
            raise InputError(Fault(value=data, expected=expected))
        model, gpus, name, port = (data[each] for each in RunningEngine._fields)
        if not isinstance(model, str):
            raise InputError.of("model", model, "a text")
        if not isinstance(gpus, list) or not all(isinstance(gpu, str) for gpu in gpus):
            raise InputError.of("gpus", gpus, "a list of names")
        if not isinstance(name, str) or not LABEL.fullmatch(name):
            raise InputError.of("name", name, "a name that `colocate emit` gives")
        if type(port) is not int or not 1 <= port <= LAST_PORT:
            raise InputError.of("port", port, f"from 1 to {LAST_PORT}")
        return RunningEngine(model, tuple(gpus), name, port)


def _distinct(engines: list[RunningEngine]) -> tuple[RunningEngine, ...]:
    """Return engines of which no two share a name, a port, or a model and its GPUs."""
    seen: set[tuple[str, object]] = set()
    for place, engine in enumerate(engines):
        at = (engine.model, frozenset(engine.gpus))
        for field, value in (("name", engine.name), ("port", engine.port), ("gpus", at)):
            if (field, value) in seen:
                found = list(engine.gpus) if field == "gpus" else value
                raise InputError.of(("engines", place, field), found, "that of no other engine")
            seen.add((field, value))
    return tuple(engines)
