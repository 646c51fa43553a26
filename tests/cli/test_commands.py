import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from colocate import STRATEGIES, Status
from colocate.cli.exit_codes import READER_GONE
from colocate.cli.plan import GOOD, LONGEST, USUAL, _usual_gap
from colocate.inputs.fleet import read_fleet
from colocate.problem.certificate import Certificate, Proof
from colocate.solver.plan import Plan

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fleet.yaml"
COMPILING = "compiling kernels; later starts reuse them\n"
NO_LATENCY = "note: latency is not predicted: no model states prompt_tokens and output_tokens\n"


def run(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, "-m", "colocate", *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, **environment},
    )


def fleet(tmp_path, text):
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    return path


def test_plan_prints_a_line_a_gpu_and_the_peak():
    done = run("plan", EXAMPLE)
    assert done.returncode == 0
    assert done.stderr.removeprefix(COMPILING) == NO_LATENCY
    assert [line.split()[0] for line in done.stdout.splitlines() if "░" in line or "█" in line] == [
        "h100-0",
        "h100-1",
        "h100-2",
        "h100-3",
        "l40s",
    ]
    assert done.stdout.count("◀") == 1
    assert "peak pressure" in done.stdout


def test_plan_proves_and_check_confirms(tmp_path):
    data = json.loads(run("plan", EXAMPLE, "--json").stdout)
    assert data["status"] == "OPTIMAL"
    assert data["gap"] < 1e-8
    fields = "status pressure bound gap pressures placement certificate history seconds"
    assert set(fields.split()) <= set(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    done = run("check", EXAMPLE, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "confirmed  placement: 12 models on 5 GPUs" in done.stdout
    assert "confirmed  bound:" in done.stdout
    assert "by exhaustive search: all" in done.stdout
    assert "confirmed  status: OPTIMAL" in done.stdout


@pytest.mark.parametrize(
    ("proof", "how_sure"), [("search", "unchecked "), ("solvers", "by solvers")]
)
def test_a_bound_that_nobody_can_check_is_not_confirmed(tmp_path, proof, how_sure):
    """A plan of any strategy, forged to say that it is optimal, in all fields and the digest."""
    data = json.loads(run("plan", EXAMPLE, "--json", "--strategy", "initial_program").stdout)
    fleet_of_plan = data.pop("fleet")
    plan = Plan.from_dict(read_fleet(EXAMPLE).problem, data)
    forged = replace(
        plan, status=Status.OPTIMAL, certificate=Certificate(Proof(proof), plan.pressure)
    )
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**forged.as_dict(), "fleet": fleet_of_plan}))
    done = run("check", path)
    assert (done.returncode, done.stderr) == (6, "")
    assert f"{how_sure} bound: " in done.stdout
    assert f"{how_sure} status: OPTIMAL" in done.stdout
    assert "6 if nothing is wrong but" in " ".join(run("check", "--help").stdout.split())


def test_plan_and_check_name_a_proof_alike(tmp_path):
    path = tmp_path / "plan.json"
    told = run("plan", ROOT / "examples" / "latency.yaml", "--save", path).stdout
    proof = told.split("proven optimal, by ")[1].splitlines()[0]
    assert proof.startswith("multipliers (groups of models")
    assert f", by {proof}\n" in run("check", path).stdout


def test_that_a_plan_is_of_another_fleet_is_said_first_and_the_rest_is_counted(tmp_path):
    path = tmp_path / "plan.json"
    assert run("plan", EXAMPLE, "--save", path).returncode == 0
    done = run("check", ROOT / "examples" / "start" / "fleet.yaml", path)
    assert (done.returncode, done.stdout) == (1, "")
    first, second = done.stderr.splitlines()
    assert first == "WRONG  fleet: the plan was made for another fleet than the fleet file states"
    assert second.endswith(
        f"other faults with this fleet; `colocate check {path}` checks the plan against its own"
    )


