"""A small server that Prometheus scrapes; it holds one text, which the loop replaces."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Self

from colocate.errors import InputError

CONTENT = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus."""
SECONDS_TO_ASK = 10.0
"""After which a client that says nothing is left."""


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of HOST:PORT, or say that it is none."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 1 << 16):
        raise InputError.of("listen", address, "HOST:PORT, such as 127.0.0.1:9477")
    return host, int(port)


class MetricsServer:
    """Serves `/metrics`; a context manager that ends it.

    Parameters
    ----------
    address
        HOST:PORT to listen at; port 0 takes a free one.
    """

    def __init__(self, address: str) -> None:
        host, port = host_and_port(address)
        self._text, self._lock = b"", Lock()
        server = self

        class _Handler(BaseHTTPRequestHandler):
            timeout = SECONDS_TO_ASK

            def do_GET(self) -> None:
                if self.path.split("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                body = server.text
                self.send_response(200)
                self.send_header("Content-Type", CONTENT)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing: scrapes come every few seconds."""

        try:
            self._server = ThreadingHTTPServer((host, port), _Handler)
        except OSError as error:
            why = f"an address that is free here ({error.strerror})"
            raise InputError.of("listen", address, why) from None
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def text(self) -> bytes:
        """What it answers."""
        with self._lock:
            return self._text

    def show(self, text: str) -> None:
        """Answer this from now on."""
        with self._lock:
            self._text = text.encode()
