"""Servers that stand in for engines behind a gateway: they say who they are and what they got."""

import json
import socket
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Echo(BaseHTTPRequestHandler):
    """Answers any request with the name of its engine, the path and the model asked for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = json.loads(body) if body else {}
        self.server.asked.append((self.path, asked.get("model")))
        if self.path.endswith("/stream"):
            self.stream()
            return
        self.send(json.dumps(self.said(asked)).encode())

    def said(self, asked):
        message = {"role": "assistant", "content": self.server.engine}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": asked.get("model"),
            "engine": self.server.engine,
            "path": self.path,
            "received": len(json.dumps(asked)),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def send(self, data):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self):
        """Send one word, and the next when the test has read the first."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in (b"first", b"second"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(word), word))
            self.wfile.flush()
            if word == b"first":
                assert self.server.read.wait(20), "nobody read the first word"
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


@contextmanager
def echoes(places):
    """Start a server for each engine, by name: (host, port); yield them by name."""
    with ExitStack() as stack:
        servers = {}
        for name, place in places.items():
            server = ThreadingHTTPServer(place, Echo)
            server.engine, server.asked, server.read = name, [], threading.Event()
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            servers[name] = server
        yield servers


def free_ports(count, hosts=("127.0.0.1", "127.0.0.2")):
    """Return the first of so many ports in a row that nobody has."""
    for first in range(21_000, 60_000, count):
        try:
            for host in hosts:
                for port in range(first, first + count):
                    with socket.socket() as probe:
                        probe.bind((host, port))
        except OSError:
            continue
        return first
    raise AssertionError("no ports are free")
