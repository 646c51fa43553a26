import json
import re
import shlex

import pytest

from colocate.cli.plan_input import read_valid_plan
from tests.cli.test_commands import EXAMPLE, ROOT, fleet, run

PRICES = ("--price", "h100=2.69", "--price", "l40s=0.79")
HOSTILE = (
    "gpus: [{name: '[red]$(id) <b>', memory_gb: 20, count: 2}, {name: '$x_1$', memory_gb: 30}]\n"
    "models: [{name: '[bold]$y$', size_gb: 12, load: 1}, {name: b, size_gb: 12, load: 1}]"
)


def test_fewer_gpus_reach_what_greedy_reaches_with_all():
    done = run("capacity", EXAMPLE, "--score-of", "greedy", "--by", "gpus")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "the fewest GPUs for a pressure of 0.123593 or less, the pressure of"
    )
    assert "4 GPUs: 4 x H100-80GB, $10.76 per hour" in lines
    assert "proven the fewest: fewer GPUs cannot reach the pressure" in lines
    assert done.stdout.count("◀") == 2
    assert "it needs 306.816 GB at that pressure, it has 242.051" in done.stdout


def test_the_answer_in_the_docs_is_the_answer():
    command = "capacity examples/fleet.yaml --score-of greedy --by gpus"
    page = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    sample = page.split(f"$ colocate {command}\n")[1].split("\n```")[0]
    took = re.compile(r", [0-9.e-]+ s\)")
    assert took.sub(")", run(*command.split()).stdout.rstrip()) == took.sub(")", sample)


def test_the_cheapest_mix_by_price(tmp_path):
    picture, plan = tmp_path / "capacity.svg", tmp_path / "plan.json"
    options = ("--score-of", "initial_program", *PRICES, "--plot", picture, "--save", plan)
    done = run("capacity", EXAMPLE, *options, "--json")
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert (data["status"], data["by"]) == ("OPTIMAL", "price")
    assert data["best"]["counts"] == {"H100-80GB": 0, "L40S": 8}
    assert data["best"]["price_per_hour"] == pytest.approx(6.32)
    assert data["best"]["pressure"] <= data["target"]
    cheaper = [look for look in data["looks"] if look["price_per_hour"] < 6.3]
    assert cheaper
    assert {look["verdict"] for look in cheaper} == {"excluded"}
    assert picture.read_text().startswith("<?xml")
    saved, changed = read_valid_plan(plan)
    assert saved.as_dict() == {k: v for k, v in data["plan"].items() if k != "fleet"}
    assert len(changed.problem.gpus) == 8


def test_the_plan_that_was_saved_can_be_checked_against_its_own_fleet(tmp_path):
    run("capacity", EXAMPLE, "--pressure", "0.2", "--by", "gpus", "--save", tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text())
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(data["fleet"]))
    done = run("check", path, tmp_path / "plan.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_price_that_is_not_known_is_asked_for(tmp_path):
    text = (
        "gpus: [{name: mine, memory_gb: 80}, {name: yours, memory_gb: 40}]\n"
        "models: [{name: m, size_gb: 10, rate: 1, slo: 1}]"
    )
    path = fleet(tmp_path, text)
    done = run("capacity", path, "--pressure", "0.3", "--price", "mine=2")
    assert done.returncode == 2
    assert "the price of 'yours' is not known, give it: --price yours=..." in done.stderr
    assert run("capacity", path, "--pressure", "1", "--price", "min=2").returncode == 2


def test_an_impossible_pressure_is_proven_and_has_its_exit_code():
    done = run("capacity", EXAMPLE, "--pressure", "0.0001", "--by", "gpus", "--json")
    assert done.returncode == 4
    data = json.loads(done.stdout)
    assert (data["status"], data["best"], data["plan"]) == ("INFEASIBLE", None, None)
    assert "fleet.yaml: no number of GPUs is enough: there are no GPUs on which" in done.stderr
    done = run("capacity", EXAMPLE, "--pressure", "0.1", "--by", "gpus", "--most", "3")
    assert done.returncode == 4
    assert "no mix of at most 3 GPUs is enough" in done.stderr


def test_nothing_found_in_no_time(tmp_path):
    models = ", ".join(f"{{name: m{n}, size_gb: {9 + n % 7}, load: 1}}" for n in range(40))
    path = fleet(tmp_path, f"gpus: [{{name: g, memory_gb: 80, count: 9}}]\nmodels: [{models}]")
    done = run("capacity", path, "--pressure", "0.2", "--time-limit", "0.001", "--json")
    assert done.returncode == 5
    assert json.loads(done.stdout)["status"] == "UNKNOWN"
    assert "it is not proven that there is none" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--tpot", "0"), 2, "--tpot 0.0, must be a finite number of seconds > 0"),
        (("--ttft", "nan"), 2, "--ttft nan, must be a finite number of seconds > 0"),
        (("--tpot", "1"), 3, "missing"),
        ((), 2, "give --pressure, --tpot, --ttft, or --score-of with a strategy"),
        (("--pressure", "1", "--score-of", "greedy"), 2, "give only one of"),
        (("--pressure", "0"), 2, "must be a finite number > 0"),
        (("--pressure", "nan"), 2, "must be a finite number > 0"),
        (("--score-of", "gredy"), 2, "strategy='gredy' is not known"),
        (("--pressure", "1", "--plot", "a.pdf"), 2, "must end in .svg or .png"),
        (("--pressure", "1", "--by", "gpus", "--most", "99999"), 2, "most=99999, must be at most"),
        (("--pressure", "1", "--price", "h100"), 2, "must be KIND=PRICE"),
    ],
)
def test_bad_questions(options, code, sentence):
    done = run("capacity", EXAMPLE, *options)
    assert done.returncode == code
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_the_limit_of_the_fleet_is_the_pressure_if_none_is_given(tmp_path):
    text = "most_pressure: 0.1\n" + EXAMPLE.read_text()
    path = fleet(tmp_path, text)
    done = run("capacity", path, "--by", "gpus", "--json", "--save", tmp_path / "plan.json")
    data = json.loads(done.stdout)
    assert data["target"] == 0.1
    assert data["best"]["pressure"] <= 0.1
    assert read_valid_plan(tmp_path / "plan.json")[1].problem.most_pressure == 0.1
    done = run("capacity", path, "--by", "gpus", "--pressure", "0.2")
    assert done.returncode == 2
    assert "pressure=0.2, must be at most 0.1, most_pressure of the fleet" in done.stderr


