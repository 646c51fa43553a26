"""Configuration of the controller of kvcached, one file for each machine."""

import shlex
from collections import Counter
from dataclasses import replace
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.options import device_environment, engine_options, environment
from colocate.outputs.emit.settings import EmitSettings, Memory
from colocate.outputs.emit.targets.file_head import comments_on, open_door
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.yaml_file import yaml_text
from colocate.solver.plan import Plan

DELAY_SECONDS = 60
"""Between starts: the controller waits for a time and not for an answer."""


def emit_kvcached(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return a file for each machine; its router has the base port, the engines those above.

    The parameters are those of `catalogue.emit`.
    """
    settings = replace(settings, memory=Memory.KVCACHED)
    fleetwide = launches_of(plan, fleet, settings, settings.base_port + 1)

    def text_of(node: str, launches: list[Launch]) -> str:
        return yaml_text(_comments(fleetwide, node, launches), _config(settings, launches))

    twice = [
        f"{node or 'the machine'} has {count} engines that load {source}: the kvcached router "
        "tells engines apart by what they load, so it may send all requests to one of them"
        for node, launches in fleetwide.nodes.items()
        for source, count in Counter(launch.source for launch in launches).items()
        if count > 1
    ]
    return Emission(
        by_node(fleetwide, "kvcached", ".yaml", text_of), (*cautions(fleetwide), *twice)
    )


def _comments(fleetwide: Fleetwide, node: str, launches: list[Launch]) -> list[str]:
    router = fleetwide.settings.base_port
    called = [
        f"clients ask the router for {launch.source} to get {launch.model}"
        for launch in launches
        if launch.source != launch.model
    ]
    return [
        f"kvcached controller for a colocate plan{f' on {node}' if node else ''}: "
        f"python launch.py --config this file; clients ask port {router}.",
        f"Engines start {DELAY_SECONDS} s apart. The controller does not wait until they answer: "
        "raise launch_delay_seconds if loading takes longer.",
        *dict.fromkeys(called),
        *comments_on(fleetwide, launches, open_door(fleetwide.settings, "The router listens")),
    ]


def _config(settings: EmitSettings, launches: list[Launch]) -> dict[str, Any]:
    return {
        "kvcached": {
            "kvcached_page_prealloc_enabled": True,
            "kvcached_min_reserved_pages": 5,
            "kvcached_max_reserved_pages": 10,
        },
        "router": {
            "enable_router": True,
            "router_port": settings.base_port,
            "router_host": settings.host,
        },
        "sleep_manager": {"auto_sleep_enabled": False, "wakeup_on_request": True},
        "launch_delay_seconds": DELAY_SECONDS,
        "instances": [
            _instance(launch, settings) for launch in sorted(launches, key=lambda la: la.wave)
        ],
    }


def _instance(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    """Return one engine; the controller splits each argument as a shell would, so they are quoted.

    Its name goes into a shell unquoted, so it must be a safe one.
    """
    options = {"host": "localhost", "port": launch.port, **engine_options(launch, settings)}
    arguments = [*launch.args, *(f"--{name}={value}" for name, value in options.items())]
    return {
        "name": launch.name,
        "model": launch.source,
        "engine": settings.engine.value,
        "using_venv": True,
        "venv_path": settings.venv,
        "kvcached_env": _assignments(environment(launch, settings)),
        "engine_env": _assignments(device_environment(launch)),
        "engine_args": [shlex.quote(argument) for argument in arguments],
    }


def _assignments(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]
