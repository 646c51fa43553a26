"""An OpenAI-compatible server on loopback that answers with programs from a list, in turn."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

ANSWER = """\
<NAME>
attempt_{number}
</NAME>

<DESCRIPTION>
Program {number} of a list.
</DESCRIPTION>

<CODE>
```python
{program}
```
</CODE>
"""
"""A whole program, with the tags of ShinkaEvolve; the others look for the fenced block."""


class Script:
    """The answers, and the prompts that led to them."""

    def __init__(self, programs):
        self.programs = programs
        self.prompts = []
        self.lock = Lock()

    def answer(self, request):
        with self.lock:
            number = len(self.prompts)
            self.prompts.append("\n".join(str(m["content"]) for m in request["messages"]))
        program = self.programs[number % len(self.programs)].strip("\n")
        return ANSWER.format(number=number, program=program)


@contextmanager
def serving(programs):
    """Serve programs; yield the script and the address."""
    script = Script(programs)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": script.answer(json.loads(body))}
            usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
            text = json.dumps(answer | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield script, f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
