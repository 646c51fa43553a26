"""The engines to start: one for each replica of each model that is awake."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Device, Fleet
from colocate.inputs.format_support import Maker, capability_of, maker_of
from colocate.inputs.least_cache import longest_context
from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.engines.names import replica_names, safe_names
from colocate.outputs.emit.engines.shares import EngineRoom, MemoryShare, rooms_of, shares_of
from colocate.outputs.emit.engines.weight_formats import (
    full_weights_gb,
    has_bf16,
    made_while_loading,
    must_be_on_disk,
)
from colocate.outputs.emit.gateway_settings import LAST_PORT
from colocate.outputs.emit.settings import EmitSettings, Engine, RunningEngine
from colocate.problem.parts import parts_of, replicas_in
from colocate.problem.tolerance import LONG_SUM
from colocate.solver.plan import Plan

DECIDED = {
    "--port": "--base-port",
    "--host": "--host",
    "--model": "source in the fleet file",
    "--model-path": "source in the fleet file",
    "--served-model-name": "name in the fleet file",
    "--tensor-parallel-size": "shards in the fleet file",
    "-tp": "shards in the fleet file",
    "--tp": "shards in the fleet file",
    "--tp-size": "shards in the fleet file",
    "--base-gpu-id": "the plan",
    "--gpu-memory-utilization": "--memory",
    "--kv-cache-memory-bytes": "--memory",
    "--mem-fraction-static": "--memory",
    "--max-model-len": "max_model_len in the fleet file",
    "--context-length": "max_model_len in the fleet file",
}
"""Arguments that users may not give, and what decides on them instead."""

MOST_FILLED = 0.95
"""The share of a GPU that kvcached may fill at most: its own default."""


@dataclass(frozen=True)
class Launch:
    """One engine to start."""

    name: str
    """Unique, and safe everywhere."""
    model: str
    """What clients ask for: any text."""
    source: str
    """What the engine loads: any text, but no option."""
    spec: ModelSpec
    args: tuple[str, ...]
    """Further arguments of the user for this engine."""
    node: str
    """The machine, empty where there is only one."""
    gpus: tuple[str, ...]
    devices: tuple[int, ...]
    """The numbers of its GPUs on the machine, in the order of its shards."""
    kinds_without_bf16: tuple[str, ...]
    """Of its GPUs; on these, weights in 16 bits must be float16."""
    port: int
    after: tuple[str, ...]
    """Names of the engines on its GPUs that must answer before it is started."""
    wave: int
    """Engines of one wave share no GPU, and wait only for engines of earlier waves."""
    share: MemoryShare
    context: int | None
    """Tokens of the longest request that it can serve; None if that is not known."""
    kvcached_utilization: float
    """The share of a GPU that kvcached may fill."""
    maker: Maker = Maker.NVIDIA
    """Of its GPUs."""
    generation: int = 0
    """The number of its GPUs' generation, as `inputs.format_support` counts; 0 if unknown."""
    can_sleep: bool = False
    """Whether it is started so that it can make room for others for a while."""
    uneven: bool = False
    """Whether its GPUs may differ in free memory when it is started."""
    crowded: bool = False
    """Whether other engines are on its GPUs."""


@dataclass(frozen=True)
class Fleetwide:
    """All engines of a plan, and what does not run."""

    launches: tuple[Launch, ...]
    asleep: tuple[ModelSpec, ...]
    settings: EmitSettings
    fleet: Fleet
    rooms: Mapping[str, EngineRoom]
    """What stays free of each GPU, by its name."""

    @property
    def nodes(self) -> dict[str, list[Launch]]:
        """The engines of each machine, in the order of the fleet."""
        found: dict[str, list[Launch]] = {}
        for gpu in self.fleet.problem.gpus:
            found.setdefault(gpu.node, [])
        for launch in self.launches:
            found[launch.node].append(launch)
        return {node: launches for node, launches in found.items() if launches}


class _Replica(NamedTuple):
    """One replica of a model; its number among all of the plan decides on its port."""

    number: int
    model: str
    replica: int
    gpus: tuple[str, ...]


class _Address(NamedTuple):
    """What an engine is called, and where it listens."""

    name: str
    port: int


