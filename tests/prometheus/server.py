"""A real Prometheus server on loopback, and what it says."""

import json
import shutil
import socket
import subprocess
from contextlib import contextmanager
from time import monotonic, sleep
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml

READY = 30.0
"""Seconds that Prometheus may take to start."""


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


@contextmanager
def running_prometheus(folder, config):
    """Run a server in a folder, and yield its address."""
    command = shutil.which("prometheus")
    assert command, "prometheus is not installed: apt-get install prometheus"
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [command, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
            cwd=folder, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait_for(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(url, process, log):
    end = monotonic() + READY
    while monotonic() < end and process.poll() is None:
        try:
            urlopen(f"{url}/-/ready", timeout=1.0).read()
            return
        except (URLError, OSError):
            sleep(0.2)
    pytest.fail(f"Prometheus did not start: {log.read_text()[-2000:]}")


def value(url, query):
    """Return what a server answers to a query."""
    with urlopen(f"{url}/api/v1/query?query={quote(query)}", timeout=10) as answer:
        data = json.load(answer)
    assert data["status"] == "success", query
    return data["data"]["result"]
