"""A watch that follows a real Prometheus, and the rules and queries of the board in it."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from time import sleep, time

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from colocate.inputs.observation.metrics.metric_names import known_metric_names
from colocate.outputs.board.board import board
from colocate.outputs.board.rules import recording_rules
from tests.prometheus.exporter import vllm
from tests.prometheus.server import free_port, running_prometheus, value

MINUTES, APART = 30, 15
"""How long the history is, and seconds between two of its samples."""
BUSY = {"chat": 80.0, "code": 80.0, "tiny": 0.5}
CALM = {"chat": 1.0, "code": 1.0, "tiny": 0.5}
FLEET = """
gpus: [{name: g, kind: H100-80GB, count: 2}]
models:
  - {name: chat, config: Llama-3.1-8B-Instruct, rate: 1, slo: 6, prompt_tokens: 500,
     output_tokens: 150, tpot_slo: 0.05}
  - {name: code, config: Qwen2.5-7B-Instruct, rate: 1, slo: 6, prompt_tokens: 500,
     output_tokens: 150, tpot_slo: 0.05}
  - {name: tiny, config: Llama-3.2-1B-Instruct, rate: 1, slo: 6, prompt_tokens: 500,
     output_tokens: 150, tpot_slo: 0.05}
"""
LATE = (
    "colocate_plan_engine",
    "colocate:tpot_to_target:ratio",
    "increase(colocate_watch_rounds_total[1h])",
)
"""What the server can answer last: some need two scrapes after the first round."""
TOGETHER = {"chat": ["g-0"], "code": ["g-0"], "tiny": ["g-1"]}
STEP = """
import json, sys
step = json.load(open(sys.argv[1]))
open({log!r}, "a").write(f"{{step['kind']}} {{step['model']}} {{','.join(step['gpus'])}}\\n")
"""


def history(rates, end):
    """Return half an hour of what engines would have told, in the format that can be imported."""
    kinds, rows = {}, {}
    for model, rate in rates.items():
        engine = vllm(model, rate)
        for age in range(0, MINUTES * 60, APART):
            for line in engine(float(age)):
                name = line.split("{")[0]
                if name.endswith("_bucket"):
                    continue
                name_only = name.removesuffix("_total")
                kinds[name_only] = "counter" if name.endswith("_total") else "unknown"
                moment = end - MINUTES * 60 + age
                series = line.replace("{", f'{{instance="{model}:8000",job="vllm",', 1)
                rows.setdefault(name_only, []).append((series.rsplit(" ", 1)[0], moment, series))
    for name, lines in rows.items():
        yield f"# TYPE {name} {kinds[name]}"
        for _, moment, series in sorted(lines):
            yield f"{series} {moment:.3f}"
    yield "# EOF"


@contextmanager
def prometheus(folder, rates, watched=None):
    """Run a server with a history, the rules of the board, and a watch to scrape."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(history(rates, time() - 5.0)) + "\n"
    (folder / "history").write_text(text)
    made = [
        shutil.which("promtool"),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "history",
        "data",
    ]
    subprocess.run(made, cwd=folder, check=True, capture_output=True, timeout=60)
    (folder / "rules.yml").write_text(recording_rules(known_metric_names()))
    jobs = [{"job_name": "watch", "static_configs": [{"targets": [watched]}]}] if watched else []
    timing = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": timing, "rule_files": ["rules.yml"], "scrape_configs": jobs}
    with running_prometheus(folder, config) as url:
        yield url


@pytest.fixture
def place(tmp_path):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "now.json").write_text(json.dumps(TOGETHER))
    (tmp_path / "step.py").write_text(STEP.format(log=str(tmp_path / "steps.log")))
    return tmp_path


def watch(place, url, *options, **more):
    command = [sys.executable, "-m", "colocate", "watch", "fleet.yaml", "--prometheus", url]
    command += ["--from", "now.json", "--elastic", "--window", "25m", *options]
    return subprocess.Popen(
        command, cwd=place, stderr=subprocess.PIPE, text=True, env=os.environ, **more
    )


def acting(place):
    return "--run", f"'{sys.executable}' '{place / 'step.py'}'"


def test_it_stays_while_demand_is_low_and_moves_when_it_is_high(place):
    with prometheus(place / "calm", CALM) as url:
        calm = watch(place, url, "--rounds", "2", "--interval", "1", *acting(place))
        said = calm.communicate(timeout=180)[1]
    assert calm.returncode == 0, said
    assert "stay: " in said
    assert not (place / "steps.log").exists()
    with prometheus(place / "busy", BUSY) as url:
        busy = watch(place, url, "--rounds", "1", *acting(place))
        said = busy.communicate(timeout=180)[1]
    assert busy.returncode == 0, said
    assert "  move " in said, said
    steps: dict[str, list[str]] = {}
    for line in (place / "steps.log").read_text().splitlines():
        kind, model, _ = line.split()
        steps.setdefault(model, []).append(kind)
    assert {"chat", "code"} & steps.keys()
    for kinds in steps.values():
        assert kinds == ["load", "wait", "switch", "drain", "unload"]
    state = json.loads((place / "colocate-watch" / "state.json").read_text())
    where = {each["model"]: each["gpus"] for each in state["engines"]}
    assert where["chat"] != where["code"]


def test_a_dead_source_moves_nothing(place):
    dead = watch(place, f"http://127.0.0.1:{free_port()}", "--rounds", "1", *acting(place))
    said = dead.communicate(timeout=180)[1]
    assert dead.returncode == 0
    assert said.count("no demand, so nothing moves") == 1
    assert not (place / "steps.log").exists()


def test_the_board_asks_what_this_server_can_answer(place):
    port = free_port()
    with prometheus(place / "busy", BUSY, f"127.0.0.1:{port}") as url:
        options = ("--interval", "2", "--listen", f"127.0.0.1:{port}")
        watching = watch(place, url, *options)
        try:
            for _ in range(120):
                if all(value(url, query) for query in LATE):
                    break
                sleep(1.0)
            panels = json.loads(board())["panels"]
            queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
            empty = [
                query
                for query in queries
                if not value(url, query.replace("$gpu", "g-0")) and "ttft_to" not in query
            ]
        finally:
            watching.terminate()
            watching.communicate(timeout=30)
    allowed = ("target_ttft", "steps_total")  # no target for it, and a dry run takes no step
    assert [query for query in empty if not any(word in query for word in allowed)] == []


def test_prometheus_takes_the_rules(tmp_path):
    (tmp_path / "rules.yml").write_text(recording_rules(known_metric_names()))
    command = [shutil.which("promtool"), "check", "rules", str(tmp_path / "rules.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_the_board_has_the_form_of_grafanas_own_types():
    plugins.register_default_plugins()
    data = json.loads(board())
    again = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(data)))
    assert list(lost(data, again)) == []


def lost(data, again, path=""):
    """Yield what Grafana's types do not know, or know otherwise."""
    if isinstance(data, dict) and isinstance(again, dict):
        for name, each in data.items():
            here = f"{path}/{name}"
            yield from lost(each, again[name], here) if name in again else [here]
    elif isinstance(data, list) and isinstance(again, list) and len(data) == len(again):
        for place, (one, other) in enumerate(zip(data, again, strict=True)):
            yield from lost(one, other, f"{path}/{place}")
    elif data != again:
        yield path