def test_a_plan_is_checked_against_its_own_fleet_if_no_other_is_named(tmp_path):
    path = tmp_path / "plan.json"
    assert run("plan", EXAMPLE, "--save", path).returncode == 0
    done = run("check", path)
    assert done.returncode == 0
    assert "confirmed  placement: 12 models on 5 GPUs" in done.stdout
    data = json.loads(path.read_text())
    data["fleet"]["models"][0]["rate"] = 1.0
    path.write_text(json.dumps(data))
    assert run("check", path).returncode == 1
    assert "for another fleet than the fleet file" in run("check", EXAMPLE, path).stderr
    del data["fleet"]
    path.write_text(json.dumps(data))
    done = run("check", path)
    assert (done.returncode, "name the fleet file before it" in done.stderr) == (3, True)
    assert run("check", EXAMPLE, path).returncode == 0
    assert run("check", EXAMPLE, EXAMPLE, path).returncode == 2


def test_check_finds_a_tampered_plan_and_what_is_no_plan(tmp_path):
    path = tmp_path / "plan.json"
    data = json.loads(run("plan", EXAMPLE, "--json").stdout)
    data["placement"]["llama-3.1-8b"] = ["l40s"]
    path.write_text(json.dumps(data))
    done = run("check", EXAMPLE, path)
    assert done.returncode == 1
    assert "WRONG  digest: the plan was altered" in done.stderr
    assert "Traceback" not in done.stderr
    for text, sentence in [
        ("{", "plan.json: not valid JSON"),
        ("[]", "plan.json: is no plan, must be a file that `colocate plan --save` writes"),
        ("{}", "plan.json: is no plan, must be a file that `colocate plan --save` writes"),
        ('{"schema": 1}', "plan.json: cannot be read as a plan"),
    ]:
        path.write_text(text)
        done = run("check", EXAMPLE, path)
        assert done.returncode == 3
        assert sentence in done.stderr
    assert run("check", EXAMPLE, tmp_path / "none.json").returncode == 3


