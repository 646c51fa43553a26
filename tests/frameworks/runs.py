"""A small run of each framework with our evaluator and a scripted model; `python -m` shows them.

FRAMEWORKS_PYTHON names the Python of the environment that `make test-frameworks` makes.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.test_commands import run
from tests.frameworks.fake_server import serving
from tests.frameworks.programs import BETTER, CHEATS

SCRIPT = [CHEATS["leaves_out"], BETTER, CHEATS["lies"]]
WITH_EVALUATOR = (
    *("initial_program.py", "evaluator.py"),
    *("--config", "config.yaml", "--output", "run"),
)
COMMANDS = {
    "shinka": (
        *("shinka_run", "--task-dir", ".", "--config-fname", "shinka.yaml", "--results_dir", "run"),
        *("--num_generations", "4", "--set", 'evo.patch_types=["full"]'),
        *("--set", "evo.patch_type_probs=[1.0]"),
    ),
    "openevolve": ("openevolve-run", *WITH_EVALUATOR, "--iterations", "4"),
    "skydiscover": ("skydiscover-run", *WITH_EVALUATOR, "--iterations", "4", "--search", "topk"),
    "gepa": ("python", "run.py", "--evaluations", "7", "--out", "run"),
}
WHOLE_PROGRAMS = {
    "diff_based_evolution: true": "diff_based_evolution: false",
    "diff_based_generation: true": "diff_based_generation: false",
    "checkpoint_interval: 10": "checkpoint_interval: 2",
}
"""The scripted model writes whole programs, not changes; and a short run is to be saved."""
SECONDS = "2"
"""For a case: as long as a program that hangs holds up these tests."""
PATIENCE = 900
"""Seconds for a whole run: a minute on a machine with nothing else to do."""


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int
    output: str
    prompts: list[str]
    """What the model was asked."""


def finish_run(framework, folder, python):
    """Write an evaluator to a folder, and run the framework there until it ends."""
    with serving(SCRIPT) as (script, url):
        options = ("--api-base", url, "--model", "scripted", "--time-limit", SECONDS)
        done = run("evaluator", "--for", framework, "--out", folder, *options)
        assert done.returncode == 0, done.stderr
        config = folder / "config.yaml"
        if config.exists():
            text = config.read_text()
            for old, new in WHOLE_PROGRAMS.items():
                text = text.replace(old, new)
            config.write_text(text)
        command, *rest = COMMANDS[framework]
        ended = subprocess.run(
            [str(python.parent / command), *rest],
            cwd=folder,
            env=os.environ | {"OPENAI_API_KEY": "none"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    return Ended(ended.returncode, ended.stdout, script.prompts)


def judged_run(folder):
    """Return what `colocate score` says of the programs of a run, best first."""
    report = folder / "report.json"
    done = run("score", folder / "run", "--save", report, "--time-limit", SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text())["programs"]


def main():
    python = Path(os.environ["FRAMEWORKS_PYTHON"])
    for framework in sys.argv[1:] or COMMANDS:
        with TemporaryDirectory() as folder:
            ended = finish_run(framework, Path(folder), python)
            rows = judged_run(Path(folder))
        print(f"\n{framework}: exit code {ended.code}, {len(ended.prompts)} answers of the model\n")
        print("| program | claimed | score | fitness | valid |\n|---|---|---|---|---|")
        for row in rows:
            claimed = "-" if row["claimed"] is None else f"{row['claimed']:.4f}"
            best = " (best of the run)" if row["best_of_the_run"] else ""
            figures = f"{row['score']:.4f} | {row['fitness']:.6f}"
            valid = f"{row['valid_cases']} of {row['cases']}"
            print(f"| `{row['program']}`{best} | {claimed} | {figures} | {valid} |")


if __name__ == "__main__":
    main()
