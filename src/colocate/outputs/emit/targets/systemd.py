"""Units of systemd: a service for each engine of a machine, and a target that groups them.

A unit counts as started once its engine answers. `After=` alone orders the engines of a GPU: it
holds where several start at once, and leaves the others alone when one of them is restarted.
"""

import shlex
from collections.abc import Mapping, Sequence

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission, EmittedFile
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.groups import groups_of
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_seconds
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.engines.options import command, device_environment, environment
from colocate.outputs.emit.settings import USUAL_VENV, EmitSettings
from colocate.outputs.emit.targets.file_head import comment_lines, comments_on
from colocate.outputs.emit.targets.free_memory import share_of_free
from colocate.outputs.emit.targets.shell_script import health_address
from colocate.outputs.text.sanitise import one_line
from colocate.solver.plan import Plan

USER, HOME = "colocate", "/var/lib/colocate"
ENVIRONMENT_FILE = "/etc/colocate/environment"
MPS_UNIT, MPS_PIPES, MPS_LOGS = "colocate-mps", "/run/colocate-mps", "/var/log/colocate-mps"
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
        files.append(EmittedFile(group, _target(fleetwide, node, launches, group), node))
        for launch in launches:
            text = _service(launch, launches, settings, group)
            files.append(EmittedFile(_unit(launch.name), text, node))
        if settings.mps:
            name = _mps_unit(node, names)
            files.append(EmittedFile(name, _mps(group), node))
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


def _mps_unit(node: str, names: Mapping[str, str]) -> str:
    return f"{MPS_UNIT}-{names[node]}.service" if node else f"{MPS_UNIT}.service"


def _target(fleetwide: Fleetwide, node: str, launches: Sequence[Launch], name: str) -> str:
    comments = [
        f"A colocate plan{f' on {node}' if node else ''}. Copy its units to /etc/systemd/system, "
        f"then: systemctl daemon-reload && systemctl enable --now {name}",
        f"Engines run as the user {USER}: useradd --system --home-dir {HOME} {USER}",
        f"PATH, HF_TOKEN and the like go to {ENVIRONMENT_FILE}.",
        "One engine: systemctl restart colocate-NAME. Its output: journalctl --unit colocate-NAME.",
        *_together(fleetwide.settings, launches),
        *comments_on(fleetwide, launches),
    ]
    units = " ".join(_unit(launch.name) for launch in launches)
    where = one_line(node, LONGEST_DESCRIPTION).replace("%", "%%")
    description = f"Engines of a colocate plan{f' on {where}' if where else ''}."
    return comment_lines(comments) + (
        f"\n[Unit]\nDescription={description}\nWants={units}\n"
        "\n[Install]\nWantedBy=multi-user.target\n"
    )


def _together(settings: EmitSettings, launches: Sequence[Launch]) -> list[str]:
    """Return which engines are to be restarted in one command."""
    if not settings.mps:
        return []
    return [
        "Under MPS, restart together: systemctl restart "
        + " ".join(_unit(launch.name) for launch in group)
        for group in groups_of(launches)
        if len(group) > 1
    ]


def _service(launch: Launch, launches: Sequence[Launch], settings: EmitSettings, group: str) -> str:
    said = one_line(f"{launch.model} on {', '.join(launch.gpus)}", LONGEST_DESCRIPTION)
    before = [_unit(name) for name in launch.after]
    mps = []
    if settings.mps:
        node = group.removeprefix("colocate").removesuffix(".target")
        mps = [f"{MPS_UNIT}{node}.service"]
    after = " ".join(["network-online.target", *mps, *before])
    requires = f"Requires={mps[0]}\n" if mps else ""
    seconds = ready_seconds(launch, settings)
    healthy = [f"http://{health_address(settings)}:{launch.port}/health"]
    ask = ["/usr/bin/env", "bash", "-c", UNTIL_HEALTHY, "health", *healthy]
    return (
        comment_lines(["An engine of a colocate plan."])
        + f"\n[Unit]\nDescription=colocate: {said.replace('%', '%%')}.\n"
        f"PartOf={group}\nWants=network-online.target\nAfter={after}\n{requires}{MOST_STARTS}\n"
        f"\n[Service]\nType=exec\nUser={USER}\n"
        + _variables(launch, settings)
        + f"EnvironmentFile=-{ENVIRONMENT_FILE}\n"
        "StateDirectory=colocate\n"
        f"WorkingDirectory={HOME}\n"
        f"{DEVICES[launch.maker]}"
        f"ExecStart={_line(_command(launch, settings))}\n"
        f"ExecStartPost={_line(ask)}\n"
        f"TimeoutStartSec={seconds}\n"
        f"Restart=on-failure\nRestartSec={RESTART_SECONDS}\n"
        f"KillMode=mixed\nTimeoutStopSec={STOP_SECONDS}\n"
        "LimitMEMLOCK=infinity\nLimitNOFILE=65536\n"
        f"{HARDENING}"
    )


def _variables(launch: Launch, settings: EmitSettings) -> str:
    variables = {
        "HOME": HOME,
        "HF_HOME": f"{HOME}/huggingface",
        "PATH": f"{settings.venv}/bin:{PATHS}" if settings.venv.startswith("/") else PATHS,
        **device_environment(launch),
        **environment(launch, settings),
    }
    if settings.mps:
        variables["CUDA_MPS_PIPE_DIRECTORY"] = MPS_PIPES
    lines = (f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    return "".join(lines)


def _command(launch: Launch, settings: EmitSettings) -> list[str]:
    numbers = ",".join(map(str, launch.devices))
    return ["/usr/bin/env", *share_of_free(launch, settings, numbers), *command(launch, settings)]


def _line(words: Sequence[str]) -> str:
    """Return a command line; words that mean nothing to anyone stay as they are."""
    plain = [shlex.quote(word) == word and not set(word) & set("$%") for word in words]
    return " ".join(
        word if fine else quoted_word(word) for word, fine in zip(words, plain, strict=True)
    )


def _mps(group: str) -> str:
    return (
        comment_lines(["MPS for the engines of a colocate plan."])
        + "\n[Unit]\nDescription=NVIDIA Multi-Process Service for the engines of a colocate plan.\n"
        f"PartOf={group}\n"
        f"\n[Service]\nType=exec\nUser={USER}\n"
        f"Environment=CUDA_MPS_PIPE_DIRECTORY={MPS_PIPES}\n"
        f"Environment=CUDA_MPS_LOG_DIRECTORY={MPS_LOGS}\n"
        "Environment=CUDA_DEVICE_ORDER=PCI_BUS_ID\n"
        "RuntimeDirectory=colocate-mps\nLogsDirectory=colocate-mps\n"
        "ExecStartPre=-+/usr/bin/env nvidia-modprobe -u -c 0\n"
        "ExecStart=/usr/bin/env nvidia-cuda-mps-control -f\n"
        'ExecStop=/usr/bin/env bash -c "echo quit | nvidia-cuda-mps-control"\n'
        f"Restart=on-failure\nRestartSec={RESTART_SECONDS}\n"
    )
