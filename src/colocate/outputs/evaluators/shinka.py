"""What ShinkaEvolve needs: evaluate.py and initial.py in one folder, and a config.

Its contract, from `shinka/launch/scheduler.py` and `shinka/utils/general.py` (0.0.7): it starts
`python evaluate.py --program_path P --results_dir D`, and reads `D/metrics.json` (`combined_score`,
`public`, `private`, `text_feedback`) and `D/correct.json`. A model sees public figures and the
feedback, never the private ones.
"""

import json

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

EVALUATE = '''\
"""Judges a program for ShinkaEvolve: `evaluate.py --program_path PROGRAM --results_dir FOLDER`.

The program runs behind the walls of the referee, never in this process.
"""

import argparse
import json
import sys
from pathlib import Path

from colocate import @REFEREE@

REFEREE = Referee(suite=@TASK@, hidden=True@FRESH@@LIMITS@)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", type=Path, required=True)
    options = parser.parse_args()
    options.results_dir.mkdir(parents=True, exist_ok=True)

    verdict = REFEREE.judge(options.program_path)
    told = verdict.public_only  # what the search may know
    error = "" if told.correct else told.feedback
    if not verdict.fault:  # a fault of the machine is no fault of the program: no score
        write(options.results_dir / "metrics.json", metrics(verdict))
    write(options.results_dir / "correct.json", {"correct": told.correct, "error": error})
    if verdict.fault:
        print(error, file=sys.stderr)
    return 1 if verdict.fault else 0


def metrics(verdict) -> dict:
    told, hidden = verdict.public_only, verdict.hidden
    private = {}  # nothing where the walls cannot keep hidden cases hidden
    if hidden.cases:
        private = {"hidden_ratio": hidden.ratio, "hidden_valid": hidden.valid_cases / hidden.cases}
    return {
        "combined_score": told.score,
        "public": {
            "ratio": told.ratio,
            "valid": told.public.valid_cases / told.public.cases,
            "mean_score": told.luck.mean,
            "best_score": told.luck.best,
        },
        "private": private,
        "text_feedback": told.feedback,
    }


def write(path: Path, data: dict) -> None:
    path.write_text(json.dumps(data, indent=2))


if __name__ == "__main__":
    sys.exit(main())
'''

CONFIG = """\
# For `shinka_run --config-fname shinka.yaml`; options of the command line come on top.
max_evaluation_jobs: 2
evo:
  task_sys_msg: |
@FACTS@
  llm_models: [@NAMED_MODEL@]
  # How alike two programs are is asked from a model for embeddings; null asks none.
  embedding_model: @EMBEDDING@
  use_text_feedback: true
job:
  time: "@TIME@"  # the referee ends long before; this is for the case that it hangs
"""

USE = """\
```console
$ pip install shinka-evolve path/to/colocate  # the path of your clone of colocate
$ shinka_run --task-dir . --config-fname shinka.yaml --results_dir results --num_generations 50
$ colocate score results/ @SCORE_OPTIONS@          # judge the run again@HIDDEN_TOO@
```
"""

NOTES = """\
- `combined_score` is the score on the public cases, under the worst of @SEEDS@ seeds if the program
  uses chance; `public` has the ratio to the @TARGET@, the share of valid cases, and the mean and
  best score over the seeds; `text_feedback` says what failed and which cases are furthest from the
  @TARGET@.
- A fault of the machine (no sandbox, full disk) leaves `correct.json` with `correct: false` and the
  reason, no `metrics.json`, and exit code 1: the program gets no score.
- `initial.py` is the start program. For other models or servers, see `evo.llm_models` in
  `shinka.yaml`.
"""

HIDDEN_NOTES = """\
- `private` has the figures of the hidden cases. ShinkaEvolve stores them and shows them to no
  model.
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return the files of a task folder for `shinka_run`."""
    model = settings.model
    notes = NOTES + HIDDEN_NOTES if settings.hidden else NOTES
    if settings.api_base:
        model = f"local/{model}@{settings.api_base}"
    config = filled(
        CONFIG,
        settings,
        named_model=json.dumps(model),
        embedding="null" if settings.api_base else "text-embedding-3-small",
        time=f"{settings.seconds // 3600:02d}:{settings.seconds // 60 % 60:02d}:59",
    )
    return (
        EmittedFile("evaluate.py", filled(EVALUATE, settings)),
        EmittedFile("initial.py", start_program(settings)),
        EmittedFile("shinka.yaml", config),
        EmittedFile("README.md", readme("ShinkaEvolve", USE, notes, settings)),
    )
