"""What CodeEvolve needs: an input folder with evaluate.py and the start program, and a config.

Its contract, from `codeevolve/evaluator.py` and `codeevolve/evolution.py`: it starts
`python evaluate.py PROGRAM RESULTS`, and reads the fitness from the JSON in RESULTS by the name
`fitness_key`. Exit codes other than 0 leave a program without a fitness, with stderr as its error.
A model is shown all that is in RESULTS.
"""

import json

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

EVALUATE = '''\
"""Judges a program for CodeEvolve: `evaluate.py PROGRAM RESULTS`.

The program runs behind the walls of the referee, never in this process. Exit code 1 is a fault of
the machine; the program then gets no fitness.
"""

import json
import sys
from pathlib import Path

from colocate import @REFEREE@

REFEREE = Referee(suite=@TASK@, hidden=False@LIMITS@)  # all that is written reaches a model


def main(program: str, results: str) -> int:
    verdict = REFEREE.judge(program)
    if verdict.fault:
        print(verdict.feedback, file=sys.stderr)
        return 1
    public = verdict.public
    found = {"combined_score": verdict.score, "ratio": verdict.ratio}
    found |= {"mean_score": verdict.luck.mean, "best_score": verdict.luck.best}
    found |= {"valid": public.valid_cases / public.cases, "correct": float(verdict.correct)}
    Path(results).write_text(json.dumps(found | {"feedback": verdict.feedback}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
'''

CONFIG = """\
SYS_MSG: |
    # PROMPT-BLOCK-START
@FACTS@
    # PROMPT-BLOCK-END

CODEBASE_PATH: 'src/'
INIT_FILE_DATA: {filename: 'init_program.py', language: 'python'}
EVAL_FILE_NAME: 'evaluate.py'
EVAL_TIMEOUT: @SECONDS@  # the referee ends long before; this is for the case that it hangs
MAX_MEM_BYTES: 2000000000  # of the evaluator; the referee limits the programs
MEM_CHECK_INTERVAL_S: 0.5

EVOLVE_CONFIG: {fitness_key: 'combined_score',
                num_epochs: 100, ckpt: 5, max_size: 40, init_pop: 6,
                exploration_rate: 0.3,
                selection_policy: 'roulette', selection_kwargs: {roulette_by_rank: True},
                early_stopping_rounds: 100,
                num_islands: 2, migration_topology: 'ring',
                migration_interval: 20, migration_rate: 0.1,
                meta_prompting: False, num_inspirations: 3,
                max_chat_depth: 3}

ENSEMBLE: [{model_name: @MODEL@, temp: 0.7, top_p: 0.95, retries: 3, weight: 1.0, verify_ssl: True}]
SAMPLER_AUX_LM: {model_name: @MODEL@, temp: 0.7, top_p: 0.95, retries: 3, weight: 1.0,
                 verify_ssl: True}
"""

USE = """\
```console
$ pip install path/to/colocate  # your clone, into the environment whose `python` CodeEvolve starts
$ export API_BASE=@SERVER@ API_KEY=...
$ python main.py --inpt_dir input/ --cfg_path config.yaml --out_dir run/
$ colocate score run/ @SCORE_OPTIONS@          # the best of every island@HIDDEN_TOO@
```

`main.py` is that of CodeEvolve: give the paths of this folder.
"""

NOTES = """\
- `combined_score` is the score on the public cases and the fitness, under the worst of @SEEDS@
  seeds if the program uses chance; `mean_score` and `best_score` are over the seeds. `ratio` is the
  mean ratio to the @TARGET@, `valid` the share of valid cases, `correct` 1 if all are; `feedback`
  says what failed.
- A fault of the machine ends with exit code 1 and a sentence on stderr: the program gets no
  fitness.
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return an input folder and a config."""
    server = json.loads(filled("@API_BASE@", settings))
    use = USE.replace("@SERVER@", server)
    return (
        EmittedFile("input/evaluate.py", filled(EVALUATE, settings)),
        EmittedFile("input/src/init_program.py", start_program(settings)),
        EmittedFile("config.yaml", filled(CONFIG, settings)),
        EmittedFile("README.md", readme("CodeEvolve", use, NOTES, settings)),
    )
