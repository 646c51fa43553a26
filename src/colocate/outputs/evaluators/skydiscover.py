"""What SkyDiscover needs: an evaluator in Python, a start program and a config."""

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.evaluators.filling import filled, start_program
from colocate.outputs.evaluators.python_evaluator import EVALUATOR, NOTES
from colocate.outputs.evaluators.readme import readme
from colocate.outputs.evaluators.settings import EvaluatorSettings

CONFIG = """\
language: python
diff_based_generation: true
max_iterations: 100
checkpoint_interval: 10
max_solution_length: 60000
evaluator:
  cascade_evaluation: false
  timeout: @SECONDS@  # the referee ends long before; this is for the case that it hangs
llm:
  api_base: @API_BASE@
  models: [{name: @MODEL@, weight: 1.0, api_base: @API_BASE@}]  # it asks api.openai.com without
prompt:
  system_message: |
@FACTS@
"""

USE = """\
```console
$ pip install skydiscover path/to/colocate  # the path of your clone of colocate
$ export OPENAI_API_KEY=...
$ skydiscover-run initial_program.py evaluator.py --config config.yaml --search topk --output run
$ colocate score run/ @SCORE_OPTIONS@          # judge the run again@HIDDEN_TOO@
```
"""


def files(settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return the files for `skydiscover-run`."""
    evaluator = filled(
        EVALUATOR,
        settings,
        framework="SkyDiscover",
        package="skydiscover",
        module="evaluation.evaluation_result",
    )
    return (
        EmittedFile("evaluator.py", evaluator),
        EmittedFile("initial_program.py", start_program(settings)),
        EmittedFile("config.yaml", filled(CONFIG, settings)),
        EmittedFile("README.md", readme("SkyDiscover", USE, NOTES, settings)),
    )
