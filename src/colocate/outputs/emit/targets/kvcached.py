"""Configuration of the controller of kvcached, one file for each machine."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission, NoteKind, notes_on
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import STEP_SECONDS, weights_on_disk_gb
from colocate.outputs.emit.engines.mps import SharingGroup, group_with, mps_groups
from colocate.outputs.emit.engines.options import (
    arguments,
    device_environment,
    engine_environment,
    engine_options,
    kvcached_environment,
    sleep_arguments,
)
from colocate.outputs.emit.settings import EmitSettings, Memory
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.mps_daemons import daemon_scripts
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.yaml_file import yaml_text
from colocate.solver.plan import Plan

GET_READY_SECONDS = 60
"""Between starts, beside the time to load: to import and to capture graphs. The controller waits
for a time and not for an answer."""
IDLE_SECONDS = 300
"""Without a request, after which a model may sleep: the default of kvcached."""
DOOR = (
    "The router listens on all addresses of the machine, whatever --host says, and asks for no "
    "key: anyone who reaches it may use the models and put them to sleep."
)
TMUX = (
    "The controller needs tmux: each engine runs in a session kvcached-NAME, and the router in "
    "kvcached-frontend. Start it from the virtual environment that has kvcached, since the router "
    "runs the python of PATH. python launch.py --kill-all stops everything."
)
WHEN_MPS = (
    "Engines that share a GPU compute at once, under MPS: run mps.sh start (with several machines, "
    "mps-NODE.sh; --out writes them) as the same user before the controller, and mps.sh stop after "
    "it."
)
WITHOUT_SUPERVISOR = (
    "the kvcached controller does not watch engines: after one under MPS has died, stop it with "
    "python launch.py --kill-all, run mps.sh stop and start, and launch again. It pins no cores."
)


def emit_kvcached(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return a file for each machine; its router has the base port, the engines those above.

    The parameters are those of `catalogue.emit`.
    """
    settings = replace(settings, memory=Memory.KVCACHED)
    fleetwide = launches_of(plan, fleet, settings, settings.base_port + 1)

    def text_of(node: str, launches: list[Launch]) -> str:
        in_order = sorted(launches, key=lambda launch: launch.wave)
        return yaml_text(_comments(fleetwide, node, launches), _config(settings, in_order))

    twice = [
        f"{node or 'the machine'} has {count} engines that load {source}: the kvcached router "
        "tells engines apart by what they load, so it may send all requests to one of them"
        for node, launches in fleetwide.nodes.items()
        for source, count in Counter(launch.source for launch in launches).items()
        if count > 1
    ]
    groups = {node: mps_groups(las, settings) for node, las in fleetwide.nodes.items()}
    alone = (WITHOUT_SUPERVISOR,) if any(groups.values()) else ()
    notes = (*cautions(fleetwide), *notes_on(NoteKind.TARGET, (*twice, TMUX, *alone)))
    names = {node: [group.name for group in found] for node, found in groups.items()}
    return Emission(
        by_node(fleetwide, "kvcached", ".yaml", text_of),
        notes,
        daemon_scripts(fleetwide, names, [WHEN_MPS]),
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
        TMUX,
        *([WHEN_MPS] if mps_groups(launches, fleetwide.settings) else []),
        f"Engines start {_delay(launches, fleetwide.settings)} s apart, time for the largest that "
        f"others wait for to load at {fleetwide.settings.load_gb_per_second:g} GB/s. The "
        "controller does not wait until they answer: raise launch_delay_seconds if loading takes "
        "longer.",
        *dict.fromkeys(called),
        *comments_on(fleetwide, launches, DOOR),
        *_on_sleep(launches, fleetwide.settings),
    ]


def _on_sleep(launches: list[Launch], settings: EmitSettings) -> list[str]:
    """Return sentences on when models sleep."""
    may = [launch.source for launch in launches if launch.can_sleep]
    if not may:
        return []
    asked = "POST /action/sleep/MODEL to the router puts a model to sleep; a request wakes it up."
    if len(may) == len(launches):
        return [
            f"All models here may sleep, so each does after {IDLE_SECONDS} s without a request."
        ]
    return [f"May sleep: {', '.join(may)}. {asked}"]


def _delay(launches: list[Launch], settings: EmitSettings) -> int:
    """Return the seconds between starts: what the slowest engine takes that others wait for."""
    awaited = {name for launch in launches for name in launch.after}
    loads = [weights_on_disk_gb(la.spec, la.args) for la in launches if la.name in awaited]
    seconds = GET_READY_SECONDS + max(loads, default=0.0) / settings.load_gb_per_second
    return ceil(seconds / STEP_SECONDS) * STEP_SECONDS


def _sleep_manager(launches: list[Launch], settings: EmitSettings) -> dict[str, Any]:
    """Return when models sleep: after a while without requests, if all of a machine may.

    The controller cannot choose among them. A request for one that has just fallen asleep would
    fail if it had to sleep for a least time.
    """
    may = [launch for launch in launches if launch.can_sleep]
    return {
        "auto_sleep_enabled": bool(may) and len(may) == len(launches),
        "wakeup_on_request": True,
        "idle_threshold_seconds": IDLE_SECONDS,
        "min_sleep_duration": 0,
    }


def config_text(launches: Sequence[Launch], settings: EmitSettings, router: bool) -> str:
    """Return a file for some engines of a machine, with a router before them or without.

    Parameters
    ----------
    launches, settings
        The engines in the order of the file, and the choices of the user. Of two engines that load
        one source, a router sends all requests to the last.
    router
        Whether the controller starts a router too.
    """
    elastic = replace(settings, memory=Memory.KVCACHED)
    config = _config(elastic, list(launches))
    config["router"]["enable_router"] = router
    return yaml_text(["Some engines of a colocate plan, for the controller of kvcached."], config)


def _config(settings: EmitSettings, launches: list[Launch]) -> dict[str, Any]:
    groups = mps_groups(launches, settings)
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
        "sleep_manager": _sleep_manager(launches, settings),
        "launch_delay_seconds": _delay(launches, settings),
        "instances": [
            _instance(launch, group_with(launch, groups), settings) for launch in launches
        ],
    }


def _instance(launch: Launch, group: SharingGroup | None, settings: EmitSettings) -> dict[str, Any]:
    """Return one engine; the controller splits each argument as a shell would, so they are quoted.

    Its name goes into a shell unquoted, so it must be a safe one.
    """
    options = {"host": "localhost", "port": launch.port, **engine_options(launch, settings)}
    words = [*launch.args, *arguments(options), *sleep_arguments(launch, settings)]
    return {
        "name": launch.name,
        "model": launch.source,
        "engine": settings.engine.value,
        "using_venv": True,
        "venv_path": settings.venv,
        "kvcached_env": _assignments(kvcached_environment(launch, settings)),
        "engine_env": _assignments(
            {
                **device_environment(launch),
                **engine_environment(launch, settings),
                **({"CUDA_MPS_PIPE_DIRECTORY": group.folder} if group else {}),
            }
        ),
        "engine_args": [shlex.quote(word) for word in words],
    }


def _assignments(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]
