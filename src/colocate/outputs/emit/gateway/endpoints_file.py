"""`endpoints.json`: every model of a plan, awake or asleep, and where it answers."""

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.engines.launch import Fleetwide
from colocate.outputs.emit.engines.options import command_by_hand
from colocate.outputs.emit.engines.sleep import sleep_urls
from colocate.outputs.emit.gateway.endpoints import Endpoint, context_of
from colocate.outputs.emit.settings import Engine, Target

ABOUT = "The endpoints of a colocate plan: where each model answers."
"""The mark of an emitted file, and what it is."""


def endpoints_json(
    target: Target,
    fleetwide: Fleetwide,
    endpoints: Iterable[Endpoint],
    paths: Mapping[str, str],
) -> str:
    """Return the file.

    Parameters
    ----------
    target
        What starts the engines.
    fleetwide
        All engines, and the models asleep.
    endpoints
        Where each engine answers.
    paths
        The path of each model behind nginx.
    """
    replicas: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        replicas.setdefault(endpoint.launch.model, []).append(endpoint)
    engine = fleetwide.settings.engine
    awake = [_awake(name, found, paths[name], engine) for name, found in replicas.items()]
    asleep = [_asleep(spec, fleetwide) for spec in fleetwide.asleep]
    document = {
        "about": ABOUT,
        "schema": 1,
        "target": target.value,
        "engine": engine.value,
        "models": awake + asleep,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _awake(name: str, replicas: list[Endpoint], path: str, engine: Engine) -> dict[str, Any]:
    contexts = [context_of(endpoint.launch) for endpoint in replicas]
    known = [context for context in contexts if context is not None]
    return {
        "model": name,
        "state": "awake",
        "ask_for": replicas[0].asked,
        "context_tokens": min(known) if len(known) == len(contexts) else None,
        "gateway_path": path,
        "replicas": [_replica(endpoint, engine) for endpoint in replicas],
    }


def _replica(endpoint: Endpoint, engine: Engine) -> dict[str, Any]:
    launch = endpoint.launch
    found: dict[str, Any] = {
        "engine": launch.name,
        "base_url": endpoint.base_url,
        "host": endpoint.host,
        "port": endpoint.port,
        "node": launch.node,
        "gpus": list(launch.gpus),
        "devices": list(launch.devices),
        "context_tokens": context_of(launch),
    }
    if endpoint.inside:
        found["base_url_inside"] = endpoint.inside
    if endpoint.own_url and (endpoint.own_host, launch.port) != (endpoint.host, endpoint.port):
        found["engine_url"] = endpoint.own_url
    if endpoint.own_url and launch.can_sleep:
        found["asleep_by"] = sleep_urls(engine, endpoint.own_url)
    return found


def _asleep(spec: ModelSpec, fleetwide: Fleetwide) -> dict[str, Any]:
    command = command_by_hand(spec, fleetwide.settings.engine)
    return {"model": spec.name, "state": "asleep", "replicas": [], "start": shlex.join(command)}
