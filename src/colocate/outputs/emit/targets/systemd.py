"""Units of systemd: a service for each engine of a machine, and a target that groups them.

A unit counts as started once its engine answers. `After=` alone orders the engines of a GPU: it
holds where several start at once, and leaves the others alone when one of them is restarted.
"""

import shlex
from collections.abc import Sequence

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission, EmittedFile
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_seconds
from colocate.outputs.emit.engines.mps import SharingGroup, core_shares, group_with, mps_groups
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.engines.options import command, device_environment, environment
from colocate.outputs.emit.settings import USUAL_VENV, EmitSettings
from colocate.outputs.emit.targets.file_head import comment_lines, comments_on
from colocate.outputs.emit.targets.free_memory import share_of_free
from colocate.outputs.emit.targets.pinned_cores import pinned
from colocate.outputs.emit.targets.shell_script import health_address
from colocate.outputs.emit.targets.systemd_mps import (
    daemon_text,
    daemon_unit,
    pipes_of,
    together_text,
    together_unit,
)
from colocate.outputs.text.sanitise import one_line
from colocate.solver.plan import Plan

USER, HOME = "colocate", "/var/lib/colocate"
ENVIRONMENT_FILE = "/etc/colocate/environment"
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STOP_SECONDS, RESTART_SECONDS = 60, 10
"""How long an engine may take to finish its requests, and the pause before it is started again."""
MOST_STARTS = "StartLimitIntervalSec=1h\nStartLimitBurst=5"
LONGEST_DESCRIPTION = 200
"""Letters; journals show a line of them."""
DEVICES = {
    Maker.NVIDIA: "# Makes the devices, which needs more rights than an engine has.\n"
    "ExecStartPre=-+/usr/bin/env nvidia-modprobe -u -c 0\n",
    Maker.AMD: "# Who may use the devices.\nSupplementaryGroups=video render\n",
}
"""By maker: what an engine needs to reach its GPUs."""
UNTIL_HEALTHY = (
    'until curl --silent --fail --noproxy "*" --max-time 5 --output /dev/null "$1"; '
    'do kill -0 "$MAINPID" || exit 1; sleep 1; done'
)
HARDENING = """\
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
LockPersonality=yes
"""
"""What CUDA can do without. It needs its devices, and memory that is written and then run: never
add PrivateDevices= or MemoryDenyWriteExecute=."""


