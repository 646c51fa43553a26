import ast
import os
import shlex
import shutil
import subprocess
import tomllib

import pytest
import yaml

from colocate.outputs.evaluators.settings import Framework
from tests.cli.test_commands import run
from tests.outputs.emit.test_golden import SHELLCHECK


def texts(folder):
    """All files below a folder, by their paths."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize("framework", list(Framework))
def test_the_files_of_every_framework_are_whole(framework, tmp_path):
    options = ("--task", "tight", "--model", 'odd "name"', "--api-base", "http://localhost:1/v1")
    done = run("evaluator", "--for", framework, "--out", tmp_path / "new" / "folder", *options)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    files = texts(tmp_path)
    assert all(f"wrote {tmp_path}/{name}" in done.stderr for name in files)
    for name, text in files.items():
        assert "@" not in text.replace("@http", "").replace('"$@"', ""), name
        if name.endswith(".py"):
            ast.parse(text)
        if name.endswith((".yaml", ".yml")):
            assert 'odd "name"' in str(yaml.safe_load(text))
            assert "You improve a Python program" in str(yaml.safe_load(text))
        if name.endswith(".toml"):
            assert tomllib.loads(text)["verifier"]["timeout_sec"] > 0
        if name.endswith(".sh"):
            subprocess.run([SHELLCHECK, "-"], input=text, text=True, check=True)
            assert os.access(tmp_path / name, os.X_OK)
    assert any('suite="tight"' in text or 'TASK = "tight"' in text for text in files.values())
    programs = [text for text in files.values() if text.startswith('"""The program that')]
    assert len(programs) == 1
    assert programs[0].count("# EVOLVE-BLOCK-") == 2
    page = next(text for name, text in files.items() if name.endswith("README.md"))
    assert "for `--task tight`" in page
    assert " --suite tight" in page


def test_the_page_judges_a_run_as_its_evaluator_does(tmp_path):
    task = tmp_path / "my circles"
    shutil.copytree("examples/circles", task)
    options = ("--task", task, "--time-limit", "1.5", "--hidden-seed", "7")
    done = run("evaluator", "--for", "openevolve", "--out", tmp_path / "new", *options)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "new" / "README.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith("$ colocate score "))
    assert shlex.split(line, comments=True)[2:] == [
        *("score", "openevolve_output/", "--suite", str(task)),
        *("--time-limit", "1.5", "--hidden-seed", "7"),
    ]


@pytest.mark.parametrize("framework", ["shinka", "openevolve", "skydiscover", "gepa", "codeevolve"])
def test_the_page_of_a_folder_promises_no_hidden_cases_and_no_optimum(framework, tmp_path):
    options = ("--task", "examples/circles", "--out", tmp_path)
    assert run("evaluator", "--for", framework, *options).returncode == 0
    page = next(text for name, text in texts(tmp_path).items() if name.endswith("README.md"))
    assert page.startswith("# The task circles for ")
    assert "path/to/colocate" in page
    assert "compares with the best known value" in page
    assert "The task has no hidden cases." in page
    assert page.count("hidden") == 1
    assert "optimum" not in page


def test_the_folder_of_another_task_leads_to_its_suite(tmp_path):
    command = ("evaluator", "--for", "openevolve", "--suite", "fleet-windows", "--out", tmp_path)
    assert run(*command).returncode == 0
    done = run("score", tmp_path)
    assert done.returncode == 3
    assert "those here define place_models: give --suite fleet-windows, " in done.stderr


def test_files_that_differ_are_replaced_only_when_told(tmp_path):
    command = ("evaluator", "--for", "shinka", "--out", tmp_path)
    assert run(*command).returncode == 0
    before = texts(tmp_path)
    assert run(*command).returncode == 0, "the same files may be written again"
    (tmp_path / "evaluate.py").write_text("mine")
    (tmp_path / "initial.py").unlink()
    done = run(*command)
    assert done.returncode == 2
    assert "evaluate.py would be replaced; give another --out, or --force" in done.stderr
    assert (tmp_path / "evaluate.py").read_text() == "mine"
    assert not (tmp_path / "initial.py").exists(), "all or nothing"
    assert run(*command, "--force").returncode == 0
    assert texts(tmp_path) == before


def test_a_link_in_the_folder_leads_nowhere_by_accident(tmp_path):
    outside = tmp_path / "outside.py"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "evaluate.py").symlink_to(outside)
    done = run("evaluator", "--for", "shinka", "--out", folder)
    assert done.returncode == 2
    assert not outside.exists()


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--for", "alphaevolve", "--out", "x"], 2, "Invalid value for '--for'"),
        (["--for", "gepa"], 2, "Missing option '--out'"),
        (["--for", "gepa", "--out", "x", "--task", "adr"], 2, "did you mean 'adrs'?"),
        (["--for", "harbor", "--out", "x", "--task", "."], 2, "which cannot see .; give the name"),
        (["--for", "gepa", "--out", "file/x"], 1, "file/x: cannot be made: Not a directory"),
    ],
)
def test_bad_input_is_told_in_a_sentence(tmp_path, options, code, sentence):
    (tmp_path / "file").write_text("")
    done = run("evaluator", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in " ".join(done.stderr.split())
    assert not (tmp_path / "x").exists()


def test_a_time_limit_stands_in_the_evaluator(tmp_path):
    done = run("evaluator", "--for", "openevolve", "--out", tmp_path, "--time-limit", "1.5")
    assert done.returncode == 0
    files = texts(tmp_path)
    assert "limits=Limits(seconds=1.5, memory_mb=2048)" in files["evaluator.py"]
    assert "from colocate import Limits, Referee" in files["evaluator.py"]
    assert yaml.safe_load(files["config.yaml"])["evaluator"]["timeout"] == 60 + 675
