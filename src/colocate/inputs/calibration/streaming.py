"""One streamed answer of a server: when its pieces came, and what it says of its tokens.

Pieces are kept as they come and read afterwards, so that the reader keeps up with many streams.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from threading import Event
from time import perf_counter
from typing import Any

from colocate.inputs.server.address import PIECE, ServerAddress

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one answer: a thousand tokens have less than one in fifty of these."""
PIECES_PER_TOKEN, MORE_PIECES = 8, 256
"""Pieces that an answer may come in: one a token, or more where a network splits them."""
TEXTS = ("content", "reasoning_content", "reasoning")
"""Where servers of chats put text."""


@dataclass(frozen=True)
class StreamAnswer:
    """When the pieces of an answer came, in seconds of `perf_counter`.

    Parameters
    ----------
    sent
        When the request was on its way.
    arrivals
        When each piece with text came.
    prompt_tokens, completion_tokens
        What the server counted, if it says so.
    """

    sent: float
    arrivals: tuple[float, ...]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def tokens_per_arrival(self) -> float:
        """How many tokens a piece has: one, unless the server counts more or fewer."""
        if self.completion_tokens is None or self.completion_tokens < 2 or len(self.arrivals) < 2:
            return 1.0
        return (self.completion_tokens - 1) / (len(self.arrivals) - 1)


class Stream:
    """A request for an answer in pieces, which another thread may cut off.

    Parameters
    ----------
    address
        The server.
    path
        The endpoint.
    body
        The request.
    """

    def __init__(self, address: ServerAddress, path: str, body: Mapping[str, Any]) -> None:
        self._address, self._path, self._body = address, path, body
        self._socket: socket.socket | None = None
        self._cut = Event()

    def cut(self) -> None:
        """End it, whatever it waits for."""
        self._cut.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def was_cut(self) -> bool:
        """Whether it was ended before its time."""
        return self._cut.is_set()

    def read(self, seconds: float) -> StreamAnswer:
        """Return the whole answer, or the error of the server that gave none.

        Parameters
        ----------
        seconds
            A silence of so many seconds is an error.
        """
        address = self._address
        connection = address.connect(seconds)
        self._socket = connection.sock
        try:
            if self.was_cut:
                raise address.silence(seconds)
            body = json.dumps(self._body).encode()
            sent = perf_counter()
            connection.request("POST", address.path(self._path), body, address.headers)
            response = connection.getresponse()
            address.check(response)
            pieces = self._pieces(response)
        except TimeoutError:
            raise address.silence(seconds) from None
        except (OSError, HTTPException) as error:
            raise address.no_connection(error) from None
        finally:
            connection.close()
        return self._answer(sent, pieces)

    def _pieces(self, response: HTTPResponse) -> list[tuple[float, bytes]]:
        pieces: list[tuple[float, bytes]] = []
        size, most = 0, PIECES_PER_TOKEN * self._body["max_tokens"] + MORE_PIECES
        while piece := response.read1(PIECE):
            pieces.append((perf_counter(), piece))
            size += len(piece)
            if size > MOST_BYTES or len(pieces) > most:
                raise self._address.fault(
                    f"the answer goes on after {size:,} bytes, though the request has "
                    f"max_tokens={self._body['max_tokens']}; the server must stop there"
                )
        return pieces

    def _answer(self, sent: float, pieces: list[tuple[float, bytes]]) -> StreamAnswer:
        arrivals: list[float] = []
        usage: Mapping[str, Any] = {}
        events = 0
        for moment, payload in _events(pieces):
            events += 1
            content = self._content(payload)
            if _has_text(content):
                arrivals.append(moment)
            if isinstance(content.get("usage"), Mapping):
                usage = content["usage"]
        if not events:
            raise self._address.fault(
                "the answer came whole, not in pieces; use a server that streams completions"
            )
        prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return StreamAnswer(sent, tuple(arrivals), prompt, completion)

    def _content(self, payload: bytes) -> Mapping[str, Any]:
        try:
            content = json.loads(payload)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, Mapping):
            raise self._address.fault("a piece of the answer is no JSON object; check the address")
        if content.get("error"):
            text = self._address.quote(json.dumps(content["error"]))
            raise self._address.fault(
                f"the answer broke off ({text}); look at the log of the server"
            )
        return content


def _events(pieces: list[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """Yield the data of each event, and when it was complete."""
    rest = b""
    for moment, piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                payload = line[5:].strip()
                if payload and payload != b"[DONE]":
                    yield moment, payload


def _has_text(content: Mapping[str, Any]) -> bool:
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping):
        return False
    delta = first.get("delta")
    said = delta if isinstance(delta, Mapping) else {}
    texts = (first.get("text"), *(said.get(name) for name in TEXTS))
    return any(isinstance(text, str) and text for text in texts)


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    count = usage.get(name)
    return count if isinstance(count, int) and 0 <= count < 10**9 else None
