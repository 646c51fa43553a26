"""A fleet: the problem that a fleet file states, and what starting its models needs besides."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from colocate.errors import InputError
from colocate.inputs.compute import COMPUTE, busy_shares, known_accelerator
from colocate.inputs.demand import demand_of, load_of
from colocate.inputs.spec import MOST_GPUS, FleetSpec, GpuSpec, ModelSpec
from colocate.inputs.spec_errors import FieldError, first_of, located, sentences, shown
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

EXTENSION = "x-"
"""How fields of a file begin that mean nothing here."""


@dataclass(frozen=True)
class Device:
    """What an engine must be told to be on a GPU."""

    node: str
    """The machine, empty where there is only one."""
    number: int
    """Its number there."""
    memory_gb: float
    """All of it, with what models may not use."""
    kind: str


@dataclass(frozen=True)
class Fleet:
    """What a fleet file says, with all that it points to."""

    spec: FleetSpec
    """The file, resolved: it needs no other file any more."""
    problem: Problem

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, which is a fleet file again."""
        stated = self.spec.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        return {"schema": self.spec.version, **stated}

    @cached_property
    def models(self) -> dict[str, ModelSpec]:
        """What is said of every model, by its name."""
        return {model.name: model for model in self.spec.models}

    @cached_property
    def devices(self) -> dict[str, Device]:
        """Where every GPU is, by its name."""
        devices: dict[str, Device] = {}
        stated = {(spec.node, number) for spec in self.spec.gpus for number in spec.devices or ()}
        following: dict[str | None, int] = {}
        for spec in self.spec.gpus:
            node = spec.node or ""
            first = following.get(spec.node, 0)
            free = (number for number in count(first) if (spec.node, number) not in stated)
            numbers = spec.devices or list(islice(free, spec.count or 1))
            following[spec.node] = max(first, max(numbers) + 1)
            for name, number in zip(_names(spec), numbers, strict=True):
                devices[name] = Device(node, number, spec.memory_gb or 0.0, spec.kind or "")
        return devices


def read_fleet(path: str | Path, compute: bool = True) -> Fleet:
    """Read a fleet file (YAML or JSON).

    Parameters
    ----------
    path
        The file; configs are looked for from its folder on.
    compute
        Whether GPUs have a limit on how busy they are; False leaves it out.

    Raises
    ------
    InputError
        If it cannot be read or says something impossible. The message names the file, the line,
        the field, what was found and what was expected.
    """
    with naming(path):
        return parse_fleet(read_text(path), Path(path).parent, compute)


def parse_fleet(text: str, folder: Path = Path(), compute: bool = True) -> Fleet:
    """Return the fleet that the text of a file in a folder states."""
    with located(text):
        return fleet_of(parse_yaml(text), folder, compute)


def fleet_of(data: Any, folder: Path = Path(), compute: bool = True) -> Fleet:
    """Return the fleet that plain data states."""
    if data is None:
        raise InputError("is empty, must be a mapping with gpus and models")
    if not isinstance(data, dict):
        raise InputError(f"found {shown(data)}, must be a mapping with gpus and models")
    if looks_like_a_plan(data):
        raise InputError("is a plan, must be a fleet file; `colocate explain` and `check` take it")
    try:
        spec = FleetSpec.model_validate(_without_extensions(data))
    except ValidationError as error:
        raise sentences(data, error) from None
    total = sum(entry.count or 1 for entry in spec.gpus)
    if total > MOST_GPUS:
        raise InputError(f"gpus: there are {total}, must be at most {MOST_GPUS}")
    resolved = _resolved(spec, folder)
    if not compute:
        resolved = resolved.model_copy(update={"compute_limit": None})
    return Fleet(resolved, _problem(resolved))


def looks_like_a_plan(data: Any) -> bool:
    """Say whether data is what `colocate plan --json` prints, whole or damaged."""
    return isinstance(data, dict) and "placement" in data and "models" not in data


def looks_like_a_fleet(data: Any) -> bool:
    """Say whether data is that of a fleet file, right or wrong."""
    return isinstance(data, dict) and "models" in data and "placement" not in data


def _without_extensions(data: dict[Any, Any]) -> dict[Any, Any]:
    """Leave out what a file has for itself, such as YAML anchors: fields that begin with x-."""
    return {key: value for key, value in data.items() if not str(key).startswith(EXTENSION)}


