"""A server on loopback that answers as Prometheus does, from samples that a test gives it."""

import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from threading import Thread
from urllib.parse import parse_qs, urlsplit

NOW = 1_800_000_000.0
"""The time by the clock of the server: some hour that is whole."""
LOOK_BACK = 300.0
NAMES = re.compile(r'__name__=~"([^"]*)"')
MATCHER = re.compile(r'(\w+)="([^"]*)"')


class Store:
    """Samples by series: labels, and pairs of moments and values."""

    def __init__(self, now=NOW, every=15.0):
        self.now, self.every, self.series = now, every, {}

    def add(self, name, values, begin=None, **labels):
        """Add samples at equal distance, up to now unless a beginning is given; None is none."""
        key = tuple(sorted({"__name__": name, **labels}.items()))
        first = self.now - self.every * (len(values) - 1) if begin is None else begin
        row = self.series.setdefault(key, [])
        row += [(first + self.every * n, v) for n, v in enumerate(values) if v is not None]

    def histogram(self, name, sums, counts, **labels):
        self.add(f"{name}_sum", sums, **labels)
        self.add(f"{name}_count", counts, **labels)

    def matching(self, query):
        names = NAMES.search(query)
        pattern = re.compile(names[1] if names else ".*")
        wanted = dict(MATCHER.findall(query))
        for key, row in self.series.items():
            labels = dict(key)
            if pattern.fullmatch(labels["__name__"]) and wanted.items() <= labels.items():
                yield labels, row

    def at(self, row, moment):
        seen = [(t, v) for t, v in row if moment - LOOK_BACK < t <= moment]
        return seen[-1] if seen else None

    def answer(self, endpoint, asked):
        query = asked.get("query", asked.get("match[]", [""]))[0]
        if endpoint == "series":
            begin, end = float(asked["start"][0]), float(asked["end"][0])
            found = (
                labels
                for labels, row in self.matching(query)
                if any(begin <= t <= end for t, _ in row)
            )
            return list(found)
        if endpoint == "query_range":
            return {"resultType": "matrix", "result": list(self.matrix(query, asked))}
        if query == "time()":
            return {"resultType": "scalar", "result": [self.now, str(self.now)]}
        moment = float(asked["time"][0])
        rows = [row for _, row in self.matching(query)]
        if "timestamp" in query:
            numbers = [seen[0] for row in rows if (seen := self.at(row, moment))]
        else:
            span = float(re.search(r"\[(\d+)s\]", query)[1])
            numbers = [sum(moment - span < t <= moment for t, _ in row) for row in rows]
        value = max(filter(None, numbers), default=None)
        result = [] if value is None else [{"metric": {}, "value": [moment, str(value)]}]
        return {"resultType": "vector", "result": result}

    def matrix(self, query, asked):
        start, end, step = (float(asked[name][0]) for name in ("start", "end", "step"))
        moments = [start + n * step for n in range(round((end - start) / step) + 1)]
        assert len(moments) <= 11_000, "Prometheus refuses more"
        for labels, row in self.matching(query):
            values = [(t, seen[1]) for t in moments if (seen := self.at(row, t))]
            if values:
                yield {"metric": labels, "values": [[t, shown(v)] for t, v in values]}


def shown(value):
    return repr(float(value)) if isfinite(value) else {"inf": "+Inf"}.get(str(value), "NaN")


@contextmanager
def serving(store, answer=None):
    """Yield the address of a server with these samples, and what it was asked.

    `answer` writes the whole of an answer itself, or returns False to leave it to the samples.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append(self.path)
            if answer is not None and answer(self) is not False:
                return
            url = urlsplit(self.path)
            data = store.answer(url.path.rpartition("/")[2], parse_qs(url.query))
            self.reply(200, json.dumps({"status": "success", "data": data}))

        def reply(self, status, text):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
