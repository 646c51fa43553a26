"""A server on loopback with an exact law of steps and prefills, and a batch that grows and shrinks.

It runs as a process of its own, so that its work is not the reader's: `python -m
tests.inputs.calibration.step_server '{"base_ms": 8}'` prints its port.
"""

import json
import queue
import random
import sys
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import PIPE, Popen
from time import perf_counter, sleep


@dataclass(frozen=True)
class Law:
    base_ms: float = 8.0
    per_request_ms: float = 0.6
    per_1k_context_ms: float = 1.5
    prefill_base_ms: float = 6.0
    prefill_ms_per_1k_tokens: float = 40.0
    noise: float = 0.03
    slots: int = 64
    most_context: int = 100_000
    ignore_eos: bool = True
    usage: bool = True
    completions: bool = True
    least_tokens: int = 0
    """Without ignore_eos, answers end after so many tokens."""
    hiccup: float = 0.0
    """The chance that a step takes ten times as long."""


class Job:
    def __init__(self, prompt, tokens):
        self.context, self.left = prompt, tokens
        self.out = queue.SimpleQueue()

    def emit(self):
        self.context += 1
        self.left -= 1
        self.out.put(self.left)


class Engine(threading.Thread):
    """Prefills one after the other as soon as a slot is free, and decodes all others together."""

    def __init__(self, law):
        super().__init__(daemon=True)
        self.law, self.waiting, self.running = law, queue.SimpleQueue(), []
        self.clock = perf_counter()

    def run(self):
        while True:
            if not self.running and self.waiting.empty():
                self.start_job(self.waiting.get(), perf_counter())
            while len(self.running) < self.law.slots and not self.waiting.empty():
                self.start_job(self.waiting.get(), self.clock)
            batch, law = self.running, self.law
            context = sum(job.context for job in batch)
            step = law.base_ms + law.per_request_ms * len(batch)
            step += law.per_1k_context_ms * context / 1000
            if random.random() < law.hiccup:
                step *= 10
            self.work(step)
            for job in batch:
                job.emit()
            self.running = [job for job in batch if job.left > 0]

    def start_job(self, job, begin):
        self.clock = begin
        law = self.law
        self.work(law.prefill_base_ms + law.prefill_ms_per_1k_tokens * job.context / 1000)
        job.emit()
        if job.left > 0:
            self.running.append(job)

    def work(self, milliseconds):
        """Take so long; a late wake is made up for by the next step."""
        self.clock += milliseconds / 1000 * random.gauss(1, self.law.noise)
        sleep(max(self.clock - perf_counter(), 0))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.say(200, {"data": [{"id": "small"}]})

    def do_POST(self):
        law = self.server.engine.law
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] != "small":
            return self.say(404, {"error": {"message": "no such model"}})
        if self.path.endswith("/v1/completions") and not law.completions:
            return self.say(404, {"error": {"message": "no such endpoint"}})
        if "ignore_eos" in body and not law.ignore_eos:
            return self.say(400, {"error": {"message": "ignore_eos is not permitted"}})
        prompt = body.get("prompt") or body["messages"][0]["content"]
        words = len(prompt.split())
        if words + body["max_tokens"] > law.most_context:
            return self.say(400, {"error": {"message": "the context is too long"}})
        tokens = body["max_tokens"]
        if not body.get("ignore_eos") and law.least_tokens:
            tokens = min(tokens, law.least_tokens)
        return self.stream(words, tokens, law.usage and "stream_options" in body)

    def stream(self, words, tokens, usage):
        job = Job(words, tokens)
        self.server.engine.waiting.put(job)
        chat = "chat" in self.path
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            left = job.out.get()
            text = {"delta": {"content": "word "}} if chat else {"text": "word "}
            self.event(json.dumps({"choices": [{"index": 0, **text}]}))
            if left == 0:
                break
        if usage:
            counts = {"prompt_tokens": words, "completion_tokens": tokens}
            self.event(json.dumps({"choices": [], "usage": counts}))
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def event(self, text):
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def say(self, status, content):
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, law):
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = Engine(law)
        self.engine.start()

    def handle_error(self, request, client_address):
        """Say nothing of readers that are gone."""


@contextmanager
def serving(law):
    """Yield the address of a server with this law."""
    command = [sys.executable, "-m", "tests.inputs.calibration.step_server"]
    server = Popen([*command, json.dumps(asdict(law))], stdout=PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


if __name__ == "__main__":
    made = Server(Law(**json.loads(sys.argv[1])))
    print(made.server_port, flush=True)
    made.serve_forever()
