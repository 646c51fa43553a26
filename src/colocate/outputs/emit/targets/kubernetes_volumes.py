"""Volumes of pods: weights that outlive them, models on the machine's disk, shared memory."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

from colocate.outputs.emit.cluster import VolumeKind, WeightVolume
from colocate.outputs.emit.engines.groups import crowded_engines
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.load_time import weights_on_disk_gb
from colocate.outputs.emit.settings import EmitSettings, Share
from colocate.outputs.emit.targets.containers import (
    CACHE_FOLDER,
    MODEL_FOLDER,
    MPS_FOLDER,
    folder_of,
)

NEW_CLAIM, TOGETHER_FOLDER = "colocate-weights", "/together"
MARGIN, SPARE_GB = 1.2, 10
"""What a volume has beyond the weights: a fifth, for checkpoints that have further files, and a
little for what engines keep beside them."""
SHM_GB, SHM_GB_PER_SHARD = 1, 2
"""Of /dev/shm: for the queues of an engine, and for what the shards of one exchange on hosts
whose GPUs have no direct link. NCCL takes some 10 MB for each pair of shards and channel."""


def pod_volumes(launches: Sequence[Launch], fleetwide: Fleetwide) -> list[dict[str, Any]]:
    """Return the volumes of a pod with these engines."""
    settings = fleetwide.settings
    volumes: list[dict[str, Any]] = []
    if _own_shm(launches, fleetwide):
        shared = {"medium": "Memory", "sizeLimit": f"{sum(map(shm_gb, launches))}G"}
        volumes.append({"name": "shm", "emptyDir": shared})
    if settings.mps and settings.share is Share.ENV and launches[0].crowded:
        volumes.append({"name": "mps", "hostPath": {"path": MPS_FOLDER}})
    if is_together(launches, settings):
        volumes.append({"name": "together", "emptyDir": {"sizeLimit": "1M"}})
    if any(folder_of(launch) is None for launch in launches):
        volumes.append({"name": "weights", **_weights(launches, settings.cluster.weights)})
    for place, launch in enumerate(launches):
        if folder := folder_of(launch):
            name = _model_name(place, launches)
            volumes.append({"name": name, "hostPath": {"path": folder}})
    return volumes


def is_together(launches: Sequence[Launch], settings: EmitSettings) -> bool:
    """Return whether the engines of a pod restart together: under MPS, one may kill the others."""
    return settings.mps and len(launches) > 1


def mounts(
    launch: Launch, launches: Sequence[Launch], fleetwide: Fleetwide
) -> list[dict[str, Any]]:
    """Return where one engine finds the volumes of its pod.

    Parameters
    ----------
    launch
        The engine.
    launches
        All engines of its pod.
    fleetwide
        All engines of the plan.
    """
    settings = fleetwide.settings
    found: list[dict[str, Any]] = []
    if _own_shm(launches, fleetwide):
        found.append({"name": "shm", "mountPath": "/dev/shm"})
    if settings.mps and settings.share is Share.ENV and launch.crowded:
        found.append({"name": "mps", "mountPath": MPS_FOLDER})
    if is_together(launches, settings):
        found.append({"name": "together", "mountPath": TOGETHER_FOLDER})
    if folder_of(launch):
        name = _model_name(launches.index(launch), launches)
        return [*found, {"name": name, "mountPath": MODEL_FOLDER, "readOnly": True}]
    kept: dict[str, Any] = {"name": "weights", "mountPath": CACHE_FOLDER}
    volume = settings.cluster.weights
    return [*found, {**kept, "readOnly": True} if volume and volume.read_only else kept]


def cache_variables(launch: Launch, settings: EmitSettings) -> dict[str, str]:
    """Return the environment that makes an engine keep its downloads in the volume."""
    if folder_of(launch):
        return {}
    volume = settings.cluster.weights
    offline = {"HF_HUB_OFFLINE": "1"} if volume and volume.read_only else {}
    return {"HF_HOME": CACHE_FOLDER, **offline}


def shm_gb(launch: Launch) -> int:
    """Return the GB of shared memory that an engine may use."""
    shards = len(launch.gpus)
    return SHM_GB + (SHM_GB_PER_SHARD * shards if shards > 1 else 0)


def new_claims(launches: Iterable[Launch], settings: EmitSettings) -> list[dict[str, Any]]:
    """Return the claim of the volume for weights, where the user wants a new one."""
    volume = settings.cluster.weights
    if volume is None or volume.kind is not VolumeKind.NEW_CLAIM:
        return []
    found = list(launches)
    nodes = {launch.node for launch in found}
    one_machine = len(nodes) == 1 and "" not in nodes
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce" if one_machine else "ReadWriteMany"],
        "resources": {"requests": {"storage": volume.size or f"{_kept_gb(found)}G"}},
    }
    if volume.storage_class:
        spec["storageClassName"] = volume.storage_class
    metadata = {"name": NEW_CLAIM}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    return [{**claim, "spec": spec}]


def _own_shm(launches: Sequence[Launch], fleetwide: Fleetwide) -> bool:
    """Return whether a pod brings its own /dev/shm; under MPS, the driver of its claims does."""
    settings = fleetwide.settings
    by_driver = settings.mps and settings.share in (Share.DRA, Share.POD)
    return not (by_driver and launches[0].name in crowded_engines(fleetwide.launches))


def _weights(launches: Sequence[Launch], volume: WeightVolume | None) -> dict[str, Any]:
    if volume is None:
        return {"emptyDir": {"sizeLimit": f"{_kept_gb(launches)}G"}}
    if volume.kind is VolumeKind.HOST:
        kind = "Directory" if volume.read_only else "DirectoryOrCreate"
        return {"hostPath": {"path": volume.place, "type": kind}}
    claim: dict[str, Any] = {"claimName": volume.place or NEW_CLAIM}
    read_only = {"readOnly": True} if volume.read_only else {}
    return {"persistentVolumeClaim": {**claim, **read_only}}


def _kept_gb(launches: Iterable[Launch]) -> int:
    """Return the GB for the weights of engines, each source once."""
    sizes = {
        launch.source: weights_on_disk_gb(launch.spec, launch.args)
        for launch in launches
        if folder_of(launch) is None
    }
    return ceil(MARGIN * sum(sizes.values()) + SPARE_GB)


def _model_name(place: int, launches: Sequence[Launch]) -> str:
    return "model" if len(launches) == 1 else f"model-{place}"
