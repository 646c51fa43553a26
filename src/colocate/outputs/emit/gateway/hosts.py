"""The address of each machine, as others reach it."""

from collections.abc import Mapping
from dataclasses import dataclass

from colocate.errors import UnknownNameError
from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.gateway_settings import is_host
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.text.wording import quoted

EVERYWHERE = ("0.0.0.0", "::")
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Hosts:
    """The addresses of all machines of a fleet."""

    by_node: Mapping[str, str]
    made_up: Mapping[str, str]
    """Of those, the ones that stand for a name that cannot be an address, by machine."""

    def notes(self) -> list[str]:
        """Return sentences on the addresses that no machine may have."""
        return [
            f"{quoted(node)} cannot be a host name, so the files for gateways call that machine "
            f"{host}: give --address {quoted(node)}=HOST"
            for node, host in self.made_up.items()
        ]


def hosts_of(fleet: Fleet, settings: EmitSettings) -> Hosts:
    """Return the address of each machine.

    That is the one that the user gave, or else its name. A fleet on one machine has the address
    that its engines listen on.
    """
    nodes = list(dict.fromkeys(gpu.node for gpu in fleet.problem.gpus))
    only = nodes[0] if len(nodes) == 1 else None
    given = {_known(node, nodes): host for node, host in settings.gateway.addresses}
    found, made_up = {}, {}
    names = safe_names(nodes)
    for node in nodes:
        if node in given:
            found[node] = given[node]
        elif node == only:
            found[node] = _listening(settings.host)
        elif is_host(node):
            found[node] = node
        else:
            found[node] = made_up[node] = names[node]
    return Hosts(found, made_up)


def _listening(host: str) -> str:
    return LOCAL if host in EVERYWHERE else host


def _known(node: str, nodes: list[str]) -> str:
    """Return the machine that an option means; an empty name is the only one."""
    if not node and len(nodes) == 1:
        return nodes[0]
    if node not in nodes:
        raise UnknownNameError.among("address", node, [name for name in nodes if name])
    return node
