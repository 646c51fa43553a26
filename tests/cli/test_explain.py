import json
import re

import pytest

from tests.cli.test_commands import EXAMPLE, ROOT, fleet, run

CHATLMSYS = ROOT / "examples" / "chatlmsys.yaml"


@pytest.fixture(scope="module")
def chatlmsys(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert run("plan", CHATLMSYS, "--save", path).returncode == 0
    return path


def test_one_hot_model_sets_the_peak_of_chatlmsys_and_a_second_copy_helps(chatlmsys):
    done = run("explain", chatlmsys)
    assert done.returncode == 0
    assert "llm-1 sets the peak" in done.stdout
    assert "so no placement with one replica of it can be lower" in done.stdout
    assert "no move or swap lowers it" in done.stdout
    (replica,) = [line for line in done.stdout.splitlines() if "a second replica of llm-1" in line]
    assert "(-13%), then set by llm-3, proven optimal" in replica
    assert "llm-1 in 2 shards" in done.stdout


def test_explain_as_json(chatlmsys):
    data = json.loads(run("explain", chatlmsys, "--json").stdout)
    plan = json.loads(chatlmsys.read_text())
    assert data["bottleneck"]["pressure"] == plan["pressure"]
    assert data["bottleneck"]["tenants"][0]["model"] == "llm-1"
    assert data["why"]["cause"] == "hot model"
    assert data["levers"][0]["pressure"] < 0.9 * plan["pressure"]
    assert data["bound"]["proof"] == plan["certificate"]["proof"]


def test_a_strategy_s_plan_is_told_how_to_become_better(tmp_path):
    path = tmp_path / "plan.json"
    run("plan", EXAMPLE, "--strategy", "initial_program", "--save", path)
    done = run("explain", path)
    assert "lowers the peak" in done.stdout
    assert "the solver finds 0.07665" in done.stdout


def test_what_cannot_be_explained_is_said(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("{}")
    done = run("explain", path)
    assert done.returncode == 3
    assert "plan.json: is no plan, must be a file that" in done.stderr
    stated = fleet(
        tmp_path, "gpus: [{name: g, memory_gb: 8}]\nmodels: [{name: m, size_gb: 9, load: 1}]"
    )
    run("plan", stated, "--save", path, "--no-remedies")
    done = run("explain", path)
    assert done.returncode == 3
    assert "has no placement" in done.stderr


def test_names_are_no_markup(tmp_path):
    stated = fleet(
        tmp_path,
        "gpus: [{name: '[bold]g[/bold]', memory_gb: 8}]\n"
        "models: [{name: '[red]$(true)', size_gb: 2, load: 1}]",
    )
    path = tmp_path / "plan.json"
    run("plan", stated, "--save", path)
    done = run("explain", path)
    assert "[bold]g[/bold] has the highest pressure" in done.stdout
    assert "[red]$(true): 2 GB" in done.stdout


CROWDED = """
gpus: [{name: g, memory_gb: 8, reserve_gb: 0, count: 2}]
models:
  - {name: a, size_gb: 5, load: 1, kv_bytes_per_token: 0}
  - {name: '[b]', size_gb: 5, load: 2, kv_bytes_per_token: 0}
  - {name: c, size_gb: 5, load: 3, kv_bytes_per_token: 0}
  - {name: d, size_gb: 1, load: 3, kv_bytes_per_token: 0}
"""


def test_what_does_not_fit_comes_with_what_would_help(tmp_path):
    path = fleet(tmp_path, CROWDED)
    done = run("plan", path)
    assert done.returncode == 4
    assert done.stdout == ""
    assert "fleet.yaml: models: no way to put the 4 models on the 2 GPUs" in done.stderr
    assert (
        "'a', '[b]' and 'c' cannot be placed together: at least 2 GB of memory are missing"
        in done.stderr
    )
    assert "  - quantise 'a' to fp8 (weights 5 GB -> 2.5 GB" in done.stderr
    assert "  - one more GPU of 8 GB" in done.stderr
    assert "  - leave 'a' asleep (demand 1, 5 GB)" in done.stderr
    silent = run("plan", path, "--no-remedies", "--json")
    assert silent.returncode == 4
    assert "cannot be placed together" not in silent.stderr
    assert json.loads(silent.stdout)["status"] == "INFEASIBLE"


def test_a_constraint_that_is_to_blame_is_named(tmp_path):
    path = fleet(tmp_path, CROWDED.replace("c, size_gb: 5", "c, size_gb: 3") + "most_models: 1\n")
    done = run("plan", path)
    assert done.returncode == 4
    assert "it fits without any one of these constraints" in done.stderr
    assert "  - most_models: 1" in done.stderr


def shown(command):
    """The lines that the documentation shows below a command."""
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    return page.split(f"$ colocate {command}\n")[1].split("\n```")[0].splitlines()


def test_the_explanation_in_the_docs_is_the_explanation(chatlmsys):
    printed = run("explain", chatlmsys).stdout.rstrip().splitlines()
    assert printed == shown("explain plan.json")


def test_the_remedies_in_the_docs_are_the_remedies():
    done = run("plan", "examples/crowded.yaml")
    printed = [line for line in done.stderr.splitlines() if "compiling kernels" not in line]
    assert done.returncode == 4
    assert printed == shown("plan examples/crowded.yaml")


def test_a_model_that_is_too_busy_is_told_by_how_much_and_that_replicas_help(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "compute_limit: 0.8\n"
        "gpus: [{name: l4, kind: L4, count: 8}]\n"
        "models:\n"
        "  - {name: hot, size_gb: 6, rate: 16, slo: 6, prompt_tokens: 1500, output_tokens: 200}\n"
    )
    done = run("plan", path)
    assert done.returncode == 4
    assert re.search(r"'hot': is too busy .* it keeps 'l4-0' busy [\d.]+% of the time", done.stderr)
    assert re.search(r"it keeps a GPU busy \d+% of the time, 80% allowed", done.stderr)
    assert re.search(r"- \d replicas of 'hot'\n", done.stderr)