def launches_of(plan: Plan, fleet: Fleet, settings: EmitSettings, first_port: int) -> Fleetwide:
    """Return the engines that a plan starts.

    Engines that make fp8 while they load may need the memory of 16 bits for a while, so they are
    the first on their GPUs, and of these the largest. Then come those with the most shards: SGLang
    refuses to start where others have left its GPUs with unequal memory.

    Parameters
    ----------
    plan
        Which replica is on which GPUs.
    fleet
        What is known about the models and GPUs.
    settings
        Choices of the user.
    first_port
        The port of the first engine; the others count up from it.
    """
    specs = {name: _checked(spec) for name, spec in fleet.models.items()}
    args = {name: tuple(spec.arguments_for(settings.engine.value)) for name, spec in specs.items()}
    made = {name for name, spec in specs.items() if made_while_loading(spec, args[name]) == "fp8"}
    replicas = sorted(
        _replicas(plan),
        key=lambda replica: (
            -full_weights_gb(specs[replica.model]) * (replica.model in made),
            -len(replica.gpus),
        ),
    )
    rooms = rooms_of(plan, fleet)
    shares = shares_of(plan, fleet, [(replica.model, replica.replica) for replica in replicas])
    usual = replica_names(safe_names(specs), replicas_in(plan.problem, plan.placement))
    addresses = _addresses(replicas, usual, settings.running, first_port)
    usable = {gpu.name: gpu.memory_gb for gpu in plan.problem.gpus}
    crowd = {gpu: len(models) for gpu, models in plan.models_by_gpu().items()}
    last: dict[str, Launch] = {}
    launches = []
    for (number, model, _, gpus), share in zip(replicas, shares, strict=True):
        before = {last[gpu].name: last[gpu].wave for gpu in gpus if gpu in last}
        devices = [fleet.devices[gpu] for gpu in gpus]
        filled = min(usable[gpu] / fleet.devices[gpu].memory_gb for gpu in gpus)
        launch = Launch(
            addresses[number].name,
            model,
            specs[model].source or model,
            specs[model],
            args[model],
            devices[0].node,
            gpus,
            tuple(device.number for device in devices),
            tuple(dict.fromkeys(d.kind for d in devices if not has_bf16(d.kind))),
            addresses[number].port,
            tuple(before),
            1 + max(before.values(), default=-1),
            share,
            longest_context(specs[model], share.cache_gb * len(gpus)),
            min(MOST_FILLED, int(filled * (1 + LONG_SUM) * 10_000) / 10_000),
            maker_of(devices[0].kind),
            known.number if (known := capability_of(devices[0].kind)) else 0,
            specs[model].may_sleep and _can_sleep(maker_of(devices[0].kind), settings),
            _is_uneven(devices, [crowd[gpu] for gpu in gpus]),
            any(crowd[gpu] > 1 for gpu in gpus),
        )
        last |= dict.fromkeys(gpus, launch)
        launches.append(launch)
    asleep = tuple(spec for name, spec in specs.items() if not plan.placement[name])
    launches.sort(key=lambda launch: launch.port)
    return Fleetwide(tuple(launches), asleep, settings, fleet, rooms)


def _replicas(plan: Plan) -> list[_Replica]:
    """Return all replicas in the order of the problem."""
    parts = parts_of(plan.problem, plan.placement)
    by_replica = groupby(parts, key=lambda part: (part.model.name, part.replica))
    return [
        _Replica(number, model, replica, tuple(part.gpu for part in shards))
        for number, ((model, replica), shards) in enumerate(by_replica)
    ]


def _addresses(
    replicas: Sequence[_Replica],
    usual: Mapping[tuple[str, int], str],
    running: Sequence[RunningEngine],
    first_port: int,
) -> dict[int, _Address]:
    """Return the name and port of every replica: its own if it runs, else one that is free.

    Parameters
    ----------
    replicas, usual
        The replicas, and the name that each would have.
    running
        Engines that run already.
    first_port
        The first port that may be free.
    """
    known = {(each.model, frozenset(each.gpus)): each for each in running}
    names = {each.name for each in running}
    ports = {each.port for each in running}
    free = (port for port in count(first_port) if port not in ports)
    found: dict[int, _Address] = {}
    for each in sorted(replicas):
        kept = known.get((each.model, frozenset(each.gpus)))
        name = kept.name if kept else usual[each.model, each.replica]
        if not kept:
            others = {*names, *usual.values()} - {name}
            if name in names:
                name = next(n for k in count(2) if (n := f"{name}-{k}") not in others)
            names.add(name)
        found[each.number] = _Address(name, kept.port if kept else _port(next(free)))
    return found


def _can_sleep(maker: Maker, settings: EmitSettings) -> bool:
    """Return whether an engine can sleep.

    SGLang needs torch_memory_saver for that, which its packages for AMD leave out.
    """
    return settings.engine is Engine.VLLM or maker is not Maker.AMD


def _is_uneven(devices: Sequence[Device], crowd: Sequence[int]) -> bool:
    """Return whether the GPUs of a replica differ in memory, or others hold some of it.

    Those may be there first, since an engine can also be restarted alone.
    """
    if len(devices) == 1:
        return False
    return any(count > 1 for count in crowd) or len({d.memory_gb for d in devices}) > 1


def _port(port: int) -> int:
    if port > LAST_PORT:
        raise InputError(Fault(f"port {port} does not exist", advice="give a lower --base-port"))
    return port


def _checked(spec: ModelSpec) -> ModelSpec:
    """Return a model whose texts can be arguments, or refuse it."""
    owner = Owner("model", spec.name)
    _refuse_control(owner, "source", [spec.source or ""])
    args = [argument for engine in Engine for argument in spec.arguments_for(engine.value)]
    _refuse_control(owner, "args", args)
    source = spec.source or spec.name
    if source.startswith("-"):
        found = "begins with a dash and would be taken for an option"
        expected = "what engines load (a path can begin with ./)"
        raise InputError(Fault(found, expected, value=source, path=("source",), owner=owner))
    if spec.quantised_on_disk is False and must_be_on_disk(spec, args):
        fault = Fault(
            "with quantised_on_disk=false, but engines cannot make it while loading",
            "a dtype that they can make (fp8, nf4)",
            "or name a source that is so already",
            value=spec.dtype,
            path=("dtype",),
            owner=owner,
        )
        raise InputError(fault)
    for argument in args:
        flag = argument.split("=", 1)[0].split(" ", 1)[0].replace("_", "-")
        if flag in DECIDED:
            found = f"has {flag}, which is decided by {DECIDED[flag]}"
            raise InputError(Fault(found, advice="leave it out", path=("args",), owner=owner))
    return spec


def _refuse_control(owner: Owner, field: str, texts: Iterable[str]) -> None:
    for text in texts:
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
            found, expected = f"has {text!r}", "without control characters"
            raise InputError(Fault(found, expected, path=(field,), owner=owner))
