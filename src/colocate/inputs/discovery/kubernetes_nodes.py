"""What `kubectl get nodes -o json` says of GPUs: labels of feature discovery, and resources."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from colocate.inputs.discovery.found_gpu import (
    LONGEST_PRINTED,
    FoundGpu,
    RefusedGpu,
    whole_number,
)

COMMAND = "kubectl get nodes -o json"
NVIDIA, GKE = "nvidia.com/", "cloud.google.com/gke-accelerator"
AMD = ("amd.com/gpu", "beta.amd.com/gpu")
SLICES = re.compile(r"nvidia\.com/mig-([1-9]g\.[0-9]{1,3}gb(?:\.me)?)")
SHARED = re.compile(r"-SHARED$")
NOT_READY = "the machine is not ready or takes no pods"
NO_LABELS = "no label says what they are; GPU feature discovery or AMD's node labeller sets them"

Strings = Mapping[str, str]


def is_node_list(data: Any) -> bool:
    """Say whether data is a list of nodes, or one node."""
    return isinstance(data, dict) and (
        data.get("kind") == "Node" or isinstance(data.get("items"), list)
    )


def kubernetes_gpus(text: str) -> tuple[list[FoundGpu], list[RefusedGpu]]:
    """Return the GPUs of a cluster, and those that cannot be used."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return [], []
    if not is_node_list(data):
        return [], []
    nodes = [data] if data.get("kind") == "Node" else data["items"]
    found = [gpu for node in nodes if isinstance(node, dict) for gpu in _of_node(node)]
    used = [gpu for gpu in found if isinstance(gpu, FoundGpu)]
    return used, [gpu for gpu in found if isinstance(gpu, RefusedGpu)]


def _of_node(node: Mapping[str, Any]) -> Iterator[FoundGpu | RefusedGpu]:
    metadata, status = _part(node, "metadata"), _part(node, "status")
    name = str(metadata.get("name", ""))[:LONGEST_PRINTED]
    labels = {str(key): str(value) for key, value in _part(metadata, "labels").items()}
    free = {str(key): str(value) for key, value in _part(status, "allocatable").items()}
    gpus = [*_nvidia(name, labels, free), *_nvidia_slices(name, labels, free)]
    gpus += _amd(name, labels, free)
    if _is_closed(node, status):
        gpus = [RefusedGpu(name, gpu.count, NOT_READY) for gpu in gpus]
    yield from gpus


def _nvidia(name: str, labels: Strings, free: Strings) -> Iterator[FoundGpu | RefusedGpu]:
    """Yield the GPUs of NVIDIA; time slices and the like are one GPU again."""
    offered = sum(
        whole_number(free.get(f"{NVIDIA}{resource}", "")) or 0 for resource in ("gpu", "gpu.shared")
    )
    if not offered:
        return
    replicas = max(whole_number(labels.get(f"{NVIDIA}gpu.replicas", "")) or 1, 1)
    count = -(-offered // replicas)
    product = SHARED.sub("", labels.get(f"{NVIDIA}gpu.product", "") or labels.get(GKE, ""))
    if not product:
        yield RefusedGpu(name, count, NO_LABELS)
        return
    memory = whole_number(labels.get(f"{NVIDIA}gpu.memory", ""))
    sliced = "-MIG-" in product
    yield FoundGpu(
        product[:LONGEST_PRINTED],
        name,
        total_mib=memory,
        whole=not sliced,
        count=count,
        sliced=sliced,
    )


def _nvidia_slices(name: str, labels: Strings, free: Strings) -> Iterator[FoundGpu | RefusedGpu]:
    """Yield the MIG slices that are resources of their own."""
    card = SHARED.sub("", labels.get(f"{NVIDIA}gpu.product", "") or labels.get(GKE, ""))
    for resource, amount in free.items():
        found = SLICES.fullmatch(resource.removesuffix(".shared"))
        offered = whole_number(amount) if found else None
        if found is None or not offered:
            continue
        profile = found[1].replace(".me", "+me")
        of_profile = f"{NVIDIA}mig-{found[1]}"
        replicas = max(whole_number(labels.get(f"{of_profile}.replicas", "")) or 1, 1)
        product = SHARED.sub("", labels.get(f"{of_profile}.product", "")) or f"{card}-MIG-{profile}"
        yield FoundGpu(
            product[:LONGEST_PRINTED],
            name,
            total_mib=whole_number(labels.get(f"{of_profile}.memory", "")),
            whole=False,
            count=-(-offered // replicas),
            sliced=True,
        )


def _amd(name: str, labels: Strings, free: Strings) -> Iterator[FoundGpu | RefusedGpu]:
    count = whole_number(free.get("amd.com/gpu", ""))
    if not count:
        return
    product = next(filter(None, map(labels.get, (f"{of}.product-name" for of in AMD))), "")
    for key in labels:  # older labellers have one label for each product
        product = product or key.partition("gpu.product-name.")[2]
    if product:
        yield FoundGpu(product[:LONGEST_PRINTED], name, whole=False, count=count)
    else:
        yield RefusedGpu(name, count, NO_LABELS)


def _is_closed(node: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions")
    ready = [
        condition.get("status")
        for condition in (conditions if isinstance(conditions, list) else ())
        if isinstance(condition, dict) and condition.get("type") == "Ready"
    ]
    return _part(node, "spec").get("unschedulable") is True or any(s != "True" for s in ready)


def _part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = data.get(key)
    return part if isinstance(part, dict) else {}
