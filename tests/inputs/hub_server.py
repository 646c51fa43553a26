"""A loopback server that stands in for the Hugging Face hub."""

import json
import threading
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.inputs.hub_folders import REVISION
from tests.inputs.tiny_model import TINY

INDEX = {"metadata": {"total_size": 5000}}
HUGE = 10**9
FILES = {
    "/org/tiny/resolve/main/config.json": TINY,
    "/org/tiny/resolve/main/model.safetensors.index.json": INDEX,
    "/org/bare/resolve/main/config.json": TINY,
}
REFUSALS = {"gated": (403, "GatedRepo"), "private": (401, "RepoNotFound"), "shut": (403, None),
            "broken": (500, None), "hidden": (401, "GatedRepo")}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self._answer(b"")

    def do_GET(self):
        self._answer(self._content())

    def _content(self):
        return json.dumps(FILES.get(self.path, "none")).encode()

    def _answer(self, body):
        self.server.asked.append((self.command, self.path))
        name = self.path.split("/")[2]
        known = self.path in FILES or name == "huge"
        code, reason = REFUSALS.get(name, (200, None) if known else (404, _absence(name)))
        self.send_response(code)
        if reason:
            self.send_header("X-Error-Code", reason)
        if code == 200:
            size = HUGE if name == "huge" else len(self._content())
            self.send_header("Content-Length", str(size))
            self.send_header("ETag", f'"{sha1(self.path.encode()).hexdigest()}"')
            self.send_header("X-Repo-Commit", REVISION)
        else:
            self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.write(body if code == 200 else b"")

    def log_message(self, *_):
        pass


def _absence(name):
    return "EntryNotFound" if name in ("bare", "empty") else "RepoNotFound"


@contextmanager
def hub_server():
    """Serve on a port of this machine; `asked` of the server is what it was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
