"""What SkyDiscover needs for an evaluator in a container: a folder with Dockerfile and evaluate.sh.

Its contract, from `skydiscover/evaluation/container_evaluator.py`: it builds the folder, keeps one
container, and calls `/benchmark/evaluate.sh PROGRAM train|test` in it. Stdout is one JSON object
with `status`, `combined_score`, `metrics` and `artifacts`; exit code 1 is a fault of the evaluator.
`train` is called in the search, `test` once for the best program at the end.
"""

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings
from colocate.outputs.evaluators.skydiscover import CONFIG

DOCKERFILE = """\
FROM python:3.12-slim
# The walls: bubblewrap where the container may make namespaces, else Landlock of the kernel.
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap \\
    && rm -rf /var/lib/apt/lists/*
WORKDIR /benchmark
COPY . .
RUN pip install --no-cache-dir --find-links /benchmark/wheels --requirement requirements.txt
RUN chmod +x evaluate.sh
ENTRYPOINT ["./evaluate.sh"]
"""

EVALUATE = """\
#!/bin/sh
# SkyDiscover calls: evaluate.sh PROGRAM train|test
exec python "$(dirname "$0")/judge.py" "$@"
"""

JUDGE = '''\
"""Judges a program: `judge.py PROGRAM train|test`, one JSON object on stdout.

`train` judges on public cases alone. `test`, which no model hears of, adds the hidden ones. Exit
code 1 is a fault of the machine; the program is then not scored.
"""

import json
import sys

from colocate import @REFEREE@

TASK = @TASK@


def main(program: str, mode: str = "train") -> int:
    verdict = Referee(suite=TASK, hidden=mode == "test"@FRESH@@LIMITS@).judge(program)
    if verdict.fault:
        print(verdict.feedback, file=sys.stderr)
        return 1
    public, hidden = verdict.public, verdict.hidden
    metrics = {"combined_score": verdict.score, "ratio": verdict.ratio}
    metrics |= {"mean_score": verdict.luck.mean, "best_score": verdict.luck.best}
    metrics |= {"valid": public.valid_cases / public.cases, "correct": float(verdict.correct)}
    if hidden.cases:
        metrics |= {"hidden_ratio": hidden.ratio, "hidden_score": hidden.score}
    report = {
        "status": status(verdict),
        "combined_score": verdict.score,
        "metrics": metrics,
        "artifacts": {"feedback": verdict.feedback},
    }
    print(json.dumps(report))
    return 0


def status(verdict) -> str:
    if verdict.correct:
        return "success"
    return "timeout" if set(verdict.failures) == {"timeout"} else "error"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
'''

USE = """\
Release 0.1.0 of SkyDiscover knows no containers; install it from its repository.

```console
$ export OPENAI_API_KEY=...
$ skydiscover-run initial_program.py evaluator/ --config config.yaml --search topk --output run
```

The image installs `colocate==@VERSION@`. Unless your package index has it, put a wheel beside the
Dockerfile first: `pip wheel --no-deps --wheel-dir evaluator/wheels path/to/colocate`, with the path
of your clone of colocate.

See which walls are up in the container; without any, judging ends with exit code 1:

```console
$ docker build --tag judge evaluator/
$ docker run --rm --entrypoint colocate --volume "$PWD:/here" judge \\
    score /here/initial_program.py @SCORE_OPTIONS@
```
"""

NOTES = """\
- `train` judges on the public cases alone: `combined_score` is the score, under the worst of
  @SEEDS@ seeds if the program uses chance (`mean_score`, `best_score`: over the seeds), `ratio` the
  mean ratio to the @TARGET@, `valid` the share of valid cases, `correct` 1 if all are; the artifact
  `feedback` says what failed.
- `test`, which SkyDiscover asks for at the end, adds `hidden_ratio` and `hidden_score`.
- A fault of the machine ends with exit code 1 and a sentence on stderr: the program gets no score.
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return the folder of the evaluator, with a start program and a config beside it."""
    return (
        EmittedFile("evaluator/Dockerfile", DOCKERFILE),
        EmittedFile("evaluator/requirements.txt", filled("colocate==@VERSION@\n", settings)),
        EmittedFile("evaluator/evaluate.sh", EVALUATE, executable=True),
        EmittedFile("evaluator/judge.py", filled(JUDGE, settings)),
        EmittedFile("initial_program.py", start_program(settings)),
        EmittedFile("config.yaml", filled(CONFIG, settings)),
        EmittedFile("README.md", readme("SkyDiscover in Docker", USE, NOTES, settings)),
    )
