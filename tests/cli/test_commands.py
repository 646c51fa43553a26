import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colocate import STRATEGIES

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fleet.yaml"


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
    assert done.stderr == "" or "compiling kernels" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if "░" in line or "█" in line] == [
        "h100-0",
        "h100-1",
        "h100-2",
        "h100-3",
        "l40s",
    ]
    assert done.stdout.count("◀") == 1
    assert "peak pressure" in done.stdout


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
         "fleet.yaml: models[0] 'm': slo=0, must be a finite number > 0"),
        ("gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, rate: 1, slo: 1}]", 3,
         "fleet.yaml: models[0] 'm': size_gb is missing, must be a finite number >= 0"),
        ("gpus: []\nmodels: []", 3, "fleet.yaml: gpus=[], must be a list with at least one GPU"),
        ("- 1", 3, "fleet.yaml: found [1], must be a mapping with gpus and models"),
        ("gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, size_gb: 99, load: 1}]", 4,
         "fleet.yaml: models[0] 'm': size_gb=99, must be at most 80 (the largest GPU, 'g')"),
        ("gpus: [{name: g, memory_gb: 8, count: 2}]\n"
         "models: [{name: a, size_gb: 5, load: 1}, {name: b, size_gb: 5, load: 1}, "
         "{name: c, size_gb: 5, load: 1}]", 4,
         "fleet.yaml: models: no way to put the 3 models on the 2 GPUs"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_an_exit_code(tmp_path, text, code, sentence):
    fleet(tmp_path, text)
    done = run("plan", "fleet.yaml", cwd=tmp_path)
    assert done.returncode == code
    assert sentence in done.stderr.splitlines()[-1 if code == 4 else 0]
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
    models = ", ".join(f"{{name: m{n}, size_gb: {30 + 0.37 * n}, load: 1}}" for n in range(60))
    path = fleet(
        tmp_path, f"gpus: [{{name: g, memory_gb: {memory}, count: 20}}]\nmodels: [{models}]"
    )
    done = run("plan", path, "--json", "--strategy", "initial_program")
    assert done.returncode == 5
    assert json.loads(done.stdout)["status"] == "UNKNOWN"
    assert "initial_program found no room for every model" in done.stderr


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
    assert first.stderr == "compiling kernels, kept for the next start\n"
    second = run("plan", EXAMPLE, "--strategy", "initial_program", **cache)
    assert second.stderr == ""


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
    assert process.returncode != 0
    assert said == b""


def test_version():
    assert run("--version").stdout.startswith("colocate ")
