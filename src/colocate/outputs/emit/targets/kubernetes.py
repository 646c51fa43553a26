"""Manifests for Kubernetes: pods with engines, a Service for each engine, one for each model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker
from colocate.outputs.emit.cluster import VolumeKind
from colocate.outputs.emit.emission import Emission, EmittedFile, NoteKind, notes_on
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.groups import crowded_gpus, groups_of
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.load_time import ready_by
from colocate.outputs.emit.engines.names import front_names, safe_names
from colocate.outputs.emit.settings import EmitSettings, Share
from colocate.outputs.emit.targets.containers import MPS_FOLDER
from colocate.outputs.emit.targets.file_head import comments_on
from colocate.outputs.emit.targets.kubernetes_claims import (
    claimed_gpus,
    claims,
    feature_gate,
    indistinct,
)
from colocate.outputs.emit.targets.kubernetes_plugin import check_plugin, plugin_config
from colocate.outputs.emit.targets.kubernetes_pods import NAME, PORT_NAME, deployment, port_name
from colocate.outputs.emit.targets.kubernetes_volumes import new_claims
from colocate.outputs.emit.targets.yaml_file import yaml_text
from colocate.solver.plan import Plan

PART_OF, SERVES = "app.kubernetes.io/part-of", "serves.colocate"
MANAGED_BY = {"app.kubernetes.io/managed-by": "colocate"}
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
FILE, BASE, PLUGIN_FILE = "kubernetes.yaml", "kustomization.yaml", "device-plugin.yaml"
DRA_DRIVERS = {
    Maker.NVIDIA: "NVIDIA's DRA driver with GPUs enabled",
    Maker.AMD: "AMD's DRA driver 1.0 (k8s-gpu-dra-driver)",
}
PLUGINS = {
    Maker.NVIDIA: "NVIDIA's device plugin, with the settings of device-plugin.yaml where a GPU is "
    "shared",
    Maker.AMD: "AMD's device plugin",
}
DOOR = "Engines ask for no key: anything in the cluster may use them through their Services."


def emit_kubernetes(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return one file with all manifests, and a base for kustomize beside it.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)
    for node in fleetwide.nodes:
        _check_node(node)
    check_plugin(fleetwide)
    documents = [_in_namespace(document, settings) for document in _manifests(fleetwide)]
    notes = _notes(fleetwide)
    text = yaml_text([*_comments(fleetwide), *notes], *documents)
    beside = [EmittedFile(BASE, _base(settings))]
    if config := plugin_config(fleetwide):
        comments, document = config
        beside.append(EmittedFile(PLUGIN_FILE, yaml_text(comments, document)))
    return Emission(
        (EmittedFile(FILE, text),),
        (*cautions(fleetwide), *notes_on(NoteKind.TARGET, notes)),
        companions=tuple(beside),
    )


def _manifests(fleetwide: Fleetwide) -> list[dict[str, Any]]:
    settings, fleet = fleetwide.settings, fleetwide.fleet
    claimed = claimed_gpus(fleetwide)
    documents = new_claims(fleetwide.launches, settings)
    if settings.share in (Share.DRA, Share.POD):
        documents += claims(claimed, fleetwide)
    models = safe_names(fleet.models)
    started = ready_by(fleetwide.launches, settings)
    for pod in _pods(fleetwide):
        labels = {NAME: pod[0].name, **_served(pod, models, settings), **MANAGED_BY}
        documents.append(deployment(pod, fleetwide, labels, claimed, started))
        for launch in pod:
            named = {NAME: launch.name, PART_OF: models[launch.model], **MANAGED_BY}
            port = port_name(launch, pod, settings)
            documents.append(_service(launch.name, named, {NAME: pod[0].name}, settings, port))
    awake = {launch.model: launch for launch in reversed(fleetwide.launches)}
    names = {name: models[name] for name in fleet.models if name in awake}
    for model, front in front_names(names, {la.name for la in fleetwide.launches}).items():
        labels = {PART_OF: models[model], **MANAGED_BY}
        selector = {**_served([awake[model]], models, settings), **MANAGED_BY}
        port = port_name(awake[model], [awake[model]], settings)
        documents.append(_service(front, labels, selector, settings, port))
    return documents


def _pods(fleetwide: Fleetwide) -> list[list[Launch]]:
    """Return the engines by pod; one that has a pod to itself has the base port."""
    settings = fleetwide.settings
    if settings.share is Share.POD:
        return groups_of(fleetwide.launches)
    return [[replace(launch, port=settings.base_port)] for launch in fleetwide.launches]


def _served(
    pod: Sequence[Launch], models: Mapping[str, str], settings: EmitSettings
) -> dict[str, str]:
    """Return the labels that say which models a pod serves."""
    if settings.share is Share.POD:
        return {f"{SERVES}/{models[launch.model]}": "true" for launch in pod}
    return {PART_OF: models[pod[0].model]}


def _comments(fleetwide: Fleetwide) -> list[str]:
    settings = fleetwide.settings
    claimed = settings.share in (Share.DRA, Share.POD) and crowded_gpus(fleetwide.launches)
    gate = feature_gate(settings) if claimed else ""
    place = settings.cluster.namespace
    return [
        "A colocate plan: kubectl apply --filename this file, or kubectl apply --kustomize its "
        "folder",
        _needs(fleetwide),
        *([f"The driver needs its feature gate {gate}, which is off by default."] if gate else []),
        *([f"If it is not there yet: kubectl create namespace {place}"] if place else []),
        "Pods read a Hugging Face token from the secret huggingface (key token), if it exists.",
        "The Service NAME-all of a model spreads requests over all of its replicas.",
        *comments_on(fleetwide, fleetwide.launches, DOOR),
    ]


def _needs(fleetwide: Fleetwide) -> str:
    """Return what the cluster must have, so that pods get their GPUs."""
    makers = list(dict.fromkeys(launch.maker for launch in fleetwide.launches))
    drivers = " and ".join(DRA_DRIVERS[maker] for maker in makers)
    return {
        Share.DRA: f"It needs Kubernetes 1.34 and {drivers}. Each ResourceClaim is one planned "
        "GPU, which its pods share.",
        Share.POD: f"It needs Kubernetes 1.34 and {drivers}. Engines that share GPUs are "
        "containers of one pod. A pod is ready when all of its engines are.",
        Share.ENV: "It needs the NVIDIA container toolkit as RuntimeClass nvidia, with "
        "NVIDIA_VISIBLE_DEVICES allowed for unprivileged containers; pods on GPUs of AMD are "
        "privileged instead. The scheduler does not know that these GPUs are used: keep all other "
        "GPU pods off these nodes.",
        Share.PLUGIN: f"It needs {' and '.join(PLUGINS[maker] for maker in makers)}.",
    }[fleetwide.settings.share or Share.DRA]


def _notes(fleetwide: Fleetwide) -> list[str]:
    settings = fleetwide.settings
    notes = []
    if settings.share in (Share.DRA, Share.POD):
        notes += [
            f"the GPUs of {node or 'the machine'} differ in kind but not in memory: claims cannot "
            "tell them apart"
            for node in indistinct(fleetwide.fleet)
        ]
    elif "" in fleetwide.nodes:
        notes.append("the fleet names no nodes, so pods may land on any: set node for its GPUs")
    if settings.share is Share.POD:
        notes += _hidden(fleetwide)
    if settings.mps and crowded_gpus(fleetwide.launches):
        notes += _mps_notes(settings)
    volume = settings.cluster.weights
    if volume and volume.kind is VolumeKind.NEW_CLAIM and len(fleetwide.nodes) > 1:
        notes.append(
            "pods on several machines share the new claim: its storage class must offer "
            "ReadWriteMany"
        )
    return notes


def _mps_notes(settings: EmitSettings) -> list[str]:
    """Return what pods under MPS leave to a person."""
    if settings.share is Share.POD:
        return []
    notes = [
        "engines that share a GPU are in pods of their own, which Kubernetes does not restart "
        "together: after one has died, restart the Deployments of its GPU, or choose --share pod"
    ]
    if settings.share is Share.ENV:
        notes.append(
            "the manifests do not start MPS: start nvidia-cuda-mps-control -d on each machine "
            f"first, with CUDA_MPS_PIPE_DIRECTORY={MPS_FOLDER}"
        )
    return notes


def _hidden(fleetwide: Fleetwide) -> list[str]:
    """Return notes on replicas that the Service of their model cannot reach."""
    return [
        f"replica {launch.name} of {launch.model} is in one pod with another one, and NAME-all "
        f"reaches only one of them: send requests to the Service {launch.name} too"
        for pod in groups_of(fleetwide.launches)
        for place, launch in enumerate(pod)
        if any(other.model == launch.model for other in pod[:place])
    ]


def _base(settings: EmitSettings) -> str:
    """Return a kustomization that lists the manifests, to apply or to build on."""
    base: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
    }
    if settings.cluster.namespace:
        base["namespace"] = settings.cluster.namespace
    base["labels"] = [{"pairs": {"app.kubernetes.io/instance": "colocate"}}]
    base["resources"] = [FILE]
    return yaml_text(["A colocate plan as a base of kustomize"], base)


def _in_namespace(document: dict[str, Any], settings: EmitSettings) -> dict[str, Any]:
    place = settings.cluster.namespace
    if not place:
        return document
    name = {"name": document["metadata"]["name"], "namespace": place}
    return {**document, "metadata": {**name, **document["metadata"]}}


def _service(
    name: str,
    labels: Mapping[str, str],
    selector: Mapping[str, str],
    settings: EmitSettings,
    target: str,
) -> dict[str, Any]:
    port = {"name": PORT_NAME, "port": settings.base_port, "targetPort": target}
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
