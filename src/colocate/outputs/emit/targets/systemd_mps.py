"""Units of systemd for MPS: a daemon for each group of engines, and what restarts them together.

An engine of a group has no `Restart=` of its own. When it or its daemon fails, `OnFailure=` starts
a unit that restarts all of them, in order. It limits how often, and does nothing once their target
is stopped.
"""

from collections.abc import Sequence

from colocate.outputs.emit.engines.mps import SharingGroup
from colocate.outputs.emit.targets.file_head import comment_lines

RUN_FOLDER, LOG_FOLDER = "/run", "/var/log"
NAME = "colocate-mps"
"""Of the folders of all daemons."""
PAUSE_SECONDS = 10
"""Before the restart, so that neighbours which die of the same fault have died by then."""
MODPROBE = "ExecStartPre=-+/usr/bin/env nvidia-modprobe -u -c 0\n"
"""Makes the devices, which needs more rights than an engine has."""
WHEN_IT_ANSWERS = (
    'ExecStartPost=/usr/bin/env bash -c "until echo get_server_list | nvidia-cuda-mps-control; '
    'do sleep 1; done"\nTimeoutStartSec=60\n'
)
QUIT = 'ExecStop=/usr/bin/env bash -c "echo quit -t 10 | nvidia-cuda-mps-control"\n'


def pipes_of(group: SharingGroup) -> str:
    """Return where the engines of a group find their daemon."""
    return f"{RUN_FOLDER}/{NAME}/{group.name}"


def daemon_unit(group: SharingGroup, target: str) -> str:
    """Return the unit of a daemon; no engine has a dot in its name."""
    return f"{NAME}{_node_of(target)}.{group.name}.service"


def together_unit(group: SharingGroup, target: str) -> str:
    """Return the unit that restarts the engines of a group."""
    return f"colocate-together{_node_of(target)}.{group.name}.service"


def daemon_text(group: SharingGroup, target: str, user: str) -> str:
    """Return the daemon of a group.

    Parameters
    ----------
    group
        The engines that it is for.
    target
        The target of the machine.
    user
        Who runs engines and daemon: MPS serves one user.
    """
    gpus = ", ".join(map(str, group.devices))
    return (
        comment_lines(["MPS for engines of a colocate plan."])
        + f"\n[Unit]\nDescription=colocate: NVIDIA MPS for engines on GPU {gpus}.\n"
        f"PartOf={target}\nOnFailure={together_unit(group, target)}\n"
        f"\n[Service]\nType=exec\nUser={user}\n"
        f"Environment=CUDA_MPS_PIPE_DIRECTORY={pipes_of(group)}\n"
        f"Environment=CUDA_MPS_LOG_DIRECTORY={LOG_FOLDER}/{NAME}/{group.name}\n"
        "Environment=CUDA_DEVICE_ORDER=PCI_BUS_ID\n"
        f"RuntimeDirectory={NAME}/{group.name}\nLogsDirectory={NAME}/{group.name}\n"
        f"{MODPROBE}ExecStart=/usr/bin/env nvidia-cuda-mps-control -f\n{WHEN_IT_ANSWERS}{QUIT}"
    )


def together_text(group: SharingGroup, target: str, engines: Sequence[str], starts: str) -> str:
    """Return the unit that restarts the engines of a group, and their daemon.

    Parameters
    ----------
    group
        The engines.
    target
        The target of the machine: once it is stopped, nothing is restarted.
    engines
        The units of the engines.
    starts
        How often it may be started.
    """
    names = " ".join([daemon_unit(group, target), *engines])
    return (
        comment_lines(["Restarts engines of a colocate plan that share GPUs under MPS."])
        + "\n[Unit]\nDescription=colocate: restart of all engines that share GPUs with one that "
        f"has died.\n{starts}\n"
        "\n[Service]\nType=oneshot\n"
        f"ExecCondition=/usr/bin/env systemctl is-active --quiet {target}\n"
        f"ExecStartPre=/usr/bin/env sleep {PAUSE_SECONDS}\n"
        f"ExecStart=/usr/bin/env systemctl restart {names}\n"
        f"Restart=on-failure\nRestartSec={PAUSE_SECONDS}\n"
    )


def _node_of(target: str) -> str:
    """Return the name of the machine as units have it, with its hyphen; empty if there is one."""
    return target.removeprefix("colocate").removesuffix(".target")
