"""A config for Ray Serve LLM: one application with all models.

Ray cannot pin a replica to a GPU, nor choose its neighbours. The config says how much of a GPU each
model takes, and names a resource for each model that only its nodes have.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission, EmittedFile, NoteKind, notes_on
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.mps import FOLDER, mps_groups
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.engines.options import engine_options, kvcached_environment
from colocate.outputs.emit.engines.shares import MemoryShare
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.emit.targets.file_head import comments_on, open_door
from colocate.outputs.emit.targets.mps_daemons import daemon_scripts
from colocate.outputs.emit.targets.yaml_file import yaml_text
from colocate.solver.plan import Plan

HALF = 0.5
"""Two shards that take no more than this of a GPU fit on one."""
NOTES = (
    "Ray cannot pin a model to one GPU of a node: fractions keep each GPU within its memory, but "
    "models may share other GPUs than in the plan.",
    "Ray starts engines that share a GPU at the same time. Each takes a fixed amount of memory, so "
    "they do not take each other's. If one runs out of memory all the same, deploy again.",
)
DAEMON = "node"
"""The daemon of MPS of a machine: Ray chooses GPUs, so all engines of a machine have the same."""
MPS_NOTES = (
    "Engines that share a GPU compute at once, under MPS: run mps.sh start (with several machines, "
    "mps-NODE.sh; --out writes them) on each machine, as the user of Ray and before ray start, and "
    "mps.sh stop last.",
    "Ray restarts one replica at a time. After one under MPS has died, its neighbours may fail "
    "too, and MPS may take no new one until all of the machine have ended: serve shutdown, mps.sh "
    "stop and start, and deploy again. Ray pins no cores.",
)


def emit_ray(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return the config; the router of Ray has the base port.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = _without_sleep(launches_of(plan, fleet, settings, settings.base_port))
    resources = {name: f"colocate-{safe}" for name, safe in safe_names(fleet.models).items()}
    replicas: dict[str, list[Launch]] = {}
    for launch in fleetwide.launches:
        replicas.setdefault(launch.model, []).append(launch)
    application = {
        "name": "colocate",
        "route_prefix": "/",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {
            "llm_configs": [
                _model(launches, settings, resources[name]) for name, launches in replicas.items()
            ]
        },
    }
    document = {
        "http_options": {"host": settings.host, "port": settings.base_port},
        "applications": [application],
    }
    daemons = {
        node: [DAEMON] if mps_groups(launches, settings) else []
        for node, launches in fleetwide.nodes.items()
    }
    mps = MPS_NOTES if any(daemons.values()) else ()
    notes = (*NOTES, *_mixed(fleetwide), *_doubled(fleetwide), *mps)
    text = yaml_text([*_comments(fleetwide, resources), *notes], document)
    every = (*cautions(fleetwide), *notes_on(NoteKind.TARGET, notes))
    scripts = daemon_scripts(fleetwide, daemons, MPS_NOTES[:1])
    return Emission((EmittedFile("ray.yaml", text),), every, scripts)


def _without_sleep(fleetwide: Fleetwide) -> Fleetwide:
    """Return engines that always stay awake: Ray forwards nothing that puts them to sleep."""
    launches = (replace(launch, can_sleep=False) for launch in fleetwide.launches)
    return replace(fleetwide, launches=tuple(launches))


def _comments(fleetwide: Fleetwide, resources: dict[str, str]) -> list[str]:
    starts = []
    for node, launches in fleetwide.nodes.items():
        if node:
            counts = Counter(resources[launch.model] for launch in launches)
            starts.append(f"on {node}: ray start ... --resources='{json.dumps(counts)}'")
    return [
        "A colocate plan for Ray Serve LLM: serve deploy this file. Start the nodes of the cluster "
        "with:",
        *(starts or ["ray start --head"]),
        *comments_on(
            fleetwide, fleetwide.launches, open_door(fleetwide.settings, "The router listens")
        ),
    ]


def _mixed(fleetwide: Fleetwide) -> tuple[str, ...]:
    memories: dict[str, set[float]] = {}
    for device in fleetwide.fleet.devices.values():
        memories.setdefault(device.node, set()).add(device.memory_gb)
    return tuple(
        f"the GPUs of {node or 'the machine'} differ in memory, and Ray cannot tell them apart"
        for node, found in memories.items()
        if len(found) > 1
    )


def _doubled(fleetwide: Fleetwide) -> tuple[str, ...]:
    return tuple(
        f"Ray may put two shards of {launch.model} on one GPU, since each takes at most half of "
        "it: vLLM then refuses to start"
        for launch in fleetwide.launches
        if len(launch.gpus) > 1 and launch.share.gpu_fraction <= HALF
    )


def _model(replicas: list[Launch], settings: EmitSettings, resource: str) -> dict[str, Any]:
    """Return one model; to Ray its replicas are alike, so all get the share of the smallest."""
    launch = replace(
        replicas[0],
        share=_smallest([replica.share for replica in replicas]),
        kinds_without_bf16=tuple(
            kind for replica in replicas for kind in replica.kinds_without_bf16
        ),
    )
    options = {
        name.replace("-", "_"): value for name, value in engine_options(launch, settings).items()
    }
    fraction = launch.share.gpu_fraction
    bundle: dict[str, float] = {"CPU": 1, "GPU": fraction if fraction < 1 else 1}
    pinned = {**bundle, resource: 1} if launch.node else bundle
    variables = kvcached_environment(launch, settings)
    # All replicas share their environment, and so they would share a name.
    variables.pop("KVCACHED_IPC_NAME", None)
    if fraction < 1:
        variables["VLLM_RAY_PER_WORKER_GPUS"] = f"{fraction:g}"
    if fraction < 1 and settings.mps:
        variables["CUDA_MPS_PIPE_DIRECTORY"] = f"{FOLDER}/{DAEMON}"
    found: dict[str, Any] = {
        "model_loading_config": {"model_id": launch.model, "model_source": launch.source},
        "engine_kwargs": {**_keywords(launch), **options},
        "placement_group_config": {
            "bundles": [pinned, *([bundle] * (len(launch.gpus) - 1))],
            "strategy": "STRICT_PACK",
        },
        "deployment_config": {"num_replicas": len(replicas)},
    }
    return {**found, "runtime_env": {"env_vars": variables}} if variables else found


def _smallest(shares: list[MemoryShare]) -> MemoryShare:
    return MemoryShare(
        *(
            min(getattr(share, field) for share in shares)
            for field in MemoryShare.__dataclass_fields__
        )
    )


def _keywords(launch: Launch) -> dict[str, Any]:
    """Return the user's arguments as Python knows them: --max-num-seqs 64 is max_num_seqs=64."""
    found: dict[str, Any] = {}
    name = ""
    for argument in launch.args:
        if argument.startswith("--"):
            flag, equals, value = argument.removeprefix("--").partition("=")
            name = flag.replace("-", "_")
            found[name] = _value(value) if equals else True
            if equals or not name.startswith("no_"):
                continue
            del found[name]
            found[name.removeprefix("no_")] = False
            name = ""
        elif name and found[name] is True:
            found[name] = _value(argument)
        else:
            refused = f"has {argument!r}, which Ray cannot take"
            expected = "--option value or --option=value"
            owner = Owner("model", launch.model)
            raise InputError(Fault(refused, expected, path=("args",), owner=owner))
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
