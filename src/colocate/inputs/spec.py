"""The fleet file: which GPUs there are and which models to serve."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from colocate.errors import InputError
from colocate.inputs.gpu_catalogue import find_accelerator
from colocate.inputs.huggingface import read_model_size
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
Count = Annotated[int, Field(ge=1)]

OVERHEAD_GB = 4.0
"""What an engine holds beyond the weights that a config tells: measured, 2 to 8 GB."""

EXPECTED = {
    "gpus": "a list with at least one GPU",
    "models": "a list with at least one model",
    "name": "a text that is not empty (in quotes if it looks like a number)",
    "memory_gb": "a finite number > 0",
    "kind": "a text, such as a name of the GPU catalogue",
    "node": "a text, the name of the machine",
    "count": "a whole number from 1 to 20000",
    "size_gb": "a finite number >= 0",
    "config": "the path of a Hugging Face config.json, or of its folder",
    "dtype": "a text, such as bf16, fp8 or awq",
    "overhead_gb": "a finite number >= 0",
    "rate": "a finite number >= 0",
    "slo": "a finite number > 0",
    "load": "a finite number >= 0, or a list of them, one per time window",
    "replicas": "a whole number >= 1",
    "shards": "a whole number >= 1",
    "only": "a list of names of GPUs, nodes or kinds",
    "never": "a list of names of GPUs, nodes or kinds",
    "apart": "a list of groups, each a list of names of models",
    "together": "a list of groups, each a list of names of models",
    "most_models": "a whole number >= 1",
}


class GpuSpec(BaseModel):
    """One GPU, or `count` alike ones named `name-0`, `name-1` and so on.

    Without `memory_gb`, it is that of its kind in the catalogue.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    memory_gb: Positive | None = None
    kind: Name | None = None
    node: Name | None = None
    count: Annotated[int, Field(ge=1, le=MOST_GPUS)] | None = None

    def gpus(self) -> list[Gpu]:
        """Return the GPUs it stands for."""
        memory = self.memory_gb or self._memory_of_kind()
        numbers = range(self.count or 1)
        names = [self.name] if self.count is None else [f"{self.name}-{n}" for n in numbers]
        return [Gpu(name, memory, self.kind or "", node=self.node or "") for name in names]

    def _memory_of_kind(self) -> float:
        if self.kind is None:
            raise InputError(f"memory_gb is missing, must be {EXPECTED['memory_gb']}")
        return find_accelerator(self.kind).memory_gb


class ModelSpec(BaseModel):
    """One model: its `size_gb` or its `config`, with `rate` and `slo` or with its `load`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    size_gb: NotNegative | None = None
    config: Name | None = None
    dtype: Name | None = None
    overhead_gb: NotNegative | None = None
    rate: NotNegative | None = None
    slo: Positive | None = None
    load: NotNegative | Annotated[list[NotNegative], Field(min_length=1)] | None = None
    replicas: Count = 1
    shards: Count = 1
    only: list[Name] = []
    never: list[Name] = []

    def size(self, folder: Path) -> float:
        """Return the GB it always holds; a config is looked for from `folder` on."""
        if self.size_gb is None and self.config is None:
            wanted = f"{EXPECTED['size_gb']}, or config {EXPECTED['config']}"
            raise InputError(f"size_gb is missing, must be {wanted}")
        if self.size_gb is not None and self.config is not None:
            raise InputError("has size_gb and config, must have one of them")
        if self.size_gb is not None:
            return self.size_gb + (self.overhead_gb or 0.0)
        weights = read_model_size(folder / str(self.config), self.dtype).weight_bytes / 1e9
        overhead = OVERHEAD_GB if self.overhead_gb is None else self.overhead_gb
        return weights + overhead * self.shards


class FleetSpec(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    gpus: Annotated[list[GpuSpec], Field(min_length=1)]
    models: Annotated[list[ModelSpec], Field(min_length=1)]
    apart: list[list[Name]] = []
    together: list[list[Name]] = []
    most_models: Count | None = None

    def problem(self, folder: Path) -> Problem:
        """Return the problem it states; configs are looked for from `folder` on."""
        count = sum(spec.count or 1 for spec in self.gpus)
        if count > MOST_GPUS:
            raise InputError(f"gpus: there are {count}, must be at most {MOST_GPUS}")
        models = [_model(number, spec, folder) for number, spec in enumerate(self.models)]
        gpus = [gpu for number, spec in enumerate(self.gpus) for gpu in _gpus(number, spec)]
        apart, together = (tuple(map(tuple, groups)) for groups in (self.apart, self.together))
        return Problem(tuple(gpus), tuple(models), apart, together, self.most_models)


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
        return parse_fleet(read_text(path), Path(path).parent)


def parse_fleet(text: str, folder: Path = Path()) -> Problem:
    """Return the problem that the text of a fleet file in a folder states."""
    data = parse_yaml(text)
    if data is None:
        raise InputError("is empty, must be a mapping with gpus and models")
    if not isinstance(data, dict):
        raise InputError(f"found {_shown(data)}, must be a mapping with gpus and models")
    try:
        return FleetSpec.model_validate(data).problem(folder)
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


def _model(number: int, spec: ModelSpec, folder: Path) -> Model:
    where = f"models[{number}] {spec.name!r}"
    if spec.load is not None and (spec.rate is not None or spec.slo is not None):
        raise InputError(f"{where}: has load and rate or slo, must be load, or rate and slo")
    with _at(where, f"model {spec.name!r}: ", "model: "):
        return Model(
            spec.name,
            spec.size(folder),
            spec.rate,
            spec.slo,
            spec.load,
            replicas=spec.replicas,
            shards=spec.shards,
            only=spec.only,
            never=spec.never,
        )


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
