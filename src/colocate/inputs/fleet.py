"""A fleet: the problem that a fleet file states, and what starting its models needs besides."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from colocate.errors import InputError
from colocate.fault import Fault, shown
from colocate.fault import Path as FieldPath
from colocate.inputs.bulk import without_collection
from colocate.inputs.compute import busy_shares, known_accelerator
from colocate.inputs.demand import demand_of, load_of
from colocate.inputs.entry_faults import EntryFaults
from colocate.inputs.fleet_windows import check_windows, planned_for, windows_of
from colocate.inputs.format_support import FormatLimit, kept_off, limits_of
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.known_requests import known_requests
from colocate.inputs.least_cache import cache_repeats, has_no_cache, least_cache_gb
from colocate.inputs.shard_rules import checked_shards, noted
from colocate.inputs.spec import MOST_GPUS, FleetSpec, GpuSpec, ModelSpec
from colocate.inputs.spec_errors import faults_of, located
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml
from colocate.problem.gpu import Gpu
from colocate.problem.model import COMPUTE, MEMORY, Model
from colocate.problem.problem import Problem
from colocate.problem.requests import Requests

EXTENSION = "x-"
"""How fields of a file begin that mean nothing here."""
A_FLEET = "a mapping with gpus and models"
NO_LOOKUP = ConfigLookup()
"""Finds paths and the models of the catalogue, and asks nothing else on this machine."""


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
    def format_limits(self) -> dict[str, list[FormatLimit]]:
        """The kinds of GPU that do not run the formats of a model as they are, by its name."""
        kinds = {gpu.kind or "" for gpu in self.spec.gpus}
        found = {name: limits_of(model, sorted(kinds)) for name, model in self.models.items()}
        return {name: limits for name, limits in found.items() if limits}

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


def read_fleet(path: str | Path, download: bool = False) -> Fleet:
    """Read a fleet file (YAML or JSON).

    Parameters
    ----------
    path
        The file; paths of configs begin at its folder.
    download
        Whether the Hugging Face hub is asked for configs that are not on this machine.

    Raises
    ------
    InputError
        If it cannot be read or says something impossible. The message names the file, the line,
        the field, what was found and what was expected.
    """
    configs = ConfigLookup.from_environment(Path(path).parent, os.environ, download)
    with naming(path):
        return parse_fleet(read_text(path), configs)


def parse_fleet(text: str, configs: ConfigLookup = NO_LOOKUP) -> Fleet:
    """Return the fleet that the text of a file states.

    Parameters
    ----------
    text
        YAML or JSON.
    configs
        Where configs are looked for.
    """
    with without_collection(), located(text):
        return fleet_of(parse_yaml(text), configs)


def fleet_of(data: Any, configs: ConfigLookup = NO_LOOKUP) -> Fleet:
    """Return the fleet that plain data states.

    Parameters
    ----------
    data
        What a parser made of a file.
    configs
        Where configs are looked for.
    """
    if data is None:
        raise InputError(Fault("is empty", A_FLEET))
    if not isinstance(data, dict):
        raise InputError(Fault(value=data, expected=A_FLEET))
    if looks_like_a_plan(data):
        advice = "`colocate explain` and `check` take it"
        raise InputError(Fault("is a plan", "a fleet file", advice))
    try:
        spec = FleetSpec.model_validate(_without_extensions(data))
    except ValidationError as error:
        raise InputError(*faults_of(data, error)) from None
    total = sum(entry.count or 1 for entry in spec.gpus)
    if total > MOST_GPUS:
        raise InputError(Fault(f"are {total} in all", f"at most {MOST_GPUS}", path=("gpus",)))
    check_windows(spec)
    resolved = _resolved(spec, configs)
    return Fleet(resolved, _problem(planned_for(resolved)))


def replanned_for(
    fleet: Fleet, headroom: float | None = None, window_percentile: float | None = None
) -> Fleet:
    """Return a fleet that is planned for more demand, or for another share of the time.

    Parameters
    ----------
    fleet
        The fleet.
    headroom
        How much more demand than it states; None for what it says itself.
    window_percentile
        Percent of the time; None for what it says itself.
    """
    asked = {"headroom": headroom, "window_percentile": window_percentile}
    update = {field: value for field, value in asked.items() if value is not None}
    spec = fleet.spec.model_copy(update=update)
    return Fleet(spec, _problem(planned_for(spec)))


def looks_like_a_plan(data: Any) -> bool:
    """Say whether data is what `colocate plan --json` prints, whole or damaged."""
    return isinstance(data, dict) and "placement" in data and "models" not in data


def looks_like_a_fleet(data: Any) -> bool:
    """Say whether data is that of a fleet file, right or wrong."""
    return isinstance(data, dict) and "models" in data and "placement" not in data


def _without_extensions(data: dict[Any, Any]) -> dict[Any, Any]:
    """Leave out what a file has for itself, such as YAML anchors: fields that begin with x-."""
    return {key: value for key, value in data.items() if not str(key).startswith(EXTENSION)}


def _resolved(spec: FleetSpec, configs: ConfigLookup) -> FleetSpec:
    taken: set[tuple[str | None, int]] = set()
    faults = EntryFaults()
    find_config = cache(configs.find)  # a large fleet names few models, each of them often
    gpus = faults.made(spec.gpus, lambda gpu: _resolved_gpu(gpu, taken))
    models = faults.made(spec.models, lambda model: noted(model.resolved(find_config)))
    faults.tell()
    return spec.model_copy(update={"gpus": gpus, "models": models})


def _resolved_gpu(gpu: GpuSpec, taken: set[tuple[str | None, int]]) -> GpuSpec:
    """Resolve it, and refuse numbers that another GPU of the machine has: each is one device."""
    resolved = gpu.resolved()
    for device in gpu.devices or ():
        if (gpu.node, device) in taken:
            where = f"node {shown(gpu.node)}" if gpu.node else "the machine"
            found = f"has {device}, which another GPU of {where} has already"
            raise InputError(Fault(found, path=("devices",)))
        taken.add((gpu.node, device))
    return resolved


def _problem(spec: FleetSpec) -> Problem:
    kinds = {gpu.kind or "" for gpu in spec.gpus}
    gpu_count = sum(entry.count or 1 for entry in spec.gpus)
    faults = EntryFaults()
    known = known_requests(spec, kinds, faults)
    models = faults.made(
        spec.models, lambda model: _model(spec, kinds, gpu_count, model, known.get(model.name))
    )
    gpus = faults.made(spec.gpus, lambda entry: _gpus(spec, entry))
    faults.tell()
    apart, together = (tuple(map(tuple, groups)) for groups in (spec.apart, spec.together))
    every = tuple(chain.from_iterable(gpus))
    try:
        return Problem(
            every,
            tuple(models),
            apart,
            together,
            spec.most_models,
            spec.most_pressure,
            sharing=spec.sharing or "slices",
            objective=objective_of(spec, known),
            stated_windows=windows_of(spec),
            headroom=spec.headroom,
        )
    except InputError as error:
        entries = [n for n, entry in enumerate(spec.gpus) for _ in range(entry.count or 1)]
        raise InputError(*(_in_entry(fault, entries) for fault in error.faults)) from None


def objective_of(spec: FleetSpec, known: Mapping[str, Requests]) -> str:
    """Return what a fleet minimises: what it states, or else what its models allow."""
    return spec.objective or ("latency" if known else "pressure")


def _in_entry(fault: Fault, entries: Sequence[int]) -> Fault:
    """Return a fault with the number of an entry of the file in place of that of a GPU."""
    twin = fault.twin and fault.twin._replace(path=_entry_path(fault.twin.path, entries))
    return replace(fault, path=_entry_path(fault.path, entries), twin=twin)


def _entry_path(path: FieldPath, entries: Sequence[int]) -> FieldPath:
    if len(path) > 1 and path[0] == "gpus" and isinstance(path[1], int):
        return "gpus", entries[path[1]], *path[2:]
    return path


def _gpus(spec: FleetSpec, entry: GpuSpec) -> list[Gpu]:
    limits = dict(entry.limits)
    if MEMORY in limits:
        found = f"has {MEMORY}, which memory_gb and reserve_gb decide"
        raise InputError(Fault(found, advice="leave it out", path=("limits",)))
    if spec.compute_limit is not None and known_accelerator(entry.kind):
        limits.setdefault(COMPUTE, spec.compute_limit)
    memory = (entry.memory_gb or 0.0) - (entry.reserve_gb or 0.0)
    return [Gpu(name, memory, entry.kind or "", limits, entry.node or "") for name in _names(entry)]


def _names(entry: GpuSpec) -> list[str]:
    if entry.count is None:
        return [entry.stated_name]
    return [f"{entry.stated_name}-{number}" for number in range(entry.count)]


def _model(
    spec: FleetSpec,
    kinds: set[str],
    gpu_count: int,
    model: ModelSpec,
    requests: Requests | None,
) -> Model:
    shares = busy_shares(model, kinds) if spec.compute_limit is not None else {}
    uses: dict[str, Any] = dict(model.uses)
    if MEMORY in uses:
        found = f"has {MEMORY}, which size_gb and the least cache decide"
        raise InputError(Fault(found, advice="leave it out", path=("uses",)))
    if shares and COMPUTE not in uses:
        uses[COMPUTE] = {kind: share.own / model.shards for kind, share in shares.items()}
        shared = {COMPUTE: {kind: share.shared for kind, share in shares.items()}}
    else:
        shared = {}
    auto = model.replicas == "auto"
    return Model(
        model.name,
        (model.size_gb or 0.0) + (model.overhead_gb or 0.0) * model.shards,
        model.rate,
        model.slo,
        _load_on_gpus(model, spec.load),
        uses=uses,
        replicas=1 if isinstance(model.replicas, str) else model.replicas,
        shards=checked_shards(model),
        only=model.only,
        never=[*model.never, *kept_off(model, kinds, spec.gpus)],
        most_replicas=max(gpu_count // model.shards, 1) if auto else None,
        sleep_cost=_sleep_cost(model, spec) if model.may_sleep else None,
        shared_uses=shared,
        least_cache_gb=least_cache_gb(model),
        requests=requests,
    )


def _sleep_cost(model: ModelSpec, spec: FleetSpec) -> float:
    return model.importance * demand_of(model, windows_of(spec))


def _load_on_gpus(model: ModelSpec, form: str) -> float | list[float]:
    """Return the load of a model, counting keys and values as often as its shards repeat them.

    A model without a cache keeps a GPU busy, but does not push on its memory.
    """
    if model.load is None and has_no_cache(model):
        return 0.0
    load, repeats = load_of(model, form), cache_repeats(model)
    return [amount * repeats for amount in load] if isinstance(load, list) else load * repeats
