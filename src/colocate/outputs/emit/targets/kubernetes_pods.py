"""Pods of Kubernetes: one for each engine, or one with the engines of some GPUs as containers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import ceil
from typing import Any

from colocate.inputs.format_support import Maker
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.load_time import (
    STEP_SECONDS,
    ready_seconds,
    weights_on_disk_gb,
)
from colocate.outputs.emit.engines.mps import STOP_SECONDS, core_shares, mps_groups
from colocate.outputs.emit.engines.options import COMMANDS, command, environment
from colocate.outputs.emit.settings import EmitSettings, Share
from colocate.outputs.emit.targets.amd import add_devices
from colocate.outputs.emit.targets.containers import MPS_FOLDER, image_of, source_inside, waiting
from colocate.outputs.emit.targets.free_memory import share_of_free
from colocate.outputs.emit.targets.kubernetes_claims import Claimed
from colocate.outputs.emit.targets.kubernetes_plugin import WHOLE, plugin_gpus
from colocate.outputs.emit.targets.kubernetes_volumes import (
    TOGETHER_FOLDER,
    cache_variables,
    is_together,
    mounts,
    pod_volumes,
    shm_gb,
)
from colocate.outputs.emit.targets.together import together
from colocate.outputs.emit.targets.yaml_file import dollars_doubled

NAME = "app.kubernetes.io/name"
PORT_NAME = "http"
PROCESS_CORES = 0.5
"""Cores that each process of an engine asks for: the server, and one for each shard. They may use
more: a limit would slow down every token."""
SERVER_GB, SHARD_GB = 2, 4
"""Host memory of the server, and of a process with its libraries, its CUDA context and buffers:
estimates, on the safe side; neither was measured."""
CHECK_SECONDS, MISSED_CHECKS = 30, 10
"""An engine that does not answer for five minutes has failed; a busy one may be late for less."""
LEAVE_SECONDS = 10
"""Under MPS, between the moment when a pod is to end, and so leaves its Services, and the moment
when its engines are told to finish."""


def deployment(
    launches: Sequence[Launch],
    fleetwide: Fleetwide,
    labels: Mapping[str, str],
    claimed: Claimed,
    started: Mapping[str, int],
) -> dict[str, Any]:
    """Return what keeps one pod running.

    Parameters
    ----------
    launches
        The engines of the pod, the first of which names it.
    fleetwide
        All engines.
    labels
        By which Services find the pod.
    claimed
        Which request of which claim each GPU is.
    started
        The seconds after which each engine answers, by its name.
    """
    first = launches[0]
    gpus = dict.fromkeys(gpu for launch in launches for gpu in launch.gpus)
    annotations = {
        "colocate/model": ", ".join(launch.model for launch in launches),
        "colocate/gpus": ", ".join(gpus),
    }
    last = max(started[launch.name] for launch in launches)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": first.name, "labels": dict(labels), "annotations": annotations},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": 2 * last,
            "selector": {"matchLabels": {NAME: first.name}},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": _pod(fleetwide, launches, claimed, started),
            },
        },
    }


def port_name(launch: Launch, launches: Sequence[Launch], settings: EmitSettings) -> str:
    """Return what the port of an engine is called: for each model the same in any pod.

    Parameters
    ----------
    launch
        The engine.
    launches
        All engines of its pod; of two that serve one model, the second has a name of its own.
    settings
        Whether pods may have several engines.
    """
    if settings.share is not Share.POD:
        return PORT_NAME
    alike = [other.name for other in launches if other.model == launch.model]
    place = alike.index(launch.name)
    name = f"m-{sha256(launch.model.encode()).hexdigest()[:8]}"
    return name if place == 0 else f"{name}-{place + 1}"


def _pod(
    fleetwide: Fleetwide,
    launches: Sequence[Launch],
    claimed: Claimed,
    started: Mapping[str, int],
) -> dict[str, Any]:
    settings = fleetwide.settings
    pod: dict[str, Any] = {
        "containers": [_container(la, launches, fleetwide, claimed, started) for la in launches],
        "volumes": pod_volumes(launches, fleetwide),
        "enableServiceLinks": False,  # or a service called vllm sets VLLM_PORT to no port
    }
    first = launches[0]
    if first.node:
        pod["nodeSelector"] = {"kubernetes.io/hostname": first.node}
    pod["tolerations"] = [{"key": WHOLE[first.maker], "operator": "Exists"}]
    if first.after and settings.share is not Share.POD:
        pod["initContainers"] = [_waiting(first, settings, started)]
    if settings.share in (Share.DRA, Share.POD):
        pod["resourceClaims"] = [
            {"name": local, "resourceClaimName": claim}
            for claim, local in _local_claims(launches, claimed).items()
        ]
    elif settings.share is Share.ENV and first.maker is Maker.AMD:
        add_devices(pod, first)
    elif settings.share is Share.ENV:
        pod["runtimeClassName"] = "nvidia"
        if settings.mps and first.crowded:
            pod["hostIPC"] = True
    if settings.mps and first.crowded:
        pod["terminationGracePeriodSeconds"] = 2 * LEAVE_SECONDS + STOP_SECONDS
    return pod


def _container(
    launch: Launch,
    launches: Sequence[Launch],
    fleetwide: Fleetwide,
    claimed: Claimed,
    started: Mapping[str, int],
) -> dict[str, Any]:
    settings = fleetwide.settings
    program = COMMANDS[settings.engine]
    entry = [*share_of_free(launch, settings), *program]
    words = command(launch, replace(settings, host="0.0.0.0"), source_inside(launch))
    name = port_name(launch, launches, settings)
    health = {"path": "/health", "port": name}
    in_one_pod = settings.share is Share.POD
    seconds = started[launch.name] if in_one_pod else ready_seconds(launch, settings)
    if in_one_pod:
        entry = [*_beside(launch, launches, fleetwide, started), *entry]
    leaving = {"preStop": {"sleep": {"seconds": LEAVE_SECONDS}}}
    return {
        "name": launch.name if in_one_pod else "engine",
        "image": image_of(settings, launch),
        "command": dollars_doubled(entry),
        "args": dollars_doubled(words[len(program) :]),
        "env": _variables(launch, settings),
        "ports": [{"name": name, "containerPort": launch.port}],
        "startupProbe": {
            "httpGet": health,
            "periodSeconds": STEP_SECONDS,
            "failureThreshold": seconds // STEP_SECONDS,
        },
        "readinessProbe": {"httpGet": health, "periodSeconds": STEP_SECONDS},
        "livenessProbe": {
            "httpGet": health,
            "periodSeconds": CHECK_SECONDS,
            "failureThreshold": MISSED_CHECKS,
        },
        **({"lifecycle": leaving} if settings.mps and launch.crowded else {}),
        "resources": _resources(launch, launches, fleetwide, claimed),
        "volumeMounts": mounts(launch, launches, fleetwide),
    }


def _beside(
    launch: Launch,
    launches: Sequence[Launch],
    fleetwide: Fleetwide,
    started: Mapping[str, int],
) -> list[str]:
    """Return what comes before the command of an engine that shares its pod.

    It waits for the engines before it and, under MPS, restarts together with all of them.
    """
    ports = {other.name: other.port for other in launches}
    urls = [f"http://127.0.0.1:{ports[name]}/health" for name in launch.after]
    seconds = started[launch.name] - ready_seconds(launch, fleetwide.settings)
    if is_together(launches, fleetwide.settings):
        share = core_shares(mps_groups(fleetwide.nodes[launch.node], fleetwide.settings))
        return together(TOGETHER_FOLDER, launch.name, share[launch.name], urls, seconds)
    return waiting(urls, seconds) if urls else []


def _resources(
    launch: Launch, launches: Sequence[Launch], fleetwide: Fleetwide, claimed: Claimed
) -> dict[str, Any]:
    """Return what an engine takes of its machine, and the GPUs of its claims.

    While it loads, the files of its weights may be in memory as well. Asleep, they stay there.
    """
    shards = len(launch.gpus)
    weights = weights_on_disk_gb(launch.spec, launch.args)
    held = SERVER_GB + SHARD_GB * shards + (weights if launch.can_sleep else 0.0)
    cores = f"{round(1000 * PROCESS_CORES * (1 + shards))}m"
    gpus = plugin_gpus(launch, fleetwide)
    found: dict[str, Any] = {
        "requests": {"cpu": cores, "memory": f"{ceil(held)}G", **gpus},
        "limits": {"memory": f"{ceil(held + weights + shm_gb(launch))}G", **gpus},
    }
    if fleetwide.settings.share in (Share.DRA, Share.POD):
        local = _local_claims(launches, claimed)
        found["claims"] = [
            {"name": local[claim], "request": request}
            for claim, request in (claimed[gpu] for gpu in launch.gpus)
        ]
    return found


def _local_claims(launches: Sequence[Launch], claimed: Claimed) -> dict[str, str]:
    """Return what the claims of a pod are called in it."""
    names = dict.fromkeys(claimed[gpu][0] for launch in launches for gpu in launch.gpus)
    return {claim: f"gpu-{place}" for place, claim in enumerate(names)}


def _variables(launch: Launch, settings: EmitSettings) -> list[dict[str, Any]]:
    secret = {"name": "huggingface", "key": "token", "optional": True}
    values = {**cache_variables(launch, settings), **environment(launch, settings)}
    if settings.share is Share.ENV and launch.maker is Maker.NVIDIA:
        values["NVIDIA_VISIBLE_DEVICES"] = ",".join(map(str, launch.devices))
        if settings.mps and launch.crowded:
            values["CUDA_MPS_PIPE_DIRECTORY"] = MPS_FOLDER
    return [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": secret}},
        *({"name": name, "value": value} for name, value in values.items()),
    ]


def _waiting(launch: Launch, settings: EmitSettings, started: Mapping[str, int]) -> dict[str, Any]:
    """Return a container that ends when the engines before this one on its GPUs answer."""
    urls = [f"http://{name}:{settings.base_port}/health" for name in launch.after]
    words = waiting(urls, max(started[name] for name in launch.after))
    return {"name": "wait", "image": image_of(settings, launch), "command": words}
