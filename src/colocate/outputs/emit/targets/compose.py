"""Files for docker compose, one for each machine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_seconds
from colocate.outputs.emit.engines.options import COMMANDS, command, device_environment, environment
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.emit.targets.amd import compose_fields
from colocate.outputs.emit.targets.containers import (
    CACHE_FOLDER,
    MODEL_FOLDER,
    MPS_FOLDER,
    folder_of,
    health_probe,
    image_of,
    source_inside,
)
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.free_memory import share_of_free
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.yaml_file import dollars_doubled, yaml_text
from colocate.solver.plan import Plan

CACHE = "huggingface"
INSIDE = 8000
"""The port inside a container; those outside differ."""
MPS = "nvidia-mps"
"""The service and the volume of MPS."""
MPS_VARIABLES = {"CUDA_MPS_PIPE_DIRECTORY": MPS_FOLDER}


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
            *comments_on(fleetwide, launches),
        ]
        return yaml_text(comments, _project(fleetwide, launches))

    return Emission(by_node(fleetwide, "compose", ".yaml", text_of), cautions(fleetwide))


def _project(fleetwide: Fleetwide, launches: list[Launch]) -> dict[str, Any]:
    settings = fleetwide.settings
    services = {launch.name: _service(launch, settings) for launch in launches}
    if settings.mps:
        services[MPS] = _mps_service(launches, settings)
    volumes: dict[str, Any] = {CACHE: {}, **({MPS: {}} if settings.mps else {})}
    return {"name": "colocate", "services": services, "volumes": volumes}


def _mps_service(launches: list[Launch], settings: EmitSettings) -> dict[str, Any]:
    """Return the daemon of MPS; its program comes from the driver, into any image."""
    numbers = sorted({number for launch in launches for number in launch.devices})
    return {
        "image": dollars_doubled([image_of(settings, launches[0])])[0],
        "entrypoint": ["nvidia-cuda-mps-control", "-f"],
        "environment": {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **MPS_VARIABLES},
        "ipc": "host",
        "volumes": [_volume("volume", MPS, MPS_FOLDER)],
        **_reserved(numbers),
        "healthcheck": {
            "test": ["CMD-SHELL", "echo get_server_list | nvidia-cuda-mps-control"],
            "interval": "5s",
            "retries": 6,
        },
        "restart": "on-failure:3",
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
            **(MPS_VARIABLES if settings.mps else {}),
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
    before = [*([MPS] if settings.mps else []), *launch.after]
    if settings.mps:
        service["volumes"].append(_volume("volume", MPS, MPS_FOLDER))
    if before:
        healthy = {"condition": "service_healthy"}
        service["depends_on"] = dict.fromkeys(before, healthy)
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