def emit_systemd(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return the units of each machine; a target is the first of them.

    The parameters are those of `catalogue.emit`.
    """
    if settings.venv != USUAL_VENV and not settings.venv.startswith("/"):
        raise InputError.of("venv", settings.venv, "an absolute path for systemd")
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)
    names = safe_names(fleetwide.nodes)
    files: list[EmittedFile] = []
    for node, launches in fleetwide.nodes.items():
        group = f"colocate-{names[node]}.target" if node else "colocate.target"
        shared = mps_groups(launches, settings)
        files.append(EmittedFile(group, _target(fleetwide, node, launches, group), node))
        for launch in launches:
            text = _service(launch, shared, settings, group)
            files.append(EmittedFile(_unit(launch.name), text, node))
        for each in shared:
            units = [_unit(launch.name) for launch in each.launches]
            daemon = daemon_text(each, group, USER)
            restart = together_text(each, group, units, MOST_STARTS)
            files.append(EmittedFile(daemon_unit(each, group), daemon, node))
            files.append(EmittedFile(together_unit(each, group), restart, node))
    return Emission(tuple(files), cautions(fleetwide))


def quoted_word(text: str) -> str:
    """Return a word of a command line in which systemd sees no variable, specifier or escape."""
    return _quoted(text.replace("$", "$$"))


def _quoted(text: str) -> str:
    """Return a text between quotes, as an assignment of Environment= or a word."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace("%", "%%")}"'


def _unit(name: str) -> str:
    return f"colocate-{name}.service"


def _target(fleetwide: Fleetwide, node: str, launches: Sequence[Launch], name: str) -> str:
    comments = [
        f"A colocate plan{f' on {node}' if node else ''}. Copy its units to /etc/systemd/system, "
        f"then: systemctl daemon-reload && systemctl enable --now {name}",
        f"Engines run as the user {USER}: useradd --system --home-dir {HOME} {USER}",
        f"PATH, HF_TOKEN and the like go to {ENVIRONMENT_FILE}.",
        "One engine: systemctl restart colocate-NAME. Its output: journalctl --unit colocate-NAME.",
        *_together(mps_groups(launches, fleetwide.settings)),
        *comments_on(fleetwide, launches),
    ]
    units = " ".join(_unit(launch.name) for launch in launches)
    where = one_line(node, LONGEST_DESCRIPTION).replace("%", "%%")
    description = f"Engines of a colocate plan{f' on {where}' if where else ''}."
    return comment_lines(comments) + (
        f"\n[Unit]\nDescription={description}\nWants={units}\n"
        "\n[Install]\nWantedBy=multi-user.target\n"
    )


def _together(groups: Sequence[SharingGroup]) -> list[str]:
    """Return which engines are to be restarted in one command."""
    return [
        "These share a GPU under MPS, and all restart when one fails. By hand: systemctl restart "
        + " ".join(_unit(launch.name) for launch in group.launches)
        for group in groups
    ]


def _service(
    launch: Launch, groups: Sequence[SharingGroup], settings: EmitSettings, target: str
) -> str:
    said = one_line(f"{launch.model} on {', '.join(launch.gpus)}", LONGEST_DESCRIPTION)
    before = [_unit(name) for name in launch.after]
    shared = group_with(launch, groups)
    daemon = [daemon_unit(shared, target)] if shared else []
    after = " ".join(["network-online.target", *daemon, *before])
    limits, restart = MOST_STARTS, f"Restart=on-failure\nRestartSec={RESTART_SECONDS}\n"
    if shared:
        limits = f"BindsTo={daemon[0]}\nOnFailure={together_unit(shared, target)}"
        restart = ""
    seconds = ready_seconds(launch, settings)
    healthy = [f"http://{health_address(settings)}:{launch.port}/health"]
    ask = ["/usr/bin/env", "bash", "-c", UNTIL_HEALTHY, "health", *healthy]
    return (
        comment_lines(["An engine of a colocate plan."])
        + f"\n[Unit]\nDescription=colocate: {said.replace('%', '%%')}.\n"
        f"PartOf={target}\nWants=network-online.target\nAfter={after}\n{limits}\n"
        f"\n[Service]\nType=exec\nUser={USER}\n"
        + _variables(launch, shared, settings)
        + f"EnvironmentFile=-{ENVIRONMENT_FILE}\n"
        "StateDirectory=colocate\n"
        f"WorkingDirectory={HOME}\n"
        f"{DEVICES[launch.maker]}"
        f"ExecStart={_line(_command(launch, groups, settings))}\n"
        f"ExecStartPost={_line(ask)}\n"
        f"TimeoutStartSec={seconds}\n"
        f"{restart}"
        f"KillMode=mixed\nTimeoutStopSec={STOP_SECONDS}\n"
        "LimitMEMLOCK=infinity\nLimitNOFILE=65536\n"
        f"{HARDENING}"
    )


def _variables(launch: Launch, group: SharingGroup | None, settings: EmitSettings) -> str:
    variables = {
        "HOME": HOME,
        "HF_HOME": f"{HOME}/huggingface",
        "PATH": f"{settings.venv}/bin:{PATHS}" if settings.venv.startswith("/") else PATHS,
        **device_environment(launch),
        **environment(launch, settings),
    }
    if group:
        variables["CUDA_MPS_PIPE_DIRECTORY"] = pipes_of(group)
    lines = (f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    return "".join(lines)


def _command(launch: Launch, groups: Sequence[SharingGroup], settings: EmitSettings) -> list[str]:
    numbers = ",".join(map(str, launch.devices))
    cores = pinned(core_shares(groups).get(launch.name), launch.name)
    share = share_of_free(launch, settings, numbers)
    return ["/usr/bin/env", *cores, *share, *command(launch, settings)]


def _line(words: Sequence[str]) -> str:
    """Return a command line; words that mean nothing to anyone stay as they are."""
    plain = [shlex.quote(word) == word and not set(word) & set("$%") for word in words]
    return " ".join(
        word if fine else quoted_word(word) for word, fine in zip(words, plain, strict=True)
    )
