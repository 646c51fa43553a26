"""Ten minutes of `colocate watch` on a real Prometheus, while the rates of two engines change.

python -m tests.prometheus.live_watch    prints the log, and draws docs/watch.svg

Prometheus scrapes engines that count by a law, with the names of vLLM. Two models share a GPU. For
four minutes demand is low, then each of the two is asked eighty times a second. The command that
carries steps out does nothing but note them.
"""

import json
import shlex
import subprocess
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from matplotlib.figure import Figure

from colocate.outputs.page.figure import ALARM, INK, SOFT, written_figure
from tests.prometheus.exporter import exporting, vllm
from tests.prometheus.server import running_prometheus, value
from tests.prometheus.test_watch import FLEET, STEP, TOGETHER

LOW, HIGH = 1.0, 80.0
CALM, WHOLE = 240.0, 600.0
"""Seconds until demand rises, and in all."""
INTERVAL = 20.0
"""Seconds between two looks."""
PICTURE = Path(__file__).parents[2] / "docs" / "watch.svg"
COLOURS = {"chat": "#2b5ea8", "code": ALARM, "tiny": SOFT}


def rising(model, high):
    """Return an engine whose rate is low at first, and then high."""
    engine = vllm(model, 1.0)
    return lambda age: engine(LOW * min(age, CALM) + high * max(age - CALM, 0.0))


def log_of(folder, url):
    """Run the watch until the time is over; return what it said, with its seconds."""
    command = [sys.executable, "-m", "colocate", "watch", "fleet.yaml", "--prometheus", url]
    command += ["--from", "now.json", "--elastic", "--interval", str(INTERVAL)]
    command += ["--rounds", str(int(WHOLE / INTERVAL)), "--window", "10m"]
    command += ["--run", f"{shlex.quote(sys.executable)} step.py"]
    begin, said = time(), []
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as watch:
        for line in watch.stderr:
            print(line, end="", flush=True)
            said.append((time() - begin, line.rstrip()))
    assert watch.returncode == 0
    return said


def rates_of(url):
    """Return the rates that the server knows, by model, with their seconds."""
    query = "sum by (model_name) (rate(vllm:request_success_total[30s]))"
    found = {}
    for series in value(url, f"({query})[{WHOLE:.0f}s:5s]"):
        points = [(float(when), float(rate)) for when, rate in series["values"]]
        found[series["metric"]["model_name"]] = points
    return found


def figure_of(rates, said):
    """Draw the rates, and the moments at which it decided to move."""
    first = min(points[0][0] for points in rates.values())
    figure = Figure(figsize=(9.0, 3.6), facecolor="white")
    axes = figure.add_axes((0.07, 0.15, 0.90, 0.66))
    for number, (model, points) in enumerate(sorted(rates.items())):
        moments = [(when - first) / 60.0 for when, _ in points]
        axes.plot(moments, [rate for _, rate in points], color=COLOURS[model], linewidth=1.8)
        beside = "bottom" if number % 2 == 0 else "top"
        axes.text(moments[-1], points[-1][1], f" {model}", color=COLOURS[model], size=9.0,
                  va=beside)  # fmt: skip
    for seconds, line in said:
        if "  move " in line:
            axes.axvline(seconds / 60.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
            told = line.split("  move ", 1)[1].split(" (", 1)[0]
            axes.text(seconds / 60.0, HIGH * 0.5, f" move {told}", color=INK, size=9.0)
    axes.set_xlabel("minutes", size=9.0, color=INK)
    axes.set_ylabel("requests a second", size=9.0, color=INK)
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    figure.text(0.02, 0.91, "A watch on a real Prometheus while demand rises", size=12.0,
                color=INK, weight="bold")  # fmt: skip
    figure.text(0.02, 0.85, "rates as the server knows them, over 30 s; a look every 20 s",
                size=9.0, color=SOFT)  # fmt: skip
    return figure


def main():
    engines = {"chat": rising("chat", HIGH), "code": rising("code", HIGH), "tiny": vllm("tiny", 1)}
    with TemporaryDirectory() as name, exporting(engines) as exporter:
        folder = Path(name)
        (folder / "fleet.yaml").write_text(FLEET)
        (folder / "now.json").write_text(json.dumps(TOGETHER))
        (folder / "step.py").write_text(STEP.format(log=str(folder / "steps.log")))
        jobs = [
            {
                "job_name": name,
                "metrics_path": f"/{name}",
                "static_configs": [{"targets": [f"127.0.0.1:{exporter.server_port}"]}],
            }
            for name in engines
        ]
        config = {"global": {"scrape_interval": "2s"}, "scrape_configs": jobs}
        with running_prometheus(folder, config) as url:
            said, rates = log_of(folder, url), rates_of(url)
        steps = (folder / "steps.log").read_text() if (folder / "steps.log").exists() else "none"
    print(f"steps:\n{steps}\n{datetime.now():%Y-%m-%d}")
    PICTURE.write_bytes(written_figure(partial(figure_of, rates, said), "svg"))


if __name__ == "__main__":
    main()
