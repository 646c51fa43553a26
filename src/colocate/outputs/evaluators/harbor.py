"""What Harbor needs: a task folder with an instruction, an environment, tests and a solution.

Its contract, from `harbor/verifier/verifier.py` and the documentation of the task format: an
agent works in the container of `environment/`; then `tests/` is put into it, `tests/test.sh`
runs, and the figures in `/logs/verifier/reward.json` are the reward. No file there is a fault of
the verifier.
"""

import json

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

TASK = """\
schema_version = "1.1"

[task]
name = "colocate/@TASK_NAME@"
description = @DESCRIPTION@
keywords = ["optimisation", "program search"]

[verifier]
timeout_sec = @VERIFIER_SECONDS@

[agent]
timeout_sec = 3600

[environment]
build_timeout_sec = 600
cpus = 2
memory_mb = 4096
storage_mb = 10240
"""

INSTRUCTION = """\
Write a Python program to `/app/program.py`.

@PLAIN_FACTS@

`/app/program.py` holds a start program that works. Improve it; a program that runs with nothing
but the standard library and numpy is judged by how near it comes to the @TARGET@, on cases that
you know and on others like them.
"""

DOCKERFILE = """\
FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap \\
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir numpy
WORKDIR /app
COPY program.py /app/program.py
"""

TEST = """\
#!/bin/bash
# Judges /app/program.py. The referee is installed only now, so that no agent could read or change
# it; JUDGE_PYTHON names a Python that has it already.
set -u
tests="$(cd "$(dirname "$0")" && pwd)"
if [ -z "${JUDGE_PYTHON:-}" ]; then
    folder="$(mktemp -d)"
    python3 -m venv "$folder" || exit 1
    JUDGE_PYTHON="$folder/bin/python"
    "$JUDGE_PYTHON" -m pip install --quiet --find-links "$tests/wheels" 'colocate==@VERSION@' \\
        || exit 1
fi
exec "$JUDGE_PYTHON" -I "$tests/judge.py" /app/program.py /logs/verifier
"""

JUDGE = '''\
"""Judges a program for Harbor: `judge.py PROGRAM FOLDER` writes FOLDER/reward.json.

The reward is the mean ratio to the @TARGET@ on public cases, 0 unless all are valid. What hidden
cases say goes to holdout.json, which nothing reads. After a fault of the machine there is no
reward file.
"""

import json
import sys
from pathlib import Path

from colocate import @REFEREE@


def main(program: str, folder: Path) -> int:
    if not Path(program).is_file():
        write(folder / "reward.json", {"reward": 0.0, "score": 0.0, "correct": 0})
        return 0
    verdict = Referee(suite=@TASK@, hidden=True@FRESH@@LIMITS@).judge(program)
    if verdict.fault:
        print(verdict.feedback, file=sys.stderr)
        return 1
    told, hidden = verdict.public_only, verdict.hidden
    print(told.feedback)
    reward = told.ratio if told.correct else 0.0
    ratio = hidden.ratio if hidden.cases else None
    holdout = {"ratio": ratio, "correct": verdict.correct, "refused": verdict.hidden_refused}
    write(folder / "holdout.json", holdout)
    figures = {"reward": reward, "ratio": told.ratio, "score": told.score}
    figures |= {"mean_score": told.luck.mean, "best_score": told.luck.best}
    write(folder / "reward.json", figures | {"correct": int(told.correct)})
    return 0


def write(path: Path, data: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
'''

SOLVE = """\
#!/bin/bash
# Writes the start program again: a solution that works, far from the best.
cat > /app/program.py <<'END_OF_PROGRAM'
@PROGRAM@END_OF_PROGRAM
"""

USE = """\
```console
$ harbor run --path . --agent oracle          # the start program, as a check
$ harbor run --path . --agent claude-code --model anthropic/claude-opus-4-1
```

`tests/test.sh` installs `colocate==@VERSION@` when the agent has finished. Unless the package index
has it, put a wheel there first: `pip wheel --no-deps --wheel-dir tests/wheels path/to/colocate`,
with the path of your clone of colocate.
"""

NOTES = """\
- `reward` is the mean ratio to the @TARGET@ on the public cases, 0 if any of them failed, under the
  worst of @SEEDS@ seeds if the program uses chance; `score`, `mean_score`, `best_score`, `ratio`
  and `correct` stand beside it in `reward.json`. What failed is in the output of the
  verifier.
- `holdout.json` beside it has the ratio on the hidden cases. Neither Harbor nor an agent reads it.
- After a fault of the machine there is no `reward.json`, which Harbor reports as an error, not as
  a 0.
- An agent with root in the container can change Python itself before the tests come. Where this
  matters, judge `/app/program.py` elsewhere: `colocate score program.py @SCORE_OPTIONS@`.
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return a task folder."""
    program = start_program(settings)
    installing = 600
    task = filled(
        TASK,
        settings,
        verifier_seconds=str(settings.seconds + installing),
        description=json.dumps(f"A Python program that reaches {settings.goal}"),
    )
    facts = settings.facts.strip("\n")
    return (
        EmittedFile("task.toml", task),
        EmittedFile("instruction.md", filled(INSTRUCTION, settings, plain_facts=facts)),
        EmittedFile("environment/Dockerfile", DOCKERFILE),
        EmittedFile("environment/program.py", program),
        EmittedFile("tests/test.sh", filled(TEST, settings), executable=True),
        EmittedFile("tests/judge.py", filled(JUDGE, settings)),
        EmittedFile("solution/solve.sh", filled(SOLVE, settings, program=program), executable=True),
        EmittedFile("README.md", readme("Harbor", USE, NOTES, settings)),
    )
