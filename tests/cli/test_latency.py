"""What `plan` says of latencies, and what `check` makes of it."""

import json
import re

import pytest

from tests.cli.test_commands import fleet, run

STATED = """
gpus: [{name: g, kind: H100-80GB, count: 2}]
models:
  - {name: chat, size_gb: 16, rate: 3, slo: 1, prompt_tokens: 500, output_tokens: 100,
     tpot_slo: 0.05, kv_bytes_per_token: 1.3e+5}
  - {name: coder, size_gb: 15, rate: 2, slo: 1, prompt_tokens: 900, output_tokens: 200,
     tpot_slo: 0.05, kv_bytes_per_token: 1.3e+5}
  - {name: titles, size_gb: 3, rate: 1, slo: 1, prompt_tokens: 500, output_tokens: 20,
     tpot_slo: 0.04, kv_bytes_per_token: 3e+4}
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("latency")
    path = folder / "plan.json"
    done = run("plan", fleet(folder, STATED), "--levels", "1", "--save", path)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(path.read_text())


def test_plan_prints_the_latency_of_every_model(planned):
    text, data = planned
    heads = [
        line.split()[0] for line in text.splitlines() if " TPOT " in line and "MPS" not in line
    ]
    assert heads == ["model", "chat", "coder", "titles"]
    assert "of its target (" in text
    assert "all targets hold" in text
    assert [each["model"] for each in data["latency"]] == ["chat", "coder", "titles"]
    assert all(each["keeps_targets"] for each in data["latency"])


def checked(data, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    return run("check", path)


def test_check_confirms_stated_latencies(planned, tmp_path):
    done = checked(planned[1], tmp_path)
    assert done.returncode == 0
    assert "confirmed  latency: worst latency " in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda latency: latency[0]["tpot"].update(mean=0.001),
        lambda latency: latency[0]["tpot"].update(mean="fast"),
        lambda latency: latency[0].update(keeps_targets=1),
        lambda latency: latency[1].update(tpot=[]),
        lambda latency: latency[2].pop("slots"),
        lambda latency: latency.pop(),
    ],
)
def test_check_finds_latencies_that_are_not_so(planned, tmp_path, change):
    data = json.loads(json.dumps(planned[1]))
    change(data["latency"])
    done = checked(data, tmp_path)
    assert done.returncode == 1
    assert "WRONG  latency: not what the law predicts" in done.stderr


@pytest.mark.parametrize("latency", [{}, "none", 3, [None], [[]]])
def test_nothing_that_is_stated_as_latencies_crashes(planned, tmp_path, latency):
    done = checked({**planned[1], "latency": latency}, tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_check_says_only_what_holds_for_a_plan_without_a_placement(tmp_path):
    path = tmp_path / "plan.json"
    late = fleet(tmp_path, STATED.replace("tpot_slo: 0.04", "tpot_slo: 0.0001"))
    assert run("plan", late, "--no-remedies", "--save", path).returncode == 4
    done = run("check", path)
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("confirmed  status: INFEASIBLE, no placement (")
    assert line.endswith("by one model alone on its GPU: 'titles'")


def test_check_speaks_of_what_the_plan_minimises(tmp_path):
    path = tmp_path / "plan.json"
    calm = "{name: a, size_gb: 16, rate: 1, slo: 1, prompt_tokens: 500, output_tokens: 100}"
    text = f"gpus: [{{kind: H100-80GB}}]\nobjective: latency\nmodels: [{calm}]"
    assert run("plan", fleet(tmp_path, text), "--save", path).returncode == 0
    done = run("check", path)
    assert "status: OPTIMAL, no placement has a lower ratio" in done.stdout
    assert "lower pressure" not in done.stdout
    assert "service: 1 replica has its least cache" in done.stdout


def test_a_queue_that_grows_is_told_once_with_what_ends_it(tmp_path):
    flood = STATED.replace("rate: 3,", "rate: 300,").replace("tpot_slo: 0.05, ", "")
    done = run("plan", fleet(tmp_path, flood.replace("tpot_slo: 0.04, ", "")))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("chat is saturated") == 1
    assert "the queue of chat" not in done.stdout
    assert "\nin every placement, a queue grows without end\n" in done.stdout
    assert re.search(r"note: 'chat' alone keeps up in \d+ replicas or with \d+ req", done.stderr)
    assert "--time-limit" not in done.stderr


def test_more_time_is_not_offered_where_the_search_gave_up(tmp_path):
    flood = STATED.replace("rate: 3,", "rate: 900, replicas: auto,").replace("tpot_slo: 0.05, ", "")
    done = run("plan", fleet(tmp_path, flood.replace("tpot_slo: 0.04, ", "")))
    assert done.returncode == 0, done.stderr
    assert "chat is saturated" in done.stdout
    assert "--time-limit" not in done.stderr