def test_shards_and_places_from_the_example_with_constraints():
    example = ROOT / "examples" / "constraints.yaml"
    data = json.loads(run("capacity", example, "--pressure", "0.06", "--json").stdout)
    assert data["status"] == "OPTIMAL"
    assert data["best"]["counts"] == {"A100-80GB": 4, "L40S": 2}
    whole = json.loads(
        run("capacity", example, "--pressure", "0.06", "--whole-machines", "--json").stdout
    )
    assert whole["best"]["counts"] == {"A100-80GB": 4, "L40S": 2}
    assert all(look["counts"]["A100-80GB"] % 4 == 0 for look in whole["looks"])


def test_hostile_names_stay_text(tmp_path):
    path = fleet(tmp_path, HOSTILE)
    picture = tmp_path / "capacity.svg"
    done = run("capacity", path, "--pressure", "0.4", "--by", "gpus", "--plot", picture)
    assert done.returncode == 0
    assert "1 x $x_1$" in done.stdout
    assert "[bold]$y$" in done.stdout
    assert "<b>" not in picture.read_text()


def test_the_same_answer_is_the_same_picture(tmp_path):
    pictures = []
    for name in ("one.svg", "two.svg", "three.png"):
        options = ("--pressure", "0.2", "--by", "gpus", "--workers", "1", "--plot", tmp_path / name)
        assert run("capacity", EXAMPLE, *options).returncode == 0
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[2].startswith(b"\x89PNG")


def test_the_page_shows_what_the_commands_print(tmp_path):
    page = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        commands = re.findall(r"^\$ colocate (.*)", block, re.MULTILINE)
        for command in commands:
            done = run(*shlex.split(command), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        shown = [line for line in block.splitlines()[1:] if line.strip()]
        if not shown[:1] or shown[0].startswith("$ "):
            continue
        took = re.compile(r", [0-9.e-]+ s\)$")
        printed = [took.sub(")", line) for line in done.stdout.splitlines() if line.strip()]
        assert printed == [took.sub(")", line.rstrip()) for line in shown]
    assert (tmp_path / "capacity.svg").exists()
    assert any((tmp_path / "start").iterdir())


LATENCY = ROOT / "examples" / "latency.yaml"


def test_the_fewest_gpus_that_keep_all_targets(tmp_path):
    plan, picture = tmp_path / "plan.json", tmp_path / "capacity.svg"
    done = run("capacity", LATENCY, "--json", "--save", plan, "--plot", picture)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["status"], data["best"]["gpus"]) == ("OPTIMAL", 4)
    assert data["target"] is None
    assert data["models_with_targets"] == 12
    assert data["best"]["ratio"] <= 1.0
    three = next(look for look in data["looks"] if look["gpus"] == 3)
    assert three["verdict"] == "excluded"
    saved, changed = read_valid_plan(plan)
    assert (saved.ratio, saved.problem.objective) == (data["plan"]["ratio"], "latency")
    assert len(changed.problem.gpus) == 4
    assert picture.read_text().startswith("<?xml")


