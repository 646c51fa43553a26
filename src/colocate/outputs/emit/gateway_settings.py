"""What a user may choose about the gateway, and about the addresses that it forwards to."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from colocate.errors import InputError

LABEL = r"[A-Za-z0-9]([-A-Za-z0-9_]{0,61}[A-Za-z0-9])?"
HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){LABEL}(\.{LABEL})*")
"""A host name by RFC 1123, and with the underscores that some networks have."""
A_HOST = "a host name or an IP address"
LAST_PORT = 65_535
"""Ports have 16 bits."""


@dataclass(frozen=True)
class GatewaySettings:
    """Choices of the user for the gateway, checked.

    Parameters
    ----------
    addresses
        The name of a machine of the fleet and the address that reaches it, for each that has
        another than its name. An empty name is the only machine of a fleet.
    port
        The port on which nginx listens; None is the one below that of the first engine.
    """

    addresses: tuple[tuple[str, str], ...] = ()
    port: int | None = None

    def __post_init__(self) -> None:
        for _, host in self.addresses:
            if not is_host(host):
                raise InputError.of("address", host, A_HOST)
        nodes = [node for node, _ in self.addresses]
        for node in nodes:
            if nodes.count(node) > 1:
                raise InputError.of("address", node, "given once for each machine")
        if self.port is not None and not 1 <= self.port <= LAST_PORT:
            raise InputError.of("gateway_port", self.port, f"from 1 to {LAST_PORT}")


def is_host(text: str) -> bool:
    """Return whether a text can only be a host name or an IP address."""
    return bool(HOST_NAME.fullmatch(text)) or _is_ip(text)


def bracketed(host: str) -> str:
    """Return a host as URLs and nginx take it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def parse_addresses(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the machines and addresses that options name: NODE=HOST, or HOST for the only one."""
    parts = (text.rpartition("=") for text in texts)
    return tuple((node, host) for node, _, host in parts)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
