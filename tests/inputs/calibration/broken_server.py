"""Servers on loopback that answer badly, each in its own way."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

EVENT = b'data: {"choices": [{"text": "word "}]}\n\n'


def whole(handler):
    """Answer at once, without streaming."""
    handler.head(200, "application/json")
    handler.wfile.write(json.dumps({"choices": [{"text": "all words"}]}).encode())


def one_token(handler):
    handler.head(200)
    handler.wfile.write(EVENT)


def endless(handler):
    handler.head(200)
    while not handler.server.stopped.is_set():
        handler.wfile.write(EVENT * 100)


def endless_line(handler):
    handler.head(200)
    while not handler.server.stopped.is_set():
        handler.wfile.write(b"x" * 100_000)


def silent(handler):
    handler.server.stopped.wait(30)


def dripping(handler):
    """Send a letter of the answer now and then, so that no silence is ever long."""
    handler.head(200)
    while not handler.server.stopped.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def dripping_head(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not handler.server.stopped.wait(0.05):
        handler.wfile.write(b"x")


def no_json(handler):
    handler.head(200)
    handler.wfile.write(b"data: {]\n\n")


def deep_json(handler):
    handler.head(200)
    handler.wfile.write(b"data: " + b"[" * 100_000 + b"\n\n")


def error_in_stream(handler):
    handler.head(200)
    handler.wfile.write(EVENT + b'data: {"error": {"message": "out of \\u001b[31m memory"}}\n\n')


def no_http(handler):
    handler.wfile.write(b"\x00\x01\x02 nonsense\r\n\r\n")


def closing(handler):
    handler.close_connection = True


def status(code, text="words of the server"):
    def answer(handler):
        handler.head(code, "application/json")
        handler.wfile.write(json.dumps({"error": {"message": text}}).encode())

    return answer


def moved(handler):
    handler.send_response(302)
    handler.send_header("Location", "http://example.invalid/")
    handler.end_headers()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.listing(self)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        self.server.way(self)

    def head(self, code, kind="text/event-stream"):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.end_headers()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, way, listing):
        super().__init__(("127.0.0.1", 0), Handler)
        self.way, self.listing, self.asked, self.stopped = way, listing, 0, Event()

    def handle_error(self, request, client_address):
        """Say nothing of readers that are gone."""


def small(handler):
    handler.head(200, "application/json")
    handler.wfile.write(b'{"data": [{"id": "small"}]}')


@contextmanager
def answering(way, listing=small):
    """Yield a server that answers in one way, and its address."""
    server = Server(way, listing)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
