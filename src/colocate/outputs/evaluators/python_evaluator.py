"""An evaluator as a file that defines `evaluate(program_path)`: OpenEvolve and SkyDiscover.

Their contract, from `evaluator.py` of both (OpenEvolve 0.4.0, SkyDiscover 0.1.0): the result has
metrics, of which `combined_score` is the fitness, and artifacts, which a model is shown. If
`evaluate` raises, they try again, and then store the program without a score.
"""

EVALUATOR = '''\
"""Judges a program for @FRAMEWORK@: `evaluate(program_path)`.

The program runs behind the walls of the referee, never in this process. A fault of the machine is
raised: @FRAMEWORK@ tries again, and then keeps the program without a score.
"""

from colocate import @REFEREE@
from @PACKAGE@.@MODULE@ import EvaluationResult

REFEREE = Referee(suite=@TASK@, hidden=False@LIMITS@)  # all that is returned here reaches a model


def evaluate(program_path: str) -> EvaluationResult:
    verdict = REFEREE.judge(program_path)
    if verdict.fault:
        raise RuntimeError(verdict.feedback)
    metrics = {
        "combined_score": verdict.score,
        "mean_score": verdict.luck.mean,
        "best_score": verdict.luck.best,
        "ratio": verdict.ratio,
        "valid": verdict.public.valid_cases / verdict.public.cases,
        "correct": float(verdict.correct),
    }
    return EvaluationResult(metrics, {"feedback": verdict.feedback})
'''

NOTES = """\
- `combined_score` is the score on the public cases, under the worst of @SEEDS@ seeds if the program
  uses chance; `mean_score` and `best_score` are over the seeds. `ratio` is the mean ratio to the
  @TARGET@, `valid` the share of valid cases, `correct` 1 if all are. The artifact `feedback` says
  what failed, and which cases are furthest from the @TARGET@.
- A fault of the machine (no sandbox, full disk) raises an error: the evaluation is tried again,
  and then the program is kept with `error` and no score.
"""
