"""What GEPA needs: an evaluator function, and a script that calls `optimize_anything` with it.

Its contract, from `gepa/optimize_anything.py` (0.1.4): `evaluate(candidate)` returns a score and
side information, which a model reads. What it raises ends the run, which can be taken up again.
"""

import json

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

EVALUATOR = '''\
"""Judges a program for GEPA: `evaluate(candidate)` returns its score, and what to tell a model.

The program runs behind the walls of the referee, never in this process. A fault of the machine is
raised and ends the run: the program gets no score, and the same command goes on later.
"""

import tempfile
from pathlib import Path

from colocate import @REFEREE@, Verdict

TASK = @TASK@


def judge(candidate: str, hidden: bool) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(candidate, encoding="utf-8")
        verdict = Referee(suite=TASK, hidden=hidden@FRESH@@LIMITS@).judge(program)
    if verdict.fault:
        raise RuntimeError(verdict.feedback)
    return verdict


def evaluate(candidate: str) -> tuple[float, dict]:
    verdict = judge(candidate, hidden=False)  # all that is returned here reaches a model
    valid = verdict.public.valid_cases / verdict.public.cases
    figures = {"ratio": verdict.ratio, "valid": valid, "correct": float(verdict.correct)}
    figures |= {"mean_score": verdict.luck.mean, "best_score": verdict.luck.best}
    return verdict.score, {"Feedback": verdict.feedback, **figures}
'''

RUN = '''\
"""Runs GEPA on the task: `python run.py --evaluations 100 --out run`; again, to go on."""

import argparse
import json
import os
from pathlib import Path
from urllib.request import Request, urlopen

from evaluator import evaluate, judge
from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything

MODEL = @MODEL@
SERVER = @SERVER@  # an OpenAI-compatible server; None: the model's own, through LiteLLM
FACTS = """\\
@FACTS@
"""


def ask(prompt) -> str:
    """Ask the model of an OpenAI-compatible server."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    body = json.dumps({"model": MODEL, "messages": messages}).encode()
    with urlopen(Request(f"{SERVER}/chat/completions", body, headers), timeout=600) as answer:
        return json.load(answer)["choices"][0]["message"]["content"] or ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("run"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    result = optimize_anything(
        seed_candidate=Path(__file__).with_name("initial_program.py").read_text(encoding="utf-8"),
        evaluator=evaluate,
        objective=@OBJECTIVE@,
        background=FACTS,
        config=GEPAConfig(
            engine=EngineConfig(
                run_dir=str(options.out),
                max_metric_calls=options.evaluations,
                use_cloudpickle=False,
            ),
            reflection=ReflectionConfig(reflection_lm=ask if SERVER else MODEL),
        ),
    )
    best = result.best_candidate
    (options.out / "best_program.py").write_text(best, encoding="utf-8")
    print(judge(best, hidden=True).feedback)  # the test: no model hears of it


if __name__ == "__main__":
    main()
'''

USE = """\
```console
$ pip install path/to/colocate  # the path of your clone of colocate
$ pip install gepa litellm      # without litellm, if SERVER in run.py names a server
$ export OPENAI_API_KEY=...
$ python run.py --evaluations 100 --out run
$ colocate score run/ @SCORE_OPTIONS@          # all candidates@HIDDEN_TOO@
```
"""

NOTES = """\
- The score is that on the public cases, under the worst of @SEEDS@ seeds if the program uses
  chance; `mean_score` and `best_score` are over the seeds. The side information says what failed
  and which cases are furthest from the @TARGET@, with the mean ratio to it (`ratio`) and the share
  of valid cases (`valid`).
- At the end, `run.py` judges the best program again@HIDDEN_TOO@, and prints the verdict.
- A fault of the machine (no sandbox, full disk) is raised and ends the run, since GEPA would
  otherwise take it for a score of 0. The same command takes the run up again.
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return an evaluator, and a script that runs GEPA with it."""
    server = repr(settings.api_base.rstrip("/")) if settings.api_base else "None"
    facts = settings.facts.strip("\n").replace("\\", "\\\\").replace('"""', '\\"""')
    aim = f"A Python program that defines {settings.entry_point} and reaches {settings.goal}."
    run = filled(RUN, settings, server=server, facts=facts, objective=json.dumps(aim))
    return (
        EmittedFile("evaluator.py", filled(EVALUATOR, settings)),
        EmittedFile("run.py", run),
        EmittedFile("initial_program.py", start_program(settings)),
        EmittedFile("README.md", readme("GEPA", USE, NOTES, settings)),
    )
