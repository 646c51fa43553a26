"""Sends a question to a server and reads its reply, both within limits."""

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, SimpleQueue
from socket import SHUT_RDWR
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from colocate.errors import ColocateError
from colocate.inputs.server.address import (
    PIECE,
    SECONDS_TO_CONNECT,
    ServerAddress,
)

MOST_BYTES = 16 * 1024 * 1024
"""A reply of the longest answer, with all its thinking, is some hundred times smaller."""
ENDPOINT = "chat/completions"
LOOPBACK = ("localhost", "127.", "::1")
"""No proxy reaches these hosts."""


class LostCause(StrEnum):
    """Why no reply came."""

    SILENCE = "silence"
    NO_CONNECTION = "no-connection"
    BROKEN = "broken"
    TOO_LARGE = "too-large"


class LostReplyError(ColocateError):
    """No whole reply came.

    Parameters
    ----------
    cause
        What went wrong.
    words
        What the system says about it.
    sent
        Whether the question may have arrived, so that its answer costs something.
    """

    def __init__(self, cause: LostCause, words: str, sent: bool) -> None:
        super().__init__(f"{cause} ({words})")
        self.cause, self.words, self.sent = cause, words, sent


@dataclass(frozen=True)
class HttpReply:
    """A whole reply.

    Parameters
    ----------
    status, headers
        The HTTP status, and the headers by their names in lower case.
    text
        The body.
    """

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class _Attempt:
    """The state of one try, which its thread changes and the asker looks at."""

    connection: HTTPConnection | None = None
    sent: bool = False
    done: SimpleQueue[HttpReply | LostReplyError] = field(default_factory=SimpleQueue)

    def give_up(self) -> None:
        """Wake the thread, so that it ends."""
        open_socket = self.connection.sock if self.connection else None
        if open_socket:
            with suppress(OSError):
                open_socket.shutdown(SHUT_RDWR)


def post(
    address: ServerAddress, body: Mapping[str, Any], seconds: float, most: int = MOST_BYTES
) -> HttpReply:
    """Send a question and return the whole reply, whatever it is.

    A thread of its own does the work: names that are looked up, handshakes and headers that drip
    byte by byte would escape the time limit of a socket.

    Parameters
    ----------
    address
        The server.
    body
        The fields of the question.
    seconds
        The longest time from now to the last byte of the reply.
    most
        The largest reply, in bytes.

    Raises
    ------
    LostReplyError
        If no whole reply came.
    """
    attempt = _Attempt()
    content = json.dumps(body).encode()
    Thread(target=_work, args=(attempt, address, content, seconds, most), daemon=True).start()
    try:
        outcome = attempt.done.get(timeout=max(seconds, 0.001))
    except Empty:
        attempt.give_up()
        raise LostReplyError(LostCause.SILENCE, f"{seconds:.3g} s", attempt.sent) from None
    if isinstance(outcome, LostReplyError):
        raise outcome
    return outcome


def _work(
    attempt: _Attempt, address: ServerAddress, content: bytes, seconds: float, most: int
) -> None:
    try:
        attempt.connection, target, headers = _route(address, seconds)
        attempt.connection.connect()
        attempt.connection.sock.settimeout(seconds)
        attempt.sent = True
        attempt.connection.request("POST", target, content, headers)
        attempt.done.put(_whole(attempt.connection.getresponse(), most))
    except LostReplyError as error:
        attempt.done.put(error)
    except (OSError, HTTPException, UnicodeError, ValueError) as error:
        cause = LostCause.BROKEN if attempt.sent else LostCause.NO_CONNECTION
        late = isinstance(error, TimeoutError) and attempt.sent
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
        attempt.done.put(LostReplyError(LostCause.SILENCE if late else cause, words, attempt.sent))
    finally:
        if attempt.connection:
            attempt.connection.close()


def _whole(response: HTTPResponse, most: int) -> HttpReply:
    pieces, size = [], 0
    while piece := response.read1(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise LostReplyError(LostCause.TOO_LARGE, f"more than {most:,} bytes", sent=True)
    if response.length:
        raise LostReplyError(
            LostCause.BROKEN, f"it ended {response.length:,} bytes too early", sent=True
        )
    headers = {name.lower(): value for name, value in response.getheaders()}
    return HttpReply(response.status, headers, b"".join(pieces).decode("utf-8", "replace"))


def _route(address: ServerAddress, seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """Return a connection, through a proxy if the environment names one; the path; the headers."""
    url = urlsplit(address.url)
    host, secure = url.hostname or "", url.scheme == "https"
    target = address.path(ENDPOINT) + (f"?{url.query}" if url.query else "")
    headers = {**address.headers, "Accept": "application/json"}
    if address.api_key and "/deployments/" in target:  # of Azure, with a dated API version
        headers["api-key"] = address.api_key
        del headers["Authorization"]
    proxy = urlsplit(_proxy(url.scheme, host))
    limit = max(min(seconds, SECONDS_TO_CONNECT), 0.1)
    port = url.port or (443 if secure else 80)
    first_host, first_port = (proxy.hostname, proxy.port or 80) if proxy.hostname else (host, port)
    if not secure:
        if proxy.hostname:
            target = f"http://{url.netloc.rpartition('@')[2]}{target}"
        return HTTPConnection(first_host, first_port, timeout=limit), target, headers
    context = ssl.create_default_context()
    connection = HTTPSConnection(first_host, first_port, timeout=limit, context=context)
    if proxy.hostname:
        connection.set_tunnel(host, port)
    return connection, target, headers


def _proxy(scheme: str, host: str) -> str:
    """Return the address of the proxy for a host; empty if there is none."""
    if host.startswith(LOOPBACK) or proxy_bypass(host):
        return ""
    proxies = getproxies()
    return proxies.get(scheme) or proxies.get("all") or ""