def test_an_interrupt_prints_the_best_so_far(tmp_path):
    models = ", ".join(
        f"{{name: m{n}, size_gb: {2 + n * 7919 % 2311 / 200}, load: {1 + n * 7907 % 1709 / 100}}}"
        for n in range(300)
    )
    path = fleet(tmp_path, f"gpus: [{{name: g, memory_gb: 80, count: 60}}]\nmodels: [{models}]")
    run("plan", path, "--time-limit", "0.2")
    command = [sys.executable, "-m", "colocate", "plan", str(path), "--time-limit", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "interrupted; the best so far" in out.decode()
    assert b"Traceback" not in err


def test_plan_as_json():
    data = json.loads(run("plan", EXAMPLE, "--json", "--strategy", "initial_program").stdout)
    assert data["status"] == "FEASIBLE"
    assert data["strategy"] == "initial_program"
    assert data["pressure"] == max(data["pressures"].values())
    assert set(data["pressures"]) == {"h100-0", "h100-1", "h100-2", "h100-3", "l40s"}
    assert all(len(gpus) == 1 for gpus in data["placement"].values())
    assert len(data["placement"]) == 12


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, size_gb: 1, rate: 1, slo: 0}]", 3,
         "fleet.yaml: line 2: models[0] 'm': slo=0, must be a finite number > 0"),
        ("gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, rate: 1, slo: 1}]", 3,
         "fleet.yaml: line 2: models[0] 'm': size_gb is missing, give it, or config"),
        ("gpus: []\nmodels: []", 3, "fleet.yaml: line 1: gpus=[], must be a list with"),
        ("- 1", 3, "fleet.yaml: found [1], must be a mapping with gpus and models"),
        ("gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, size_gb: 99, load: 1}]", 4,
         "fleet.yaml: models[0] 'm': size_gb=99, must be at most 76 (the largest GPU, 'g')"),
        ("gpus: [{name: g, memory_gb: 10, count: 2}]\n"
         "models: [{name: a, size_gb: 5, load: 1}, {name: b, size_gb: 5, load: 1}, "
         "{name: c, size_gb: 5, load: 1}]", 4,
         "fleet.yaml: models: no way to put the 3 models on the 2 GPUs"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_an_exit_code(tmp_path, text, code, sentence):
    fleet(tmp_path, text)
    done = run("plan", "fleet.yaml", cwd=tmp_path)
    assert done.returncode == code
    lines = done.stderr.splitlines()
    assert any(sentence in line for line in (lines if code == 4 else lines[:1]))
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_missing_file_and_an_unknown_strategy(tmp_path):
    missing = run("plan", tmp_path / "none.yaml")
    assert missing.returncode == 3
    assert "none.yaml: cannot be read, No such file or directory" in missing.stderr
    unknown = run("plan", EXAMPLE, "--strategy", "nope")
    assert unknown.returncode == 2
    assert "strategy='nope' is not known" in unknown.stderr
    assert run("bench", "nope").returncode == 2
    assert run("plan").returncode == 2


def test_nothing_found_has_its_own_exit_code(tmp_path):
    memory = sum(30 + 0.37 * n for n in range(60)) / 20 * 1.0005
    models = ", ".join(
        f"{{name: m{n}, size_gb: {30 + 0.37 * n}, load: 1, kv_bytes_per_token: 0}}"
        for n in range(60)
    )
    path = fleet(
        tmp_path,
        f"gpus: [{{name: g, memory_gb: {memory}, reserve_gb: 0, count: 20}}]\nmodels: [{models}]",
    )
    done = run("plan", path, "--json", "--strategy", "initial_program")
    assert done.returncode == 5
    assert json.loads(done.stdout)["status"] == "UNKNOWN"
    assert "initial_program found no room for every model" in done.stderr


def test_a_strategy_that_breaks_targets_leads_to_the_solver():
    done = run("plan", "examples/day_and_night.yaml", "--strategy", "initial_program")
    assert (done.returncode, done.stdout) == (5, "")
    assert "the strategy found no placement that keeps latency targets" in done.stderr
    assert "the solver finds a placement: leave out --strategy" in done.stderr
    assert "--time-limit" not in done.stderr


def test_infeasible_json_is_still_json(tmp_path):
    path = fleet(
        tmp_path, "gpus: [{name: g, memory_gb: 8}]\nmodels: [{name: m, size_gb: 9, load: 1}]"
    )
    done = run("plan", path, "--json")
    assert done.returncode == 4
    data = json.loads(done.stdout)
    assert data["status"] == "INFEASIBLE"
    assert data["pressure"] is None
    assert data["placement"] == {}


def test_strategies_lists_the_catalogue():
    done = run("strategies")
    assert done.returncode == 0
    assert all(name in done.stdout for name in STRATEGIES)
    rows = json.loads(run("strategies", "--json").stdout)
    assert [row["name"] for row in rows] == list(STRATEGIES)
    assert rows[0]["adrs"] == pytest.approx(21.891622)


def test_bench_prints_scores_and_cases():
    done = run("bench", "adrs", "--strategy", "initial_program", "--cases")
    assert done.returncode == 0
    assert "21.8916" in done.stdout
    assert "50 of 50" in done.stdout
    assert "adrs-49" in done.stdout
    document = json.loads(
        run("bench", "adrs", "--strategy", "initial_program", "--strategy", "bisect_kvpr_packing",
            "--json").stdout
    )  # fmt: skip
    assert [score["strategy"] for score in document["scores"]] == [
        "initial_program",
        "bisect_kvpr_packing",
    ]
    assert document["scores"][1]["score"] == pytest.approx(26.2332, abs=5e-5)
    assert len(document["scores"][0]["results"]) == 50


def test_the_first_start_says_that_it_compiles_and_the_second_does_not(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = run("plan", EXAMPLE, "--strategy", "initial_program", **cache)
    assert first.stderr == COMPILING + NO_LATENCY
    second = run("plan", EXAMPLE, "--strategy", "initial_program", **cache)
    assert second.stderr == NO_LATENCY


def test_help_needs_no_heavy_import():
    code = (
        "import sys; sys.argv = ['colocate', '--help']\n"
        "from colocate.cli.main import main\n"
        "try: main()\n"
        "finally: print([m for m in ('numpy', 'numba', 'pydantic', 'ortools') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_is_no_traceback():
    command = [sys.executable, "-m", "colocate", "strategies", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == READER_GONE
    assert said == b""


def test_version():
    assert run("--version").stdout.startswith("colocate ")


def test_a_plan_that_is_not_good_after_a_second_gets_more(tmp_path):
    assert (_usual_gap(USUAL / 2), _usual_gap(USUAL), _usual_gap(LONGEST)) == (0.0, GOOD, GOOD)
    path = tmp_path / "fleet.yaml"
    path.write_text("gpus: [{name: g, memory_gb: 80, count: 2}]\nmodels:\n")
    with path.open("a") as file:
        for number in range(16):
            file.write(
                f"  - {{name: m{number}, size_gb: {number % 5 + 3}.7, load: {number + 1}}}\n"
            )
    done = run("plan", path, "--json")
    assert json.loads(done.stdout)["gap"] <= GOOD


def test_a_plan_far_from_its_bound_says_that_more_time_may_help(tmp_path):
    path = tmp_path / "fleet.yaml"
    models = "".join(
        f"  - {{name: m{n}, size_gb: 38, load: {n + 1}, replicas: auto}}\n" for n in range(9)
    )
    path.write_text(f"gpus: [{{name: g, memory_gb: 80, count: 7}}]\nmodels:\n{models}")
    done = run("plan", path, "--time-limit", "0.01", "--no-remedies")
    assert ("a longer --time-limit may" in done.stderr) == (done.returncode == 0)


def test_that_nothing_fits_can_be_checked_too(tmp_path):
    path, saved = fleet(tmp_path, CROWDED), tmp_path / "plan.json"
    assert run("plan", path, "--save", saved, "--no-remedies").returncode == 4
    done = run("check", path, saved)
    assert (done.returncode, "confirmed  status: INFEASIBLE, no placement" in done.stdout) == (
        0,
        True,
    )
    path.write_text(CROWDED.replace("count: 2", "count: 3"))
    done = run("check", path, saved)
    assert done.returncode == 1
    assert done.stderr.startswith("WRONG  fleet: the plan was made for another fleet")
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "fleet": None}))
    assert "WRONG  status: INFEASIBLE" in run("check", path, saved).stderr


def test_every_fault_of_meaning_is_told(tmp_path):
    path = fleet(
        tmp_path,
        "gpus: [{name: g, kind: H1000}, {memory_gb: 3}]\nmodels:\n"
        "  - {name: a, config: nowhere, load: 1}\n  - {name: b, load: 1}\n",
    )
    lines = run("plan", path).stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["line 1", "line 1", "line 3", "line 4"]


CROWDED = """
gpus: [{name: g, memory_gb: 80, count: 2}]
models:
  - {name: a, size_gb: 50, load: 1}
  - {name: b, size_gb: 50, load: 1}
  - {name: c, size_gb: 50, load: 1}
"""


def test_plan_says_which_gpus_cannot_run_a_format(tmp_path):
    path = fleet(
        tmp_path,
        "gpus: [{kind: V100}, {kind: A100-80GB}]\n"
        "models: [{name: '[bold]m', size_gb: 10, load: 1, dtype: fp8}]",
    )
    done = run("plan", path, "--json")
    assert json.loads(done.stdout)["placement"] == {"[bold]m": ["A100-80GB"]}
    said = " ".join(done.stderr.split())
    assert "note: V100 cannot run fp8, so the plan uses other GPUs (dtype of '[bold]m')" in said
    assert "note: A100-80GB does not calculate in fp8: weights are widened" in said
    path = fleet(tmp_path, path.read_text().replace("{kind: A100-80GB}", "{kind: V100, name: b}"))
    refused = run("plan", path)
    assert refused.returncode == 3
    assert "dtype='fp8' cannot run on V100, must be a format that" in " ".join(
        refused.stderr.split()
    )
