"""Calls our evaluators as frameworks do that cannot be installed here, and reads what comes back.

Written after the sources that the modules of `colocate.outputs.evaluators` name: the same
arguments, the same working folder, the same way to read the answer.
"""

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory


def skydiscover_docker(folder, source, python, extra=None, mode="train"):
    """`ContainerizedEvaluator`: evaluate.sh PROGRAM MODE, JSON on stdout."""
    with TemporaryDirectory() as inside:
        candidate = Path(inside, "0123abcd.py")
        candidate.write_text(source)
        command = [folder / "evaluator" / "evaluate.sh", candidate, mode]
        done = _run(command, python, extra, cwd=inside)
    if done.returncode != 0:
        return {"error": 0.0}, {"stderr": done.stderr, "exit_code": str(done.returncode)}
    data = json.loads(done.stdout.strip())
    metrics = {k: float(v) for k, v in data["metrics"].items() if isinstance(v, int | float)}
    metrics.setdefault("combined_score", float(data.get("combined_score", 0.0)))
    artifacts = {key: str(value) for key, value in data.get("artifacts", {}).items()}
    if data.get("status", "error") != "success":
        artifacts.setdefault("status", data["status"])
    if done.stderr.strip():
        artifacts.setdefault("stderr", done.stderr)
    return metrics, artifacts


def codeevolve(folder, source, python, extra=None):
    """`Evaluator.execute`: python evaluate.py CODE RESULTS, in a copy of the working folder."""
    with TemporaryDirectory() as inside:
        code, results = Path(inside, "tmpabc.py"), Path(inside, "tmpdef.json")
        code.write_text(source)
        results.touch()
        command = ["python", folder / "input" / "evaluate.py", code, results]
        done = _run(command, python, extra, cwd=inside)
        if done.returncode != 0:
            return {"error": 0.0}, {"error": done.stderr}
        return json.loads(results.read_text()), {}


def harbor(folder, source, python, extra=None):
    """`Verifier.verify`: test.sh in the container, then the reward file."""
    with TemporaryDirectory() as root:
        for place in ("app", "logs/verifier", "tests"):
            Path(root, place).mkdir(parents=True)
        for path in (folder / "tests").iterdir():
            text = (
                path.read_text().replace("/app/", f"{root}/app/").replace("/logs/", f"{root}/logs/")
            )
            Path(root, "tests", path.name).write_text(text)
        Path(root, "app", "program.py").write_text(source)
        output = Path(root, "logs", "verifier", "test-stdout.txt")
        command = ["bash", "-c", f"bash {root}/tests/test.sh > {output} 2>&1"]
        _run(command, python, {"JUDGE_PYTHON": str(python), **(extra or {})}, cwd=root)
        reward, holdout = (output.with_name(name) for name in ("reward.json", "holdout.json"))
        if not reward.exists():
            return {"error": 0.0}, {"output": output.read_text()}
        data = json.loads(reward.read_text())
        figures = {k: v for k, v in data.items() if isinstance(v, float | int)}
        held = json.loads(holdout.read_text())
        return figures | {"combined_score": data["score"]}, {"output": output.read_text()}, held


def _run(command, python, extra, cwd):
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path} | (extra or {})
    return subprocess.run(
        list(map(str, command)),
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


CONTRACTS = {
    "skydiscover-docker": skydiscover_docker,
    "codeevolve": codeevolve,
    "harbor": harbor,
}
