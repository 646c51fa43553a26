"""Claims of dynamic resource allocation: one for each GPU of a plan, shared by all pods on it.

The driver of NVIDIA publishes no number of a device any more (since 25.8), only its memory,
product and a UUID that a fleet file does not know. None is needed: the models on one GPU
name one claim, a claim is one device of the node, and no device is given to two claims. Only
where the GPUs of a node differ must a claim say which ones it means, and it does so by memory.

Under MPS, the driver starts one daemon for each claim, and an engine can have one daemon only. So
GPUs that engines share with each other are requests of one claim there.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Any

from colocate.inputs.fleet import Device, Fleet
from colocate.inputs.format_support import Maker, maker_of
from colocate.outputs.emit.engines.groups import crowded_gpus, groups_of
from colocate.outputs.emit.engines.launch import Fleetwide
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.settings import EmitSettings, TimeSlice

DRIVERS = {Maker.NVIDIA: "gpu.nvidia.com", Maker.AMD: "gpu.amd.com"}
"""By maker: its driver, and the device class of the same name."""
REQUEST = "gpu"
CONFIG = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}

Claimed = Mapping[str, tuple[str, str]]
"""The claim and the request in it, by the name of the GPU."""


def claimed_gpus(fleetwide: Fleetwide) -> Claimed:
    """Return which request of which claim each GPU is."""
    launches = fleetwide.launches
    used = {gpu for launch in launches for gpu in launch.gpus}
    names = safe_names(gpu for gpu in fleetwide.fleet.devices if gpu in used)
    found = {gpu: (f"gpu-{name}", REQUEST) for gpu, name in names.items()}
    if fleetwide.settings.mps:
        for group in groups_of(launches):
            together = [gpu for gpu in names if any(gpu in launch.gpus for launch in group)]
            if len(together) > 1:
                claim_name = found[together[0]][0]
                for place, gpu in enumerate(together):
                    found[gpu] = (claim_name, f"{REQUEST}-{place}")
    return found


def claims(claimed: Claimed, fleetwide: Fleetwide) -> list[dict[str, Any]]:
    """Return the manifests of all claims; those that engines share say how they take turns."""
    crowded = crowded_gpus(fleetwide.launches)
    gpus: dict[str, list[str]] = {}
    for gpu, (name, _) in claimed.items():
        gpus.setdefault(name, []).append(gpu)
    found = []
    for name, members in gpus.items():
        devices: dict[str, Any] = {
            "requests": [_request(claimed[gpu][1], gpu, fleetwide.fleet) for gpu in members]
        }
        if feature_gate(fleetwide.settings) and not crowded.isdisjoint(members):
            requests = [claimed[gpu][1] for gpu in members]
            devices["config"] = [_config(requests, fleetwide.settings)]
        found.append(_claim(name, members, devices))
    return found


def indistinct(fleet: Fleet) -> list[str]:
    """Return the nodes with GPUs of several kinds that claims cannot tell apart."""
    found: dict[tuple[str, float], set[str]] = {}
    for device in fleet.devices.values():
        found.setdefault((device.node, device.memory_gb), set()).add(device.kind)
    return [node for (node, _), kinds in found.items() if len(kinds) > 1]


def feature_gate(settings: EmitSettings) -> str:
    """Return the feature gate of the driver that its claims need, empty if there is none."""
    if settings.mps:
        return "MPSSupport"
    return "" if settings.time_slice is TimeSlice.DEFAULT else "TimeSlicingSettings"


def _claim(name: str, gpus: Sequence[str], devices: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "annotations": {"colocate/gpu": ", ".join(gpus)}},
        "spec": {"devices": dict(devices)},
    }


def _config(requests: list[str], settings: EmitSettings) -> dict[str, Any]:
    parameters = {**CONFIG, "sharing": _sharing(settings)}
    return {
        "requests": requests,
        "opaque": {"driver": DRIVERS[Maker.NVIDIA], "parameters": parameters},
    }


def _request(name: str, gpu: str, fleet: Fleet) -> dict[str, Any]:
    device = fleet.devices[gpu]
    expression = _selector(device, fleet.devices.values())
    exactly = {
        "deviceClassName": DRIVERS[maker_of(device.kind)],
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {"name": name, "exactly": exactly}


def _sharing(settings: EmitSettings) -> dict[str, Any]:
    if settings.mps:
        return {"strategy": "MPS"}
    interval = settings.time_slice.value.capitalize()
    return {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}


def _selector(device: Device, devices: Iterable[Device]) -> str:
    """Return what a device must have: its memory, and less than any larger kind on its node."""
    maker = maker_of(device.kind)
    memory = f"device.capacity['{DRIVERS[maker]}'].memory"
    larger = [
        other.memory_gb
        for other in devices
        if other.node == device.node and other.memory_gb > device.memory_gb
    ]
    wanted = f"{memory}.compareTo(quantity('{_quantity(device.memory_gb)}')) >= 0"
    if maker is Maker.AMD:  # partitions of a GPU are devices too
        wanted = f"device.attributes['{DRIVERS[maker]}'].type == 'amdgpu' && {wanted}"
    if not larger:
        return wanted
    return f"{wanted} && {memory}.compareTo(quantity('{_quantity(min(larger))}')) < 0"


def _quantity(gigabytes: float) -> str:
    amount = floor(gigabytes * 1e9)
    return f"{amount // 10**9}G" if amount % 10**9 == 0 else f"{amount}"
