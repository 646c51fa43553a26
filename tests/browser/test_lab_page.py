"""The page of a lab in a real browser; `make test-browser` insists on there being one."""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from colocate.lab.watch import html_page
from tests.lab.made_labs import HOSTILE, lab_that_says, large_lab

NAME = os.environ.get("CHROMIUM", "chromium")
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
    return {{
      width: frame.contentWindow.innerWidth,
      closed,
      opened: page.documentElement.scrollWidth,
      title: page.title,
      plots: shown.length,
      letters: parseFloat(getComputedStyle(shown[0].querySelector("text")).fontSize)
        * shown[0].getBoundingClientRect().width / shown[0].viewBox.baseVal.width,
    }};
  }});
  document.getElementById("measured").textContent = JSON.stringify(measured);
}});
</script>
"""


@pytest.fixture
def chromium(capsys):
    path = shutil.which(NAME)
    if not path:
        reason = f"no browser {NAME!r}: the page of a lab was not looked at; set CHROMIUM"
        with capsys.disabled():
            print(f"\nskipped: {reason}")
        pytest.skip(reason)
    return path


def measured(chromium, page, folder):
    """Return what a browser makes of a page at each width, with all of it opened."""
    frames = "".join(
        f'<iframe width="{width}" height="800" srcdoc="{escape(page)}"></iframe>'
        for width in WIDTHS
    )
    wrapper = folder / "wrapper.html"
    wrapper.write_text(WRAPPER.format(frames=frames), encoding="utf-8")
    command = [chromium, *QUIET, f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [*command, wrapper.as_uri()], capture_output=True, timeout=SECONDS, check=True
    )
    text = done.stdout.decode()
    return json.loads(unescape(re.findall(r'<pre id="measured">(.*?)</pre>', text)[-1]))


@pytest.mark.parametrize("lab", ["large", "hostile"])
def test_the_page_fits_and_runs_nothing(chromium, lab, tmp_path):
    path = tmp_path / "lab.db"
    with large_lab(path) if lab == "large" else lab_that_says(HOSTILE, path) as archive:
        page = html_page(archive)
    found = measured(chromium, page, tmp_path)
    assert [frame["width"] for frame in found] == list(WIDTHS)
    for frame in found:
        assert frame["closed"] <= frame["width"]
        assert frame["opened"] <= frame["width"]
        assert frame["title"].startswith("Lab on ")
        assert frame["plots"] == 1
        assert frame["letters"] >= 11
