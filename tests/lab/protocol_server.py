"""A server on loopback that speaks the chat protocol of OpenAI, well or badly, as scripted."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

PATH = "/v1/chat/completions"
KEY = "sk-secret-of-this-test"


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    seconds: float = 0.0
    """How long it keeps silent first."""
    missing_bytes: int = 0
    """How much of the body it promises and does not send."""
    pause: float = 0.0
    """How long it waits after each byte of the body."""
    raw: bytes = b""
    """What it sends byte by byte instead of a status, headers and body."""
    endless: bool = False
    """Whether the body comes again and again, without an end."""


def completion(text, finish_reason="stop", usage=(1000, 200), **fields):
    """Return the reply with an answer in it; the message may have further fields."""
    message = {"role": "assistant", "content": text, **fields}
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if isinstance(usage, tuple):
        body["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), usage, strict=True))
    elif usage:
        body["usage"] = usage
    return Reply(json.dumps(body))


def fault(status, message, **headers):
    """Return the reply that tells of a fault."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message}}), status, named)


@dataclass(frozen=True)
class Seen:
    """A request that came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.seen = []
        self.stopped = Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_reply(self, seen):
        """Return the next reply of the script; the last one for ever."""
        self.seen.append(seen)
        return self.script[min(len(self.seen), len(self.script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    timeout = 5

    def do_POST(self):
        told = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.next_reply(Seen(self.path, self.headers, json.loads(told)))
        if self.path != PATH:
            reply = fault(404, "no such path")
        if self.server.stopped.wait(reply.seconds):
            return
        with suppress(OSError):
            if reply.raw:
                self._drip(reply.raw, reply.pause)
            else:
                self._send(reply)

    def _send(self, reply):
        content = reply.body.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        if not reply.endless:
            self.send_header("Content-Length", str(len(content) + reply.missing_bytes))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        while reply.endless and not self.server.stopped.is_set():
            self.wfile.write(content)
        if reply.pause:
            self._drip(content, reply.pause)
        else:
            self.wfile.write(content)

    def _drip(self, content, pause):
        for byte in content:
            self.wfile.write(bytes([byte]))
            if self.server.stopped.wait(pause):
                return

    def log_message(self, *_):
        """Keep the output of the tests clean."""


@contextmanager
def serving(*script: Reply) -> Iterator[_Server]:
    """Run a server that gives these replies in turn; it is gone at the end."""
    server = _Server(script)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
