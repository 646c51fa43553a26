"""A shell script that starts the engines of one machine, in waves, and stays with them.

Engines that share a GPU are never started at the same time: each looks at the memory that is free
when it starts, and would take its neighbour's for its own.
"""

import shlex
from collections.abc import Sequence

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_seconds
from colocate.outputs.emit.engines.mps import SharingGroup, core_shares, group_with, mps_groups
from colocate.outputs.emit.engines.options import COMMANDS, command, device_environment, environment
from colocate.outputs.emit.settings import EmitSettings, Memory
from colocate.outputs.emit.targets.file_head import comment_lines, comments_on
from colocate.outputs.emit.targets.free_memory import (
    SHARE_OF_FREE,
    depends_on_free_memory,
    share_of_free,
)
from colocate.outputs.emit.targets.node_files import by_node
from colocate.outputs.emit.targets.pinned_cores import PINNED, pinned
from colocate.outputs.emit.targets.shell_functions import FUNCTIONS
from colocate.outputs.emit.targets.shell_groups import FUNCTIONS_WITH_MPS
from colocate.solver.plan import Plan

EVERYWHERE = ("0.0.0.0", "::")

TOGETHER = (
    "Engines that share a GPU compute at once, under MPS. When one of them dies, the script "
    "restarts all that share its GPUs.",
)
DIRECTIVE = "# shellcheck disable=SC1003,SC2016 # names may look like escapes and variables\n"


def emit_scripts(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return one script for each machine.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)

    def text_of(node: str, launches: list[Launch]) -> str:
        return _script(fleetwide, node, launches)

    files = by_node(fleetwide, settings.engine, ".sh", text_of, executable=True)
    return Emission(files, cautions(fleetwide))


def _script(fleetwide: Fleetwide, node: str, launches: list[Launch]) -> str:
    settings = fleetwide.settings
    groups = mps_groups(launches, settings)
    where = f"on {node}" if node else "on the machine of the plan"
    shared = "fixed for each engine" if settings.memory is Memory.STATIC else "moved by kvcached"
    head = comment_lines(
        [
            f"Starts the engines of a colocate plan {where} ({settings.engine}; memory: {shared}).",
            "Runs as long as they do; Ctrl-C stops them all.",
            *(TOGETHER if groups else ()),
            "With start, stop, restart or status and names of engines, does that and ends.",
            *comments_on(fleetwide, launches),
        ]
    )
    functions = FUNCTIONS_WITH_MPS if groups else FUNCTIONS
    in_order = sorted(launches, key=lambda launch: launch.wave)
    parts = [
        f"#!/usr/bin/env bash\n{DIRECTIVE}{head}{functions}",
        _facts(launches, groups, settings),
        *(_engine(launch, groups, settings) for launch in in_order),
        'main "$@"\n',
    ]
    return "\n".join(parts)


def _facts(launches: list[Launch], groups: list[SharingGroup], settings: EmitSettings) -> str:
    """Return what the functions must know about this machine."""
    address = health_address(settings)
    longest = max(ready_seconds(launch, settings) for launch in launches)
    together = "yes" if groups else "no"
    lines = [
        "# Seconds that an engine may take until it answers.",
        f'READY_SECONDS="${{READY_SECONDS:-{longest}}}"',
        f"ADDRESS={shlex.quote(address)}",
        "# Whether the engines of a GPU are restarted together.",
        f"TOGETHER={together}",
    ]
    if any(depends_on_free_memory(launch, settings) for launch in launches):
        lines += [
            "# Starts SGLang with its share of what is free at that moment.",
            f"SHARE_OF_FREE={shlex.quote(SHARE_OF_FREE)}",
        ]
    if groups:
        lines += [
            "# Starts an engine on cores of its own.",
            f"PINNED={shlex.quote(PINNED)}",
            "# The daemons of MPS, and the GPUs that engines share under each.",
            *(shlex.join(["mps", group.name, _numbers(group.devices)]) for group in groups),
        ]
    return "\n".join(lines) + "\n"


def health_address(settings: EmitSettings) -> str:
    """Return the address under which a machine reaches its own engines."""
    address = "127.0.0.1" if settings.host in EVERYWHERE else settings.host
    return f"[{address}]" if ":" in address else address


def _engine(launch: Launch, groups: list[SharingGroup], settings: EmitSettings) -> str:
    variables = {**device_environment(launch), **environment(launch, settings)}
    assignments = [f"{name}={value}" for name, value in variables.items()]
    words = [shlex.quote(word) for word in command(launch, settings)]
    program = len(COMMANDS[settings.engine]) + 1
    facts = [launch.name, str(launch.port), str(launch.wave + 1), _numbers(launch.devices)]
    first = [shlex.join(["engine", *facts, "env", *assignments])]
    if group := group_with(launch, groups):
        first.append(f'CUDA_MPS_PIPE_DIRECTORY="$MPS/{group.name}"')
        cores = pinned(core_shares(groups)[launch.name], launch.name, "PINNED")
        first.append(shlex.join(cores).replace("PINNED", '"$PINNED"', 1))
    free = _numbers(launch.devices, ",")
    if found := share_of_free(launch, settings, free, "SHARE_OF_FREE"):
        first.append(shlex.join(found).replace("SHARE_OF_FREE", '"$SHARE_OF_FREE"'))
    said = comment_lines([f"{launch.model} on {', '.join(launch.gpus)}, wave {launch.wave + 1}"])
    return said + " \\\n  ".join([*first, " ".join(words[:program]), *words[program:]]) + "\n"


def _numbers(devices: Sequence[int], separator: str = " ") -> str:
    return separator.join(map(str, devices))
