"""Where a server is, and connections to it: HTTP of the standard library, with limits."""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Timer
from urllib.parse import unquote, urlsplit

from colocate.errors import InputError, ServerError

SECONDS_TO_CONNECT = 10.0
"""A running server accepts a connection within this."""
LONGEST_QUOTE = 200
"""Letters to quote from a server: a message, but not a whole page."""
PIECE = 64 * 1024
"""Bytes to read at once."""

ADVICE = {
    400: "check the model's name and its context length",
    401: "give the API key of this server, in OPENAI_API_KEY",
    403: "give an API key that may use this model, in OPENAI_API_KEY",
    404: "check the model's name and the address, which often ends in /v1",
    429: "calibrate when nobody else uses the server, or raise its limit",
    503: "wait until the model is loaded",
}
"""Advice on each HTTP status of a server that answers chats."""


@dataclass(frozen=True)
class ServerAddress:
    """A server, without anything secret in what is shown of it.

    Parameters
    ----------
    url
        Such as `http://127.0.0.1:8000/v1`; without a path, `/v1` is meant.
    api_key
        Sent to the server; a local one needs none. Without it, a name and a password in the
        address are sent.
    advice
        What to do about each HTTP status.

    Raises
    ------
    InputError
        If it is no address, or the key has letters that no key has.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    advice: Mapping[int, str] = field(default_factory=lambda: ADVICE, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise InputError.of("url", self.url, "an address like http://127.0.0.1:8000/v1")
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InputError("the API key has letters that no key has, such as an end of line")

    def __str__(self) -> str:
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"

    @property
    def headers(self) -> dict[str, str]:
        """What goes with each request."""
        key = {"Authorization": self._authorization} if self._authorization else {}
        return {"Content-Type": "application/json", "Connection": "close", **key}

    @property
    def _authorization(self) -> str:
        if self.api_key:
            return f"Bearer {self.api_key}"
        name, _, word = urlsplit(self.url).netloc.rpartition("@")[0].partition(":")
        pair = f"{unquote(name)}:{unquote(word)}".encode()
        return f"Basic {b64encode(pair).decode()}" if name else ""

    def path(self, name: str) -> str:
        """Return the path of an endpoint below the address, or beside it if it begins with `/`."""
        if name.startswith("/"):
            return name
        return f"{urlsplit(self.url).path.rstrip('/') or '/v1'}/{name}"

    def connect(self, seconds: float) -> HTTPConnection:
        """Return an open connection, on which a silence of so many seconds is an error."""
        url = urlsplit(self.url)
        host, port = url.hostname or "", url.port
        limit = max(min(seconds, SECONDS_TO_CONNECT), 0.1)
        connection: HTTPConnection = HTTPConnection(host, port, timeout=limit)
        if url.scheme == "https":
            context = ssl.create_default_context()
            connection = HTTPSConnection(host, port, timeout=limit, context=context)
        try:
            connection.connect()
        except OSError as error:
            raise self.no_connection(error) from None
        connection.sock.settimeout(max(seconds, 0.1))
        return connection

    def get(self, name: str, seconds: float, most: int) -> str:
        """Return what the server answers to a plain question.

        Parameters
        ----------
        name
            The endpoint, as `path` takes it.
        seconds
            How long to wait.
        most
            Bytes that are read at most.
        """
        connection = self.connect(seconds)
        late = Event()
        end = Timer(seconds, _shut, [connection.sock, late])  # headers may drip for ever
        end.daemon = True
        end.start()
        try:
            connection.request("GET", self.path(name), headers=self.headers)
            response = connection.getresponse()
            self.check(response)
            body = read_up_to(response, most)
            if late.is_set():
                raise TimeoutError
            return body.decode("utf-8", "replace")
        except TimeoutError:
            raise self.silence(seconds) from None
        except (OSError, HTTPException) as error:
            raise (self.silence(seconds) if late.is_set() else self.no_connection(error)) from None
        finally:
            end.cancel()
            connection.close()

    def check(self, response: HTTPResponse) -> None:
        """Raise the error of a response that is none of success."""
        if response.status == 200:
            return
        body = response.read(4 * LONGEST_QUOTE).decode("utf-8", "replace")
        advice = self.advice.get(response.status, "look at the log of the server")
        raise self.fault(
            f"the server answered {response.status} ({self.quote(body)}); {advice}",
            response.status,
        )

    def fault(self, text: str, status: int | None = None) -> ServerError:
        """Return the error that names this server."""
        return ServerError(f"{self}: {text}", status)

    def no_connection(self, error: Exception) -> ServerError:
        """Return the error of a connection that did not come about, or broke."""
        cause = self.quote(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        return self.fault(f"no connection ({cause}); check the address and that the server runs")

    def silence(self, seconds: float) -> ServerError:
        """Return the error of a server that says nothing."""
        return self.fault(f"no sign of life within {seconds:.3g} s; look at the log of the server")

    def quote(self, text: str) -> str:
        """Return the beginning of a text from outside, on one line and without the key."""
        if text.lstrip().startswith("<"):
            return "an HTML page"
        if self.api_key:
            text = text.replace(self.api_key, "***")
        line = " ".join(text.split())[:LONGEST_QUOTE]
        return "".join(each if each.isprintable() else "?" for each in line) or "nothing"


def read_up_to(response: HTTPResponse, most: int) -> bytes:
    """Return a whole body; one of more than so many bytes is an error."""
    pieces, size = [], 0
    while piece := response.read1(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise OSError(f"more than {most} bytes")
    return b"".join(pieces)


def _shut(open_socket: socket, late: Event) -> None:
    late.set()
    with suppress(OSError):
        open_socket.shutdown(SHUT_RDWR)


def is_address(text: str) -> bool:
    """Whether a text is the address of an HTTP server."""
    try:
        url = urlsplit(text)
        plain = text.isascii() and text.isprintable() and " " not in text
        return plain and url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return False
