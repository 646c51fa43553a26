import json

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app

FLEET = """
gpus: [{node: n, kind: H200, count: 2}]
models:
  - {name: chat, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 128,
     kv_bytes_per_token: 131072, tpot_slo: 0.012, ttft_slo: 1}
  - {name: code, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 128,
     kv_bytes_per_token: 131072}
  - {name: embedder, size_gb: 2, rate: 9, slo: 5, prompt_tokens: 300, output_tokens: 0,
     kv_bytes_per_token: 0}
"""


def run(*arguments):
    return CliRunner().invoke(app, ["predict", *map(str, arguments)])


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


@pytest.fixture
def crowded(tmp_path):
    path = tmp_path / "crowded.yaml"
    path.write_text("chat: n-0\ncode: [n-0]\nembedder: n-1\n")
    return path


def test_a_plan_file_is_enough(fleet, tmp_path):
    plan = tmp_path / "plan.json"
    made = ["plan", str(fleet), "--levels", "1", "--save", str(plan)]
    assert CliRunner().invoke(app, made).exit_code == 0
    done = run(plan)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:5] == ["model", "GPUs", "TPOT", "alone", "slower"]
    assert [line.split()[0] for line in lines[2:5]] == ["chat", "code", "embedder"]
    assert "engines on a GPU share it by time slices" in lines
    stated = json.loads(plan.read_text())
    assert json.loads(run(plan, "--json").stdout)["ratios"].keys() == stated["pressures"].keys()


def test_a_stated_placement_and_what_it_would_be_under_mps(fleet, crowded):
    sliced = json.loads(run(fleet, "--placement", crowded, "--json").stdout)
    under_mps = json.loads(run(fleet, "--placement", crowded, "--sharing", "mps", "--json").stdout)
    assert (sliced["sharing"], under_mps["sharing"]) == ("slices", "mps")
    assert sliced["ratio"] > under_mps["ratio"]
    chat, code, embedder = sliced["replicas"]
    assert (chat["gpus"], chat["replica"], chat["rate"]) == (["n-0"], 0, 6)
    target = {"stated": True, "tpot_slo": 0.012, "ttft_slo": 1, "percentile": None}
    assert chat["target"] == target
    assert chat["keeps_targets"] is False
    assert sliced["keeps_targets"] is False
    assert code["target"]["stated"] is False
    assert code["target"]["ttft_slo"] == "Infinity"
    assert code["keeps_targets"] is True
    for replica in (chat, code, embedder):
        beside, alone = replica, replica["alone"]
        assert alone.keys() <= beside.keys()
        assert beside["ratio"] >= alone["ratio"]
        assert not beside["saturated"]
    assert embedder["tpot"] == {"mean": 0, "p95": 0, "p99": 0}
    assert embedder["slower"] == 1


def test_targets_and_rules_that_break_are_said(fleet, crowded, tmp_path):
    done = run(fleet, "--placement", crowded)
    assert done.exit_code == 0
    chat = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["chat"])
    assert chat.endswith("TPOT 12 ms, TTFT 1 s   misses")
    assert "1 of 1 model misses a target: chat" in done.stdout
    full = tmp_path / "full.yaml"
    full.write_text(FLEET.replace("size_gb: 16", "size_gb: 80"))
    told = run(full, "--placement", crowded)
    assert told.exit_code == 0
    assert "note: no plan would do this: gpu 'n-0' holds 160 GB of" in told.stderr


def test_a_queue_without_end_is_said(fleet, crowded):
    fleet.write_text(FLEET.replace("rate: 6", "rate: 900"))
    done = run(fleet, "--placement", crowded)
    assert done.exit_code == 0
    assert "chat and code are saturated: the queue grows without end" in done.stdout
    data = json.loads(run(fleet, "--placement", crowded, "--json").stdout)
    assert data["ratio"] == data["replicas"][0]["ttft"]["mean"] == "Infinity"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "found [], must be a mapping from models to GPUs"),
        ("chat: 3", "model 'chat': found 3, must be the name of a GPU, or a list of names"),
        ("chat: [n-0, 1]", "must be the name of a GPU, or a list of names"),
        ("chat: n-9", "model 'chat': is on 'n-9', which is no GPU, did you mean 'n-"),
        ("chatter: n-0", "model 'chatter': is not in the fleet, did you mean 'chat'?"),
        ("{", "not valid YAML or JSON"),
    ],
)
def test_a_bad_placement_file_is_named(fleet, tmp_path, text, message, monkeypatch):
    path = tmp_path / "places.yaml"
    path.write_text(text)
    done = run(fleet, "--placement", path)
    assert str(path) in str(done.exception)
    assert message in str(done.exception)


def test_what_is_missing_is_said_of_every_model(fleet, crowded):
    fleet.write_text(
        FLEET.replace(", tpot_slo: 0.012, ttft_slo: 1", "").replace("rate: 6, slo: 5,", "load: 1,")
    )
    told = str(run(fleet, "--placement", crowded).exception)
    for name in ("chat", "code"):
        assert f"'{name}': rate is missing, give it and slo instead of load" in told


def test_a_plan_of_an_earlier_version_can_be_read(fleet, tmp_path):
    """Plans had no word on sharing and objective, and could state no limit on compute."""
    plan = tmp_path / "plan.json"
    made = ["plan", str(fleet), "--levels", "1", "--save", str(plan)]
    assert CliRunner().invoke(app, made).exit_code == 0
    data = json.loads(plan.read_text())
    data["fleet"]["compute_limit"] = None
    plan.write_text(json.dumps(data))
    assert run(plan).exit_code == 0
    assert CliRunner().invoke(app, ["check", str(plan)]).exit_code == 0


def test_plan_says_why_latency_is_not_predicted(fleet):
    def note(text):
        fleet.write_text(text)
        done = CliRunner().invoke(app, ["plan", str(fleet), "--levels", "1"])
        assert done.exit_code == 0
        return [line for line in done.stderr.splitlines() if "latency" in line]

    assert note(FLEET) == []
    some = FLEET.replace("output_tokens: 0", "max_model_len: 9").replace(
        " tpot_slo: 0.012, ttft_slo: 1", " importance: 1"
    )
    assert note(some) == [
        "note: latency is not predicted: model 'embedder' states no output_tokens"
    ]
    unknown = some.replace("kind: H200", "kind: mine, memory_gb: 140")
    assert note(unknown) == [
        "note: latency is not predicted: model 'embedder' states no output_tokens and no steps are "
        "stated for GPU kind 'mine'"
    ]
    by_tokens = """
load: tokens
gpus: [{kind: H200}]
models:
  - {name: m, size_gb: 16, tokens_per_second: 900, kv_bytes_per_token: 131072, tpot_slo: 0.1}
"""
    assert note(by_tokens) == [
        "note: latency is not predicted: no model states prompt_tokens and output_tokens, so "
        "tpot_slo is no limit"
    ]


@pytest.mark.parametrize("text", ["a: g-0\nb: [g-0, g-1]\n", '{"a": "g-0", "b": ["g-0"]}'])
def test_a_placement_without_its_fleet_brings_the_command(tmp_path, text):
    path = tmp_path / "placement.yaml"
    path.write_text(text)
    told = str(run(path).exception)
    assert "is a placement without a fleet, must be a plan" in told
    assert f"`colocate predict FLEET --placement {path}`" in told


def test_a_fleet_without_a_placement_brings_both_ways(fleet):
    told = str(run(fleet).exception)
    assert "is a fleet file, must be a plan; `colocate plan` makes one of it" in told
    assert "or give a placement of it with --placement" in told
