"""Where the engines of a plan answer, and by which names, for every target."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.gateway.hosts import Hosts
from colocate.outputs.emit.gateway_settings import bracketed
from colocate.outputs.emit.settings import EmitSettings, Memory, Target
from colocate.outputs.emit.targets.compose import INSIDE
from colocate.solver.plan import Plan

API = "/v1"
"""The path of the OpenAI API, which all engines offer."""


@dataclass(frozen=True)
class Endpoint:
    """Where one engine answers."""

    launch: Launch
    host: str
    port: int
    asked: str
    """The model that a request must name there."""
    own_host: str | None
    """The host for requests to the engine itself, None if nothing reaches it."""
    inside: str | None = None
    """The URL for containers of the same compose project."""

    @property
    def address(self) -> str:
        """Its host and port."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def base_url(self) -> str:
        """What clients of the OpenAI API are given."""
        return f"http://{self.address}{API}"

    @property
    def own_url(self) -> str | None:
        """The engine itself, whatever stands before it."""
        if self.own_host is None:
            return None
        return f"http://{bracketed(self.own_host)}:{self.launch.port}"


def engines_of(target: Target, plan: Plan, fleet: Fleet, settings: EmitSettings) -> Fleetwide:
    """Return the engines that a target starts, with their ports.

    Parameters
    ----------
    target
        What starts the engines.
    plan, fleet, settings
        As `catalogue.emit` takes them.
    """
    if target is Target.KVCACHED:
        elastic = replace(settings, memory=Memory.KVCACHED)
        return launches_of(plan, fleet, elastic, settings.base_port + 1)
    return launches_of(plan, fleet, settings, settings.base_port)


def endpoints_of(target: Target, fleetwide: Fleetwide, hosts: Hosts) -> tuple[Endpoint, ...]:
    """Return where each engine answers.

    Parameters
    ----------
    target
        What starts the engines.
    fleetwide
        All engines.
    hosts
        The addresses of the machines.
    """
    place = PLACES.get(target, _on_its_node)
    return tuple(place(launch, fleetwide, hosts) for launch in fleetwide.launches)


def distinct(endpoints: Iterable[Endpoint]) -> dict[str, list[Endpoint]]:
    """Return the endpoints of each model; of those with one address, the first."""
    found: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        found.setdefault(endpoint.launch.model, {}).setdefault(endpoint.address, endpoint)
    return {model: list(by_address.values()) for model, by_address in found.items()}


def context_of(launch: Launch) -> int | None:
    """Return the longest request in tokens that an engine serves, None if it is not known."""
    return launch.spec.max_model_len or launch.context


def _on_its_node(launch: Launch, _: Fleetwide, hosts: Hosts) -> Endpoint:
    host = hosts.by_node[launch.node]
    return Endpoint(launch, host, launch.port, launch.model, host)


def _in_compose(launch: Launch, fleetwide: Fleetwide, hosts: Hosts) -> Endpoint:
    outside = _on_its_node(launch, fleetwide, hosts)
    return replace(outside, inside=f"http://{launch.name}:{INSIDE}{API}")


def _behind_kvcached(launch: Launch, fleetwide: Fleetwide, hosts: Hosts) -> Endpoint:
    """Return the router of the machine, which knows models by what is loaded."""
    host, port = hosts.by_node[launch.node], fleetwide.settings.base_port
    return Endpoint(launch, host, port, launch.source, "localhost")


def _in_cluster(launch: Launch, fleetwide: Fleetwide, _: Hosts) -> Endpoint:
    """Return the Service of an engine."""
    port = fleetwide.settings.base_port
    namespace = fleetwide.settings.cluster.namespace
    host = f"{launch.name}.{namespace}.svc" if namespace else launch.name
    return Endpoint(replace(launch, port=port), host, port, launch.model, host)


def _behind_ray(launch: Launch, fleetwide: Fleetwide, hosts: Hosts) -> Endpoint:
    """Return the one address of Ray Serve, which every node of its cluster has."""
    host = next(iter(hosts.by_node.values()))
    return Endpoint(launch, host, fleetwide.settings.base_port, launch.model, None)


PLACES: dict[Target, Callable[[Launch, Fleetwide, Hosts], Endpoint]] = {
    Target.COMPOSE: _in_compose,
    Target.KVCACHED: _behind_kvcached,
    Target.KUBERNETES: _in_cluster,
    Target.RAY: _behind_ray,
}
"""By target: where an engine answers, unless it is at its own port of its machine."""
