"""Lets a framework's own code call our evaluator: `drivers.py FRAMEWORK FOLDER < programs.json`.

Runs in the environment of the frameworks, with nothing of these tests.
"""

import asyncio
import json
import logging
import sys
from pathlib import Path


def shinka(folder, programs):
    from shinka.launch import JobScheduler, LocalJobConfig

    scheduler = JobScheduler("local", LocalJobConfig(eval_program_path=str(folder / "evaluate.py")))
    for name, source in programs.items():
        home = folder / "jobs" / name
        home.mkdir(parents=True)
        (home / "main.py").write_text(source)
        results, _ = scheduler.run(str(home / "main.py"), str(home / "results"))
        metrics = results["metrics"]
        told = [metrics.get("public", {}), metrics.get("text_feedback", "")]
        correct, figures = results["correct"]["correct"], metrics.get("public", {}) | metrics
        yield name, figures | {"correct": correct}, told, metrics.get("private", {})


def openevolve(folder, programs):
    from openevolve.config import load_config
    from openevolve.evaluator import Evaluator

    config = load_config(str(folder / "config.yaml")).evaluator
    config.max_retries = 0
    evaluator = Evaluator(config, str(folder / "evaluator.py"))
    for name, source in programs.items():
        metrics = asyncio.run(evaluator.evaluate_program(source, name))
        told = [metrics, evaluator.get_pending_artifacts(name)]
        yield name, metrics, told, {}


def skydiscover(folder, programs):
    from skydiscover.config import load_config
    from skydiscover.evaluation.evaluator import Evaluator

    config = load_config(str(folder / "config.yaml")).evaluator
    config.max_retries = 0
    evaluator = Evaluator(config, str(folder / "evaluator.py"))
    logged = []  # it tells what an evaluator raised in its log alone
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logging.getLogger("skydiscover").addHandler(handler)
    for name, source in programs.items():
        result = asyncio.run(evaluator.evaluate_program(source, name))
        yield name, result.metrics, [result.metrics, result.artifacts], {"log": list(logged)}
        logged.clear()


def gepa(folder, programs):
    from gepa.optimize_anything import EvaluatorWrapper

    sys.path.insert(0, str(folder))
    from evaluator import evaluate

    wrapped = EvaluatorWrapper(evaluate, True, str_candidate_mode=True)
    for name, source in programs.items():
        try:
            score, _, info = wrapped({"current_candidate": source})
        except RuntimeError as error:
            yield name, {"error": str(error)}, [], {}
        else:
            yield name, {"combined_score": score, **info}, [score, info], {}


if __name__ == "__main__":
    answers = globals()[sys.argv[1]](Path(sys.argv[2]), json.load(sys.stdin))
    found = {name: rest for name, *rest in answers}
    Path(sys.argv[2], "found.json").write_text(json.dumps(found))
