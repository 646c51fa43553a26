"""Manifests for Kubernetes: a Deployment and a Service for each engine, and one for each model."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.emission import Emission, EmittedFile
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.names import front_names, safe_names
from colocate.outputs.emit.engines.options import COMMANDS, command, environment
from colocate.outputs.emit.settings import EmitSettings, Share
from colocate.outputs.emit.targets.amd import add_devices
from colocate.outputs.emit.targets.containers import (
    MODEL_FOLDER,
    READY_SECONDS,
    folder_of,
    image_of,
    source_inside,
    waiting,
)
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.kubernetes_claims import REQUEST, claim, indistinct
from colocate.outputs.emit.targets.yaml_file import dollars_doubled, yaml_text
from colocate.solver.plan import Plan

NAME, PART_OF = "app.kubernetes.io/name", "app.kubernetes.io/part-of"
MANAGED_BY = {"app.kubernetes.io/managed-by": "colocate"}
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
PORT_NAME = "http"
GPU_RESOURCES = {Maker.NVIDIA: "nvidia.com/gpu", Maker.AMD: "amd.com/gpu"}
"""By maker: the resource of its device plugin, after which taints of nodes are called."""
DRA_DRIVERS = {
    Maker.NVIDIA: "NVIDIA's DRA driver with GPUs enabled",
    Maker.AMD: "AMD's DRA driver 1.0 (k8s-gpu-dra-driver)",
}
DOOR = "Engines ask for no key: anything in the cluster may use them through their Services."


def emit_kubernetes(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return one file with all manifests.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)
    launches = [replace(launch, port=settings.base_port) for launch in fleetwide.launches]
    for node in fleetwide.nodes:
        _check_node(node)
    used = {gpu for launch in launches for gpu in launch.gpus}
    names = safe_names(gpu for gpu in fleet.devices if gpu in used)
    claims = {gpu: f"gpu-{name}" for gpu, name in names.items()}
    models = safe_names(fleet.models)
    documents = []
    if settings.share is Share.DRA:
        documents += [claim(name, gpu, fleet) for gpu, name in claims.items()]
    for launch in launches:
        labels = {NAME: launch.name, PART_OF: models[launch.model], **MANAGED_BY}
        documents.append(_deployment(launch, settings, labels, claims))
        documents.append(_service(launch.name, labels, {NAME: launch.name}, settings))
    awake = [name for name in fleet.models if plan.placement[name]]
    fronts = front_names({name: models[name] for name in awake}, {la.name for la in launches})
    for model, front in fronts.items():
        labels = {PART_OF: models[model], **MANAGED_BY}
        documents.append(_service(front, labels, labels, settings))
    notes = _notes(fleetwide)
    text = yaml_text([*_comments(fleetwide), *notes], *documents)
    return Emission((EmittedFile("kubernetes.yaml", text),), (*cautions(fleetwide), *notes))


def _comments(fleetwide: Fleetwide) -> list[str]:
    needs = {
        Share.DRA: f"It needs Kubernetes 1.34 and {_drivers(fleetwide)}. Each ResourceClaim is one "
        "planned GPU, which its pods share.",
        Share.ENV: "It needs the NVIDIA container toolkit as RuntimeClass nvidia, with "
        "NVIDIA_VISIBLE_DEVICES allowed for unprivileged containers; pods on GPUs of AMD are "
        "privileged instead. The scheduler does not know "
        "that these GPUs are used: keep all other GPU pods off these nodes.",
    }
    return [
        "A colocate plan: kubectl apply --filename this file",
        needs[fleetwide.settings.share],
        "Pods read a Hugging Face token from the secret huggingface (key token), if it exists.",
        "The Service NAME-all of a model spreads requests over all of its replicas.",
        *comments_on(fleetwide, fleetwide.launches, DOOR),
    ]


def _drivers(fleetwide: Fleetwide) -> str:
    makers = dict.fromkeys(launch.maker for launch in fleetwide.launches)
    return " and ".join(DRA_DRIVERS[maker] for maker in makers)


def _notes(fleetwide: Fleetwide) -> list[str]:
    notes = []
    if fleetwide.settings.share is Share.DRA:
        notes += [
            f"the GPUs of {node or 'the machine'} differ in kind but not in memory: claims cannot "
            "tell them apart"
            for node in indistinct(fleetwide.fleet)
        ]
    elif "" in fleetwide.nodes:
        notes.append("the fleet names no nodes, so pods may land on any: set node for its GPUs")
    return notes


def _deployment(
    launch: Launch, settings: EmitSettings, labels: Mapping[str, str], claims: Mapping[str, str]
) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "containers": [_container(launch, settings)],
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            *_model_volume(launch),
        ],
        "enableServiceLinks": False,  # or a service called vllm sets VLLM_PORT to no port
    }
    if launch.node:
        pod["nodeSelector"] = {"kubernetes.io/hostname": launch.node}
    pod["tolerations"] = [{"key": GPU_RESOURCES[launch.maker], "operator": "Exists"}]
    if launch.after:
        pod["initContainers"] = [_waiting(launch, settings)]
    if settings.share is Share.DRA:
        names = [(f"gpu-{place}", claims[gpu]) for place, gpu in enumerate(launch.gpus)]
        pod["resourceClaims"] = [
            {"name": name, "resourceClaimName": claimed} for name, claimed in names
        ]
        wanted = [{"name": name, "request": REQUEST} for name, _ in names]
        pod["containers"][0]["resources"] = {"claims": wanted}
    elif launch.maker is Maker.AMD:
        add_devices(pod, launch)
    else:
        pod["runtimeClassName"] = "nvidia"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": launch.name,
            "labels": dict(labels),
            "annotations": {
                "colocate/model": launch.model,
                "colocate/gpus": ", ".join(launch.gpus),
            },
        },
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": 2 * READY_SECONDS,
            "selector": {"matchLabels": {NAME: launch.name}},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }


def _container(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    entry = list(COMMANDS[settings.engine])
    words = command(launch, replace(settings, host="0.0.0.0"), source_inside(launch))
    health = {"path": "/health", "port": PORT_NAME}
    mounts: list[dict[str, Any]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    if folder_of(launch):
        mounts.append({"name": "model", "mountPath": MODEL_FOLDER, "readOnly": True})
    return {
        "name": "engine",
        "image": image_of(settings, launch),
        "command": entry,
        "args": dollars_doubled(words[len(entry) :]),
        "env": _variables(launch, settings),
        "ports": [{"name": PORT_NAME, "containerPort": launch.port}],
        "startupProbe": {
            "httpGet": health,
            "periodSeconds": 10,
            "failureThreshold": READY_SECONDS // 10,
        },
        "readinessProbe": {"httpGet": health, "periodSeconds": 10},
        "livenessProbe": {"httpGet": health, "periodSeconds": 30, "failureThreshold": 10},
        "volumeMounts": mounts,
    }


def _variables(launch: Launch, settings: EmitSettings) -> list[dict[str, Any]]:
    secret = {"name": "huggingface", "key": "token", "optional": True}
    values = environment(launch, settings)
    if settings.share is Share.ENV and launch.maker is Maker.NVIDIA:
        values["NVIDIA_VISIBLE_DEVICES"] = ",".join(map(str, launch.devices))
    return [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": secret}},
        *({"name": name, "value": value} for name, value in values.items()),
    ]


def _waiting(launch: Launch, settings: EmitSettings) -> dict[str, Any]:
    """Return a container that ends when the engines before this one on its GPUs answer."""
    urls = [f"http://{name}:{launch.port}/health" for name in launch.after]
    return {"name": "wait", "image": image_of(settings, launch), "command": waiting(urls)}


def _model_volume(launch: Launch) -> list[dict[str, Any]]:
    folder = folder_of(launch)
    return [{"name": "model", "hostPath": {"path": folder}}] if folder else []


def _service(
    name: str, labels: Mapping[str, str], selector: Mapping[str, str], settings: EmitSettings
) -> dict[str, Any]:
    port = {"name": PORT_NAME, "port": settings.base_port, "targetPort": PORT_NAME}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"selector": dict(selector), "ports": [port]},
    }


def _check_node(node: str) -> None:
    if node and not LABEL_VALUE.fullmatch(node):
        found = "cannot be the name of a machine in Kubernetes"
        expected = "at most 63 letters, digits, hyphens and dots"
        raise InputError(Fault(found, expected, owner=Owner("node", node)))
