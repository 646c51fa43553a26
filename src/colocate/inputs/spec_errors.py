"""What is wrong with a fleet file, in its own words: where, what was found, what is expected."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from colocate.errors import InputError
from colocate.inputs.spec import FleetSpec, GpuSpec, ModelSpec
from colocate.inputs.yaml_text import line_finder

MOST_SENTENCES = 10

A_NAME = "a text that is not empty (in quotes if it looks like a number)"
NUMBER, POSITIVE, COUNT = "a finite number >= 0", "a finite number > 0", "a whole number >= 1"
PLACES = "a list of names of GPUs, nodes or kinds"
GROUPS = "a list of groups, each a list of names of models"
EXPECTED = {
    "schema": "1",
    "gpus": "a list with at least one GPU",
    "models": "a list with at least one model",
    "name": A_NAME,
    "source": A_NAME,
    "args": "a list of texts, or a mapping from vllm or sglang to such a list",
    "memory_gb": POSITIVE,
    "reserve_gb": NUMBER,
    "kind": "a text, such as a name of the GPU catalogue",
    "node": "a text, the name of the machine",
    "count": "a whole number from 1 to 20000",
    "devices": "a list of whole numbers >= 0",
    "limits": "a mapping from the name of a resource to a number >= 0",
    "uses": "a mapping from the name of a resource to a number >= 0, or to such by kind of GPU",
    "size_gb": NUMBER,
    "config": "the path of a Hugging Face config.json, or of its folder",
    "dtype": "a text, such as bf16, fp8 or awq",
    "quantised_on_disk": "true or false",
    "kv_dtype": "a text, such as bf16 or fp8",
    "overhead_gb": NUMBER,
    "rate": NUMBER,
    "slo": POSITIVE,
    "load": "a finite number >= 0, or a list of them, one per time window",
    "prompt_tokens": NUMBER,
    "output_tokens": NUMBER,
    "tokens_per_second": NUMBER,
    "tpot_slo": POSITIVE,
    "kv_bytes_per_token": NUMBER,
    "active_parameters": POSITIVE,
    "replicas": "a whole number >= 1, or auto",
    "shards": COUNT,
    "only": PLACES,
    "never": PLACES,
    "may_sleep": "true or false",
    "importance": NUMBER,
    "apart": GROUPS,
    "together": GROUPS,
    "most_models": COUNT,
    "most_pressure": POSITIVE,
    "compute_limit": "a finite number > 0, or null",
}
LOAD_FORMS = "requests or tokens"
SECTIONS: dict[str, type[BaseModel]] = {"gpus": GpuSpec, "models": ModelSpec}

Path = Sequence[int | str]


class FieldError(InputError):
    """Sentences, each with the path of the field that it is about."""

    def __init__(self, found: Sequence[tuple[Path, str]]) -> None:
        super().__init__("\n".join(sentence for _, sentence in found))
        self.found = found


@contextmanager
def located(text: str) -> Iterator[None]:
    """Let an error say on which line of a text it is, where that can be told."""
    try:
        yield
    except InputError as error:
        found = error.found if isinstance(error, FieldError) else [_guessed_path(str(error))]
        line_of = line_finder(text)
        lines = [(line_of(path) if path else None, sentence) for path, sentence in found]
        told = (f"line {line}: {sentence}" if line else sentence for line, sentence in lines)
        raise InputError("\n".join(told)) from None


def _guessed_path(sentence: str) -> tuple[Path, str]:
    """Find the field that a sentence of the problem itself is about, by its first words."""
    if match := re.match(r"(gpus|models)\[(\d+)\]", sentence):
        return (match[1], int(match[2])), sentence
    word = re.match(r"\w*", sentence)
    return ((word[0],) if word and word[0] in FleetSpec.model_fields else ()), sentence


def sentences(data: dict[Any, Any], error: ValidationError) -> FieldError:
    """Say what pydantic found, once for each field, up to a limit."""
    by_field: dict[Path, str] = {}
    for found in error.errors():
        by_field.setdefault(found["loc"][:3], _sentence(data, found))
    return FieldError(first_of(list(by_field.items())))


def first_of(found: Sequence[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return as many sentences as are read, and how many more there are."""
    more = len(found) - MOST_SENTENCES
    rest: list[tuple[Path, str]] = [((), f"and {more} more of the kind")] if more > 0 else []
    return [*found[:MOST_SENTENCES], *rest]


def _sentence(data: dict[Any, Any], error: ErrorDetails) -> str:
    path = list(error["loc"])
    where = ""
    if len(path) > 1 and isinstance(path[1], int) and path[0] in SECTIONS:
        item = data[path[0]][path[1]]
        name = item.get("name") if isinstance(item, dict) else None
        where = f"{path[0]}[{path[1]}]" + (f" {shown(name)}" if name is not None else "") + ": "
    field = str(path[0]) if not where else str(path[2]) if len(path) > 2 else None
    if field is None:
        return f"{where}found {shown(error['input'])}, must be a mapping"
    if error["type"] in ("extra_forbidden", "invalid_key") and field not in EXPECTED:
        return f"{where}{field or repr(field)} is not known, {_meant(field, _fields(path, where))}"
    expected = LOAD_FORMS if field == "load" and not where else EXPECTED.get(field, "")
    if error["type"] == "missing":
        return f"{where}{field} is missing, must be {expected}"
    if error["type"] == "extra_forbidden":
        known = ", ".join(_fields(path, where))
        return f"{where}{field} does not belong here, must be one of: {known}"
    return f"{where}{field}={shown(error['input'])}, must be {expected}"


def _fields(path: list[int | str], where: str) -> list[str]:
    section = SECTIONS[str(path[0])] if where else FleetSpec
    return [field.alias or name for name, field in section.model_fields.items()]


def _meant(field: str, known: list[str]) -> str:
    near = get_close_matches(field, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"must be one of: {', '.join(known)}"


def shown(value: object) -> str:
    """Show a value from a file briefly, however large or nested it is."""
    short = Repr()
    short.maxlevel = 2
    short.maxlist = short.maxdict = 3
    short.maxstring = short.maxother = 60
    return short.repr(value)
