"""Stands in for a model, to try the lab without one.

It serves the chat protocol of OpenAI on this machine and answers every request with a packing in
rows that is then improved by small steps, each time with other rows or steps.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from threading import Lock

PORT = 8010
ROWS = ((5, 5, 6, 5, 5), (5, 6, 5, 6, 4), (6, 5, 6, 5, 4), (4, 5, 4, 5, 4, 4), (5, 5, 5, 5, 6))
STEPS = (0.01, 0.03)
ROUNDS = (0, 4, 8)
PROGRAM = '''
from math import hypot

ROWS = {rows}
STEP = {step}
ROUNDS = {rounds}


def pack_circles(count):
    """Put centres in rows, and move each of them as long as the sum of radii grows."""
    places = [
        [(column + 0.5) / across, (row + 0.5) / len(ROWS)]
        for row, across in enumerate(ROWS)
        for column in range(across)
    ][:count]
    step, best = STEP, radii(places)
    for _ in range(ROUNDS):
        for place in places:
            for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                old = place[:]
                moved = (place[0] + x * step, place[1] + y * step)
                place[:] = [min(max(each, 0), 1) for each in moved]
                found = radii(places)
                if sum(found) > sum(best):
                    best = found
                else:
                    place[:] = old
        step *= 0.7
    return [[*place, radius - 1e-9] for place, radius in zip(places, best)]


def radii(places):
    """Give every circle half of the way to its neighbours, and then all that is left."""
    found = [0.0] * len(places)
    for share in (0.5, 1.0):
        for n, (x, y) in enumerate(places):
            room = min(x, y, 1 - x, 1 - y)
            for m, (u, v) in enumerate(places):
                if m != n:
                    apart = hypot(x - u, y - v)
                    room = min(room, apart / 2 if share == 0.5 else apart - found[m])
            found[n] = max(room, found[n])
    return found
'''
CHOICES = [(rows, step, rounds) for rounds, step, rows in product(ROUNDS, STEPS, ROWS)]


def answer(number: int) -> str:
    """Return an answer as a model would give it."""
    rows, step, rounds = CHOICES[number % len(CHOICES)]
    name = f"rows_{'_'.join(map(str, rows))}_{rounds}_rounds"
    code = PROGRAM.format(rows=rows, step=step, rounds=rounds)
    told = f"Rows of {', '.join(map(str, rows))} circles, {rounds} rounds of steps of {step}."
    marked = f"# EVOLVE-BLOCK-START\n{code}# EVOLVE-BLOCK-END\n"
    return (
        f"<NAME>\n{name}\n</NAME>\n<DESCRIPTION>\n{told}\n</DESCRIPTION>\n<CODE>\n{marked}</CODE>\n"
    )


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other."""

    lock = Lock()
    asked = 0

    def do_POST(self) -> None:
        """Send the next answer."""
        prompt = self.rfile.read(int(self.headers["Content-Length"]))
        with Handler.lock:
            number, Handler.asked = Handler.asked, Handler.asked + 1
        text = answer(number)
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Print nothing."""


def main() -> None:
    """Serve until Ctrl-C."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("port", nargs="?", type=int, default=PORT, help=f"by default {PORT}")
    port = parser.parse_args().port
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot serve on port {port}: {error}; give another one")
    print(f"serving http://127.0.0.1:{server.server_port}/v1 until Ctrl-C", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
