"""What OpenEvolve needs: an evaluator in Python, a start program and a config (ThetaEvolve too)."""

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.python_evaluator import EVALUATOR, NOTES
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

CONFIG = """\
max_iterations: 100
checkpoint_interval: 10
diff_based_evolution: true
llm:
  api_base: @API_BASE@
  models:
    - name: @MODEL@
      weight: 1.0
prompt:
  include_artifacts: true
  system_message: |
@FACTS@
evaluator:
  timeout: @SECONDS@  # the referee ends long before; this is for the case that it hangs
  cascade_evaluation: false
  parallel_evaluations: 2
"""

USE = """\
```console
$ pip install openevolve path/to/colocate  # the path of your clone of colocate
$ export OPENAI_API_KEY=...
$ openevolve-run initial_program.py evaluator.py --config config.yaml --output openevolve_output
$ colocate score openevolve_output/ @SCORE_OPTIONS@  # judge the run again@HIDDEN_TOO@
```
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return the files for `openevolve-run`."""
    evaluator = filled(
        EVALUATOR,
        settings,
        framework="OpenEvolve",
        package="openevolve",
        module="evaluation_result",
    )
    return (
        EmittedFile("evaluator.py", evaluator),
        EmittedFile("initial_program.py", start_program(settings)),
        EmittedFile("config.yaml", filled(CONFIG, settings)),
        EmittedFile("README.md", readme("OpenEvolve", USE, NOTES, settings)),
    )
