"""The fleet file: which GPUs there are and which models to serve."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from colocate.errors import InputError
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MOST_SENTENCES = 10
MOST_GPUS = 20_000

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]

EXPECTED = {
    "gpus": "a list with at least one GPU",
    "models": "a list with at least one model",
    "name": "a text that is not empty (in quotes if it looks like a number)",
    "memory_gb": "a finite number > 0",
    "count": "a whole number from 1 to 20000",
    "size_gb": "a finite number >= 0",
    "rate": "a finite number >= 0",
    "slo": "a finite number > 0",
    "load": "a finite number >= 0, or a list of them, one per time window",
}


class GpuSpec(BaseModel):
    """One GPU, or `count` alike ones named `name-0`, `name-1` and so on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    memory_gb: Positive
    count: Annotated[int, Field(ge=1, le=MOST_GPUS)] | None = None

    def gpus(self) -> list[Gpu]:
        """Return the GPUs it stands for."""
        if self.count is None:
            return [Gpu(self.name, self.memory_gb)]
        return [Gpu(f"{self.name}-{number}", self.memory_gb) for number in range(self.count)]


class ModelSpec(BaseModel):
    """One model, with `rate` and `slo` or with its `load`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    size_gb: NotNegative
    rate: NotNegative | None = None
    slo: Positive | None = None
    load: NotNegative | Annotated[list[NotNegative], Field(min_length=1)] | None = None


class FleetSpec(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    gpus: Annotated[list[GpuSpec], Field(min_length=1)]
    models: Annotated[list[ModelSpec], Field(min_length=1)]

    def problem(self) -> Problem:
        """Return the problem it states."""
        count = sum(spec.count or 1 for spec in self.gpus)
        if count > MOST_GPUS:
            raise InputError(f"gpus: there are {count}, must be at most {MOST_GPUS}")
        models = [_model(number, spec) for number, spec in enumerate(self.models)]
        gpus = [gpu for number, spec in enumerate(self.gpus) for gpu in _gpus(number, spec)]
        return Problem(tuple(gpus), tuple(models))


SECTIONS: dict[str, type[BaseModel]] = {"gpus": GpuSpec, "models": ModelSpec}


def read_fleet(path: str | Path) -> Problem:
    """Read a fleet file (YAML or JSON) and return the problem it states.

    Raises
    ------
    InputError
        If it cannot be read or says something impossible. The message names the file, the
        field, what was found and what was expected.
    """
    with naming(path):
        return parse_fleet(read_text(path))


def parse_fleet(text: str) -> Problem:
    """Return the problem that the text of a fleet file states."""
    data = parse_yaml(text)
    if data is None:
        raise InputError("is empty, must be a mapping with gpus and models")
    if not isinstance(data, dict):
        raise InputError(f"found {_shown(data)}, must be a mapping with gpus and models")
    try:
        return FleetSpec.model_validate(data).problem()
    except ValidationError as error:
        raise InputError("\n".join(_sentences(data, error))) from None


def _sentences(data: dict[Any, Any], error: ValidationError) -> list[str]:
    """Say what is wrong, once for each field, up to a limit."""
    by_field: dict[tuple[int | str, ...], str] = {}
    for found in error.errors():
        by_field.setdefault(found["loc"][:3], _sentence(data, found))
    sentences = list(by_field.values())
    more = len(sentences) - MOST_SENTENCES
    return sentences[:MOST_SENTENCES] + ([f"and {more} more of the kind"] if more > 0 else [])


def _model(number: int, spec: ModelSpec) -> Model:
    where = f"models[{number}] {spec.name!r}"
    if spec.load is not None and (spec.rate is not None or spec.slo is not None):
        raise InputError(f"{where}: has load and rate or slo, must be load, or rate and slo")
    with _at(where, f"model {spec.name!r}: ", "model: "):
        return Model(spec.name, spec.size_gb, spec.rate, spec.slo, spec.load)


def _gpus(number: int, spec: GpuSpec) -> list[Gpu]:
    with _at(f"gpus[{number}] {spec.name!r}", f"gpu {spec.name!r}: ", "gpu: "):
        return spec.gpus()


@contextmanager
def _at(where: str, *prefixes: str) -> Iterator[None]:
    """Let an error say where in the file it is, in place of its own prefix."""
    try:
        yield
    except InputError as error:
        what = str(error)
        for prefix in prefixes:
            what = what.removeprefix(prefix)
        raise InputError(f"{where}: {what}") from None


def _sentence(data: dict[Any, Any], error: ErrorDetails) -> str:
    """Say what pydantic found in the words of the file: where, what, and what is expected."""
    path = list(error["loc"])
    where = ""
    if len(path) > 1 and isinstance(path[1], int):
        item = data[path[0]][path[1]]
        name = item.get("name") if isinstance(item, dict) else None
        where = f"{path[0]}[{path[1]}]" + (f" {_shown(name)}" if name is not None else "") + ": "
    field = str(path[0]) if not where else str(path[2]) if len(path) > 2 else None
    if field is None:
        return f"{where}found {_shown(error['input'])}, must be a mapping"
    if error["type"] in ("extra_forbidden", "invalid_key"):
        fields = ", ".join((SECTIONS[str(path[0])] if where else FleetSpec).model_fields)
        return f"{where}{field or repr(field)} is not known, must be one of: {fields}"
    if error["type"] == "missing":
        return f"{where}{field} is missing, must be {EXPECTED[field]}"
    return f"{where}{field}={_shown(error['input'])}, must be {EXPECTED[field]}"


def _shown(value: object) -> str:
    """Show a value from a file briefly, however large or nested it is."""
    short = Repr()
    short.maxlevel = 2
    short.maxlist = short.maxdict = 3
    short.maxstring = short.maxother = 60
    return short.repr(value)
