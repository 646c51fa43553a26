"""A real browser without a screen: what it makes of a page, and whom it asks for anything."""

import json
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
)
OWN = re.compile(r"\w+ (http://)?((accounts|clients2|www)\.google|update\.googleapis)\.com[:/]")
"""What the browser asks for by itself, whatever the page: a blank one makes it do so too."""
WIDTHS = (1280, 400)
SECONDS = 60
WRAPPER = """<!DOCTYPE html><meta charset="utf-8"><title>wrapper</title>{frames}
<pre id="measured"></pre>
<script>
addEventListener("load", () => {{
  const measured = [...document.querySelectorAll("iframe")].map(frame => {{
    const page = frame.contentDocument;
    const closed = page.documentElement.scrollWidth;
    page.querySelectorAll("details").forEach(part => {{ part.open = true; }});
    const shown = [...page.querySelectorAll("svg")].filter(svg => svg.getClientRects().length);
    const letters = svg => parseFloat(getComputedStyle(svg.querySelector("text")).fontSize)
      * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const edges = name => [...page.querySelectorAll(name)].map(part => {{
      const box = part.getBoundingClientRect();
      return [box.left, box.right, box.top, box.bottom];
    }});
    return {{
      width: frame.contentWindow.innerWidth,
      closed,
      opened: page.documentElement.scrollWidth,
      title: page.title,
      plots: shown.length,
      letters: shown.length ? letters(shown[0]) : null,
      edges: Object.fromEntries({selectors}.map(name => [name, edges(name)])),
    }};
  }});
  document.getElementById("measured").textContent = JSON.stringify(measured);
}});
</script>
"""


@dataclass(frozen=True)
class Browser:
    """Chromium, in a folder of its own."""

    command: str
    folder: Path

    def measured(self, page, selectors=()):
        """Return what becomes of a page at each width, with all of it opened.

        `selectors` name elements whose edges (left, right, top, bottom) are wanted.
        """
        frames = "".join(
            f'<iframe width="{width}" height="800" srcdoc="{escape(page)}"></iframe>'
            for width in WIDTHS
        )
        wrapper = WRAPPER.format(frames=frames, selectors=json.dumps(list(selectors)))
        text = self._opened(wrapper)
        return json.loads(unescape(re.findall(r'<pre id="measured">(.*?)</pre>', text)[-1]))

    def requests(self, page):
        """Return what a page asks of the network."""
        with _listening() as (port, asked):
            self._opened(
                page, f"--proxy-server=127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>"
            )
        return [line for line in asked if not OWN.match(line)]

    def _opened(self, page, *options):
        path = self.folder / "opened.html"
        path.write_text(page, encoding="utf-8")
        profile = f"--user-data-dir={self.folder / 'profile'}"
        done = subprocess.run(
            [self.command, *QUIET, profile, *options, "--dump-dom", path.as_uri()],
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        return done.stdout.decode()


@contextmanager
def _listening():
    """Yield the port of a proxy that answers nothing, and the list of what it was asked."""
    asked = []

    class Handler(StreamRequestHandler):
        def handle(self):
            asked.append(self.rfile.readline().decode("latin-1").strip())

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], asked
        server.shutdown()
