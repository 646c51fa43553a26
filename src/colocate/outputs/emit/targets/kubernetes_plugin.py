"""GPUs by device plugins. NVIDIA's can divide each GPU of a machine into shared ones.

A plugin chooses the GPU. So it keeps a plan only where it has no wrong choice: on a machine with
one GPU, and on one where every GPU has a single engine.
"""

from typing import Any

import yaml

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.engines.groups import crowded_gpus
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.settings import Share
from colocate.outputs.text.wording import listed

WHOLE = {Maker.NVIDIA: "nvidia.com/gpu", Maker.AMD: "amd.com/gpu"}
"""By maker: the resource of its plugin, after which taints of nodes are called."""
SHARED = "nvidia.com/gpu.shared"
CONFIG_MAP, OPERATOR = "colocate-device-plugin", "gpu-operator"
"""The names of the settings of the plugin, and of the namespace that NVIDIA's operator is in."""
NODE_LABEL = "nvidia.com/device-plugin.config"
MOST_NAMES = 5
"""Names in a message, which should stay short."""


def plugin_gpus(launch: Launch, fleetwide: Fleetwide) -> dict[str, str]:
    """Return the GPUs that an engine asks the plugin for; none where GPUs come another way."""
    if fleetwide.settings.share is not Share.PLUGIN:
        return {}
    shared = launch.gpus[0] in crowded_gpus(fleetwide.launches)
    return {SHARED: "1"} if shared else {WHOLE[launch.maker]: str(len(launch.gpus))}


def check_plugin(fleetwide: Fleetwide) -> None:
    """Refuse a plan that the plugin could not keep."""
    settings = fleetwide.settings
    if settings.share is not Share.PLUGIN:
        return
    if settings.mps:
        found = "gives all engines on a GPU the same memory under MPS, whatever the plan says"
        advice = "choose --share dra or pod for MPS"
        raise InputError(Fault(found, advice=advice, value=settings.share, path=("share",)))
    _check_amd(fleetwide)
    for node, crowded in _crowded(fleetwide).items():
        gpus = [gpu for gpu, device in fleetwide.fleet.devices.items() if device.node == node]
        if len(gpus) > 1:
            found = (
                f"cannot keep {len(gpus)} GPUs of {node or 'one machine'} apart, of which "
                f"{listed(crowded, MOST_NAMES)} must be shared as planned"
            )
            advice = "choose --share dra, pod or env"
            raise InputError(Fault(found, advice=advice, value=settings.share, path=("share",)))


def _check_amd(fleetwide: Fleetwide) -> None:
    """Refuse GPUs of AMD that several engines share: only NVIDIA's plugin divides GPUs."""
    crowded = crowded_gpus(fleetwide.launches)
    for launch in fleetwide.launches:
        if launch.maker is Maker.AMD and not crowded.isdisjoint(launch.gpus):
            found = f"cannot share GPUs of AMD, as {launch.model} does"
            advice = "choose --share dra, pod or env"
            value = fleetwide.settings.share
            raise InputError(Fault(found, advice=advice, value=value, path=("share",)))


def plugin_config(fleetwide: Fleetwide) -> tuple[list[str], dict[str, Any]] | None:
    """Return comments and the settings of the plugin; None where no GPU is shared."""
    if fleetwide.settings.share is not Share.PLUGIN:
        return None
    replicas = {node: len(fleetwide.nodes[node]) for node in _crowded(fleetwide)}
    if not replicas:
        return None
    comments = [
        "NVIDIA's device plugin for a colocate plan: kubectl apply --filename this file",
        "Then tell the operator: kubectl patch clusterpolicies.nvidia.com/cluster-policy --type "
        f'merge --patch \'{{"spec":{{"devicePlugin":{{"config":{{"name":"{CONFIG_MAP}"}}}}}}}}\'',
        *(
            f"and the machine: kubectl label node {node or 'NODE'} {NODE_LABEL}=shared-{count}"
            for node, count in replicas.items()
        ),
    ]
    data = {f"shared-{count}": _divided(count) for count in sorted(set(replicas.values()))}
    metadata = {"name": CONFIG_MAP, "namespace": OPERATOR}
    return comments, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _divided(count: int) -> str:
    resource = {"name": WHOLE[Maker.NVIDIA], "replicas": count}
    slicing = {"renameByDefault": True, "failRequestsGreaterThanOne": True, "resources": [resource]}
    settings = {"version": "v1", "sharing": {"timeSlicing": slicing}}
    return yaml.safe_dump(settings, sort_keys=False)


def _crowded(fleetwide: Fleetwide) -> dict[str, list[str]]:
    """Return the GPUs with several engines by machine."""
    found: dict[str, list[str]] = {}
    for gpu in sorted(crowded_gpus(fleetwide.launches)):
        found.setdefault(fleetwide.fleet.devices[gpu].node, []).append(gpu)
    return found