def test_targets_in_the_table_of_capacity():
    lines = run("capacity", LATENCY, "--tpot", "0.5", "--ttft", "9").stdout.splitlines()
    assert lines[0] == "the fewest GPUs that keep the latency targets of 12 models"
    assert "latency / target" in lines[2]
    assert "proven the fewest: fewer GPUs cannot keep the targets" in lines
    assert any(line.endswith("◀   keeps them") for line in lines)


def test_a_pressure_with_targets_shows_both():
    lines = run("capacity", LATENCY, "--pressure", "2").stdout.splitlines()
    assert lines[0] == (
        "the fewest GPUs for a pressure of 2 or less, keeping the latency targets of 12 models"
    )
    assert "pressure" in lines[2]
    assert "latency / target" in lines[2]


def test_strategies_know_no_targets_but_their_pressure_counts():
    done = run("capacity", LATENCY, "--score-of", "greedy", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["best"]["pressure"] <= data["target"]
    assert data["best"]["ratio"] <= 1.0


def test_asked_seconds_are_for_models_without_a_target(tmp_path):
    path = fleet(
        tmp_path,
        "gpus: [{kind: H100-80GB}]\n"
        "models:\n"
        "  - &m {name: a, size_gb: 16, rate: 6, slo: 8, prompt_tokens: 500, output_tokens: 200,\n"
        "        kv_bytes_per_token: 131072}\n"
        "  - {<<: *m, name: b}",
    )
    assert run("capacity", path).returncode == 2
    answers = {}
    for seconds in ("0.1", "0.012", "0.001"):
        done = run("capacity", path, "--tpot", seconds, "--json")
        answers[seconds] = done.returncode, json.loads(done.stdout)
    assert answers["0.1"][1]["best"]["gpus"] == 1
    assert answers["0.012"][1]["best"]["gpus"] == 2
    assert answers["0.001"][0] == 4
    assert (
        "'a' misses a target on every kind of GPU here, even alone: TPOT "
        in (answers["0.001"][1]["reason"])
    )


SATURATED = (
    "gpus: [{kind: H100-80GB}]\n"
    "models:\n"
    "  - {name: hot, size_gb: 16, rate: 200, slo: 8, prompt_tokens: 700, output_tokens: 200,\n"
    "     kv_bytes_per_token: 131072, replicas: REPLICAS}\n"
    "  - {name: b, size_gb: 16, rate: 1, slo: 8, prompt_tokens: 500, output_tokens: 200,\n"
    "     kv_bytes_per_token: 131072, tpot_slo: 0.05}"
)


def test_a_model_that_is_saturated_even_alone_is_named_with_what_to_do(tmp_path):
    done = run("capacity", fleet(tmp_path, SATURATED.replace("REPLICAS", "1")))
    assert done.returncode == 4
    assert "the queue of 'hot' grows without end on every kind of GPU here, even alone" in (
        done.stderr
    )
    enough = int(re.search(r"give it (\d+) replicas", done.stderr)[1])
    auto = fleet(tmp_path, SATURATED.replace("REPLICAS", "auto"))
    found = json.loads(run("capacity", auto, "--json", "--time-limit", "20").stdout)
    assert enough <= found["best"]["gpus"] <= enough + 1
    fewer = run("capacity", auto, "--most", str(enough - 1))
    assert fewer.returncode == 4
    assert f"it needs {enough} GPUs for as many replicas of hot as keep up" in fewer.stderr


def test_faults_name_the_fleet_file_once(tmp_path):
    path = fleet(tmp_path, "gpus: [{memory_gb: 80}]\nmodels: [{name: m}]")
    done = run("capacity", path, "--pressure", "1")
    assert done.returncode == 3
    assert done.stderr.count(str(path)) == len(done.stderr.splitlines())


def test_gpus_that_cannot_run_a_format_are_not_bought(tmp_path):
    path = fleet(
        tmp_path,
        "gpus: [{kind: T4, count: 8}, {kind: L4, count: 8}]\n"
        "models: [{name: m, size_gb: 10, load: 1, dtype: mxfp4}]",
    )
    prices = ("--price", "T4=0.1", "--price", "L4=9")
    done = run("capacity", path, "--pressure", "1", *prices)
    assert done.returncode == 0, done.stderr
    assert "1 x L4" in done.stdout


def test_no_word_is_broken_on_a_usual_screen():
    latency = ROOT / "examples" / "latency.yaml"
    done = run("capacity", latency, "--pressure", "2", COLOCATE_COLUMNS="80")
    table, rest = done.stdout.split("on a wider screen also: $/hour, at least\n")
    assert {"pressure,", "H100-80GB", "252.535", "cannot:"} <= set(table.split())
    assert "4 GPUs: 4 x H100-80GB" in rest
    assert max(map(len, table.splitlines()[1:])) <= 80
