"""What containers need to reach the GPUs of AMD: devices in place of a runtime."""

from typing import Any

from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.engines.options import device_environment

DEVICES = ("/dev/kfd", "/dev/dri")
"""The driver, and all GPUs: which of them an engine uses is for its environment to say."""


def compose_fields() -> dict[str, Any]:
    """Return what a service of compose needs; its environment is `device_environment`."""
    return {
        "devices": [f"{path}:{path}" for path in DEVICES],
        "group_add": ["video"],
        "cap_add": ["SYS_PTRACE"],
        "security_opt": ["seccomp=unconfined"],
    }


def add_devices(pod: dict[str, Any], launch: Launch) -> None:
    """Give the engine of a pod all GPUs of its node, and tell it which ones to use.

    There is no runtime that hands out some of them, so the container must be privileged.
    """
    engine = pod["containers"][0]
    engine["securityContext"] = {"privileged": True}
    for path in DEVICES:
        name = path.rpartition("/")[2]
        pod["volumes"].append({"name": name, "hostPath": {"path": path}})
        engine["volumeMounts"].append({"name": name, "mountPath": path})
    variables = device_environment(launch)
    engine["env"] += [{"name": name, "value": value} for name, value in variables.items()]
