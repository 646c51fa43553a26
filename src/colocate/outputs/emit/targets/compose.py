"""Files for docker compose, one for each machine."""

from dataclasses import replace
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.options import COMMANDS, command, device_environment, environment
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.emit.targets.amd import compose_fields
from colocate.outputs.emit.targets.containers import (
    CACHE_FOLDER,
    MODEL_FOLDER,
    READY_SECONDS,
    folder_of,
    health_probe,
    image_of,
    source_inside,
)
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.yaml_file import dollars_doubled, yaml_text
from colocate.solver.plan import Plan

CACHE = "huggingface"
INSIDE = 8000
"""The port inside a container; those outside differ."""


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
    return {
        "name": "colocate",
        "services": {launch.name: _service(launch, settings) for launch in launches},
        "volumes": {CACHE: {}},
    }


def _service(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    entry = list(COMMANDS[settings.engine])
    inner = replace(settings, host="0.0.0.0")
    words = command(replace(launch, port=INSIDE), inner, source_inside(launch))
    service: dict[str, Any] = {
        "image": dollars_doubled([image_of(settings, launch)])[0],
        "entrypoint": entry,
        "command": dollars_doubled(words[len(entry) :]),
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
        "healthcheck": _healthcheck(),
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
    numbers = [str(number) for number in launch.devices]
    device = {"driver": "nvidia", "device_ids": numbers, "capabilities": ["gpu"]}
    return {"deploy": {"resources": {"reservations": {"devices": [device]}}}}


def _healthcheck() -> dict[str, Any]:
    return {
        "test": ["CMD", *health_probe(INSIDE)],
        "interval": "10s",
        "timeout": "10s",
        "retries": 3,
        "start_period": f"{READY_SECONDS}s",
        "start_interval": "5s",
    }
