import json
import re

import pytest
import yaml

from colocate.follow.state_folder import StateFolder
from colocate.inputs.observation.metrics.metric_names import known_metric_names
from colocate.outputs.board.board import board
from colocate.outputs.board.rules import recording_rules
from tests.cli.test_commands import run
from tests.follow.fleets import Fixture

OURS = re.compile(r"\bcolocate(?:_\w+|:\w+:\w+)")


@pytest.fixture(scope="module")
def rules():
    (group,) = yaml.safe_load(recording_rules(known_metric_names()))["groups"]
    return {rule["record"]: rule["expr"] for rule in group["rules"]}


@pytest.fixture(scope="module")
def panels():
    return json.loads(board())["panels"]


def expressions(panels):
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


@pytest.fixture
def told(tmp_path):
    """The metrics that a watch tells after a round."""
    with StateFolder(tmp_path) as folder:
        fixture = Fixture(folder)
        fixture.watch.state = fixture.watch.state.counted("steps_done")
        fixture.watch._moments["move"] = 1.0
        fixture.watch.round()
    return set(re.findall(r"^(colocate_\w+)", fixture.shown[-1], re.MULTILINE))


def test_all_that_it_draws_is_told_or_recorded(panels, rules, told):
    wanted = {
        name for text in (*expressions(panels), *rules.values()) for name in OURS.findall(text)
    }
    missing = wanted - told - set(rules)
    assert missing == {"colocate_target_ttft_seconds"}  # no model of the fleet states one
    assert "colocate_target_tpot_seconds" in wanted


def test_the_rules_take_the_metrics_of_every_engine_but_gateways(rules):
    text = "\n".join(rules.values())
    for engine in known_metric_names().engines:
        for quantity in ("running", "waiting", "cache", "tpot", "ttft"):
            for way in engine.metrics.get(quantity, ()):
                assert all((name in text) != engine.gateway for name in way.names), way


def test_panels_have_numbers_of_their_own_and_do_not_overlap(panels):
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        grid = panel["gridPos"]
        cells = {
            (column, row)
            for column in range(grid["x"], grid["x"] + grid["w"])
            for row in range(grid["y"], grid["y"] + grid["h"])
        }
        assert max(column for column, _ in cells) < 24
        assert cells.isdisjoint(taken), panel["title"]
        taken |= cells


def test_every_panel_says_what_to_make_of_it(panels):
    for panel in panels:
        assert panel["title"]
        assert panel["type"] == "row" or panel["description"].endswith(".")


def test_the_command_writes_both_files(tmp_path):
    done = run("board", "--out", tmp_path / "new")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "new" / "colocate-board.json").read_text())["uid"] == "colocate"
    assert "colocate:tpot_seconds:mean5m" in (tmp_path / "new" / "colocate-rules.yml").read_text()


def test_other_names_of_metrics_make_other_rules(tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text(
        "schema: 1\ntargets: [instance]\nengines:\n  - engine: mine\n    labels: [model]\n"
        "    metrics:\n      completed: [{name: my_requests_total}]\n"
        "      tpot: [{histogram: my_tpot_seconds}]\n"
    )
    done = run("board", "--out", tmp_path, "--names", names)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "colocate-rules.yml").read_text()
    assert "rate(my_requests_total[5m])" in text
    assert "vllm" not in text
    assert "()" not in text.replace("group_left ()", "")
    assert "cache" not in text