def _resolved(spec: FleetSpec, folder: Path) -> FleetSpec:
    gpus, models = [], []
    taken: set[tuple[str | None, int]] = set()
    faults = _Faults()
    for number, gpu in enumerate(spec.gpus):
        with faults.at("gpus", number, gpu.stated_name):
            gpus.append(gpu.resolved())
            _take_devices(gpu, taken)
    for number, model in enumerate(spec.models):
        with faults.at("models", number, model.name):
            models.append(model.resolved(folder))
    faults.tell()
    return spec.model_copy(update={"gpus": gpus, "models": models})


def _take_devices(gpu: GpuSpec, taken: set[tuple[str | None, int]]) -> None:
    """Refuse numbers that another GPU of the machine has: both would be planned as one each."""
    for device in gpu.devices or ():
        if (gpu.node, device) in taken:
            where = f"node {shown(gpu.node)}" if gpu.node else "the machine"
            raise InputError(f"devices has {device}, which another GPU of {where} has already")
        taken.add((gpu.node, device))


def _problem(spec: FleetSpec) -> Problem:
    models = []
    faults = _Faults()
    for number, model in enumerate(spec.models):
        with faults.at("models", number, model.name):
            models.append(_model(spec, model))
    gpus: list[Gpu] = []
    for number, entry in enumerate(spec.gpus):
        with faults.at("gpus", number, entry.stated_name):
            gpus += _gpus(spec, entry)
    faults.tell()
    apart, together = (tuple(map(tuple, groups)) for groups in (spec.apart, spec.together))
    try:
        return Problem(
            tuple(gpus), tuple(models), apart, together, spec.most_models, spec.most_pressure
        )
    except InputError as error:
        raise _of_model(models, str(error)) from None


def _of_model(models: Sequence[Model], sentence: str) -> InputError:
    """Say where in the file the model is that a sentence begins with."""
    for number, model in enumerate(models):
        prefix = f"model {model.name!r}"
        if sentence.startswith(f"{prefix}: "):
            told = f"models[{number}] {shown(model.name)}{sentence.removeprefix(prefix)}"
            return FieldError([(("models", number), told)])
    return InputError(sentence)


def _gpus(spec: FleetSpec, entry: GpuSpec) -> list[Gpu]:
    limits = dict(entry.limits)
    if spec.compute_limit is not None and known_accelerator(entry.kind):
        limits.setdefault(COMPUTE, spec.compute_limit)
    memory = (entry.memory_gb or 0.0) - entry.reserve_gb
    return [Gpu(name, memory, entry.kind or "", limits, entry.node or "") for name in _names(entry)]


def _names(entry: GpuSpec) -> list[str]:
    if entry.count is None:
        return [entry.stated_name]
    return [f"{entry.stated_name}-{number}" for number in range(entry.count)]


def _model(spec: FleetSpec, model: ModelSpec) -> Model:
    kinds = {gpu.kind or "" for gpu in spec.gpus}
    shares = busy_shares(model, kinds) if spec.compute_limit is not None else {}
    uses: dict[str, Any] = dict(model.uses)
    if shares and COMPUTE not in uses:
        uses[COMPUTE] = {kind: share.own / model.shards for kind, share in shares.items()}
        shared = {COMPUTE: {kind: share.shared for kind, share in shares.items()}}
    else:
        shared = {}
    auto = model.replicas == "auto"
    gpu_count = sum(entry.count or 1 for entry in spec.gpus)
    return Model(
        model.name,
        (model.size_gb or 0.0) + (model.overhead_gb or 0.0) * model.shards,
        model.rate,
        model.slo,
        load_of(model, spec.load),
        uses=uses,
        replicas=1 if isinstance(model.replicas, str) else model.replicas,
        shards=model.shards,
        only=model.only,
        never=model.never,
        most_replicas=max(gpu_count // model.shards, 1) if auto else None,
        sleep_cost=model.importance * demand_of(model) if model.may_sleep else None,
        shared_uses=shared,
    )


class _Faults:
    """What is wrong with entries of a file, all of it before anything is said."""

    def __init__(self) -> None:
        self._found: list[tuple[Sequence[int | str], str]] = []

    @contextmanager
    def at(self, section: str, number: int, name: str) -> Iterator[None]:
        """Take note of an error with where in the file it is, in place of its own prefix."""
        try:
            yield
        except InputError as error:
            what = str(error)
            kind = section.removesuffix("s")
            for prefix in (f"{kind} {name!r}: ", f"{kind}: "):
                what = what.removeprefix(prefix)
            shown_name = f" {shown(name)}" if name else ""
            self._found.append(((section, number), f"{section}[{number}]{shown_name}: {what}"))

    def tell(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise FieldError(first_of(self._found))
