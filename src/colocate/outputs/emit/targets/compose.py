"""Files for docker compose, one for each machine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_by, ready_seconds
from colocate.outputs.emit.engines.mps import (
    STOP_SECONDS,
    SharingGroup,
    core_shares,
    group_with,
    mps_groups,
)
from colocate.outputs.emit.engines.options import COMMANDS, command, device_environment, environment
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.emit.targets.amd import compose_fields
from colocate.outputs.emit.targets.containers import (
    CACHE_FOLDER,
    MODEL_FOLDER,
    folder_of,
    health_probe,
    image_of,
    source_inside,
)
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.free_memory import share_of_free
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.together import together
from colocate.outputs.emit.targets.yaml_file import dollars_doubled, yaml_text
from colocate.solver.plan import Plan

CACHE = "huggingface"
TOGETHER = (
    "Engines that share a GPU compute at once, under MPS. When one of them ends, all that share "
    "its GPUs restart.",
)
INSIDE = 8000
"""The port inside a container; those outside differ."""
MPS_FOLDER, PIPES, GENERATIONS = "/mps", "/mps/pipes", "/mps/engines"
"""Inside containers that share GPUs: their volume, where MPS listens, what they know of each
other."""
SPARE_SECONDS = 10
"""Beyond what an engine has to finish, so that the program that starts it ends in peace."""
START_DAEMON = f"rm -rf {PIPES} && mkdir -p {PIPES} && exec nvidia-cuda-mps-control -f"


def emit_compose(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return a file for each machine; compose knows only its own.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)

    def text_of(node: str, launches: list[Launch]) -> str:
        on = f" on {node}" if node else ""
        comments = [
            f"A colocate plan{on}: docker compose --file this file up --detach --wait",
            "Each engine starts once those before it on its GPUs are healthy.",
            *(TOGETHER if mps_groups(launches, settings) else ()),
            *comments_on(fleetwide, launches),
        ]
        return yaml_text(comments, _project(fleetwide, launches))

    return Emission(by_node(fleetwide, "compose", ".yaml", text_of), cautions(fleetwide))


def _project(fleetwide: Fleetwide, launches: list[Launch]) -> dict[str, Any]:
    settings = fleetwide.settings
    groups = mps_groups(launches, settings)
    services = {launch.name: _service(launch, settings) for launch in launches}
    for group in groups:
        for launch in group.launches:
            _join(services[launch.name], launch, groups, settings)
        services[_daemon(group)] = _mps_service(group, settings)
    volumes: dict[str, Any] = {CACHE: {}, **{_volume_of(group): {} for group in groups}}
    return {"name": "colocate", "services": services, "volumes": volumes}


def _daemon(group: SharingGroup) -> str:
    """Return the service of MPS; no engine has a dot in its name."""
    return f"nvidia-mps.{group.name}"


def _volume_of(group: SharingGroup) -> str:
    return f"nvidia-mps-{group.name}"


def _join(
    service: dict[str, Any], launch: Launch, groups: Sequence[SharingGroup], settings: EmitSettings
) -> None:
    """Let an engine compute under MPS, and restart together with those that share its GPUs."""
    group = group_with(launch, groups)
    assert group is not None
    started = ready_by(group.launches, settings)
    seconds = started[launch.name] - ready_seconds(launch, settings)
    urls = [f"http://{name}:{INSIDE}/health" for name in launch.after]
    share = core_shares(groups)[launch.name]
    words = dollars_doubled(together(GENERATIONS, launch.name, share, urls, seconds))
    service["entrypoint"] = [*words, *service["entrypoint"]]
    service["environment"]["CUDA_MPS_PIPE_DIRECTORY"] = PIPES
    service["volumes"].append(_volume("volume", _volume_of(group), MPS_FOLDER))
    service["healthcheck"] = _healthcheck(started[launch.name])
    service["restart"] = "on-failure"
    service["stop_grace_period"] = f"{STOP_SECONDS + SPARE_SECONDS}s"
    daemon = {_daemon(group): {"condition": "service_healthy"}}
    service["depends_on"] = {**daemon, **service.get("depends_on", {})}


def _mps_service(group: SharingGroup, settings: EmitSettings) -> dict[str, Any]:
    """Return the daemon of MPS; its program comes from the driver, into any image.

    It sees the processes of the machine, since it serves those of other containers.
    """
    return {
        "image": dollars_doubled([image_of(settings, group.launches[0])])[0],
        "entrypoint": ["sh", "-c", START_DAEMON],
        "environment": {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_MPS_PIPE_DIRECTORY": PIPES,
            "CUDA_MPS_LOG_DIRECTORY": "/var/log/nvidia-mps",
        },
        "ipc": "host",
        "pid": "host",
        "volumes": [_volume("volume", _volume_of(group), MPS_FOLDER)],
        **_reserved(group.devices),
        "healthcheck": {
            "test": ["CMD-SHELL", "echo get_server_list | nvidia-cuda-mps-control"],
            "interval": "5s",
            "retries": 6,
        },
        "restart": "unless-stopped",
    }


def _service(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    program = COMMANDS[settings.engine]
    inner = replace(settings, host="0.0.0.0")
    words = command(replace(launch, port=INSIDE), inner, source_inside(launch))
    service: dict[str, Any] = {
        "image": dollars_doubled([image_of(settings, launch)])[0],
        "entrypoint": dollars_doubled([*share_of_free(launch, settings), *program]),
        "command": dollars_doubled(words[len(program) :]),
        "environment": {
            "HF_TOKEN": None,
            "HF_HOME": CACHE_FOLDER,
            **(device_environment(launch) if launch.maker is Maker.AMD else {}),
            **environment(launch, settings),
        },
        "ipc": "host",
        "ports": [_port(launch, settings)],
        "volumes": [_volume("volume", CACHE, CACHE_FOLDER)],
        **_gpu_fields(launch),
        "healthcheck": _healthcheck(ready_seconds(launch, settings)),
        "restart": "on-failure:3",
    }
    if folder := folder_of(launch):
        bound = _volume("bind", dollars_doubled([folder])[0], MODEL_FOLDER)
        service["volumes"].append({**bound, "read_only": True})
    if launch.after:
        healthy = {"condition": "service_healthy"}
        service["depends_on"] = dict.fromkeys(launch.after, healthy)
    return service


def _port(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    host = dollars_doubled([settings.host])[0]
    return {"target": INSIDE, "published": str(launch.port), "host_ip": host}


def _volume(kind: str, source: str, target: str) -> dict[str, Any]:
    return {"type": kind, "source": source, "target": target}


def _gpu_fields(launch: Launch) -> dict[str, Any]:
    if launch.maker is Maker.AMD:
        return compose_fields()
    return _reserved(launch.devices)


def _reserved(numbers: Sequence[int]) -> dict[str, Any]:
    """Return what gives a service some GPUs of NVIDIA, by their numbers."""
    names = [str(number) for number in numbers]
    device = {"driver": "nvidia", "device_ids": names, "capabilities": ["gpu"]}
    return {"deploy": {"resources": {"reservations": {"devices": [device]}}}}


def _healthcheck(seconds: int) -> dict[str, Any]:
    return {
        "test": ["CMD", *health_probe(INSIDE)],
        "interval": "10s",
        "timeout": "10s",
        "retries": 3,
        "start_period": f"{seconds}s",
        "start_interval": "5s",
    }
