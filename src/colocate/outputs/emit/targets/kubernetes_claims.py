"""Claims of dynamic resource allocation: one for each GPU of a plan, shared by all pods on it.

The driver of NVIDIA publishes no number of a device any more (since 25.8), only its memory,
product and a UUID that a fleet file does not know. None is needed: the models on one GPU
name one claim, a claim is one device of the node, and no device is given to two claims. Only
where the GPUs of a node differ must a claim say which ones it means, and it does so by memory.
"""

from collections.abc import Iterable
from math import floor
from typing import Any

from colocate.inputs.fleet import Device, Fleet
from colocate.inputs.format_support import Maker, maker_of

DRIVERS = {Maker.NVIDIA: "gpu.nvidia.com", Maker.AMD: "gpu.amd.com"}
"""By maker: its driver, and the device class of the same name."""
REQUEST = "gpu"


def claim(name: str, gpu: str, fleet: Fleet) -> dict[str, Any]:
    """Return the claim for one GPU.

    Parameters
    ----------
    name
        Of the claim.
    gpu
        The name of the GPU.
    fleet
        Has all GPUs, of which the claim must mean this one.
    """
    device = fleet.devices[gpu]
    expression = _selector(device, fleet.devices.values())
    request = {
        "deviceClassName": DRIVERS[maker_of(device.kind)],
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "annotations": {"colocate/gpu": gpu}},
        "spec": {"devices": {"requests": [{"name": REQUEST, "exactly": request}]}},
    }


def indistinct(fleet: Fleet) -> list[str]:
    """Return the nodes with GPUs of several kinds that claims cannot tell apart."""
    found: dict[tuple[str, float], set[str]] = {}
    for device in fleet.devices.values():
        found.setdefault((device.node, device.memory_gb), set()).add(device.kind)
    return [node for (node, _), kinds in found.items() if len(kinds) > 1]


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
