"""Solve one problem in a process of its own, with the solver of any source tree.

The problem is handed over as plain data and made with the classes of that tree, so that trees can
be compared that do not know each other's suites. What they find is judged here, by one checker.
"""

import inspect
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from colocate import Gpu, Model, Problem, place, solve

MEMORY = 12 * 2**30
"""Bytes that a process may ask for: a solver that wants more has crashed, not the machine."""
PATIENCE = 60.0
"""Seconds beyond ten times the limit after which a process that does not answer is ended."""
KIB_PER_MB = 1024
GPU_FIELDS = ("name", "memory_gb", "kind", "limits", "node")
MODEL_FIELDS = tuple(name for name in Model.__slots__ if name not in ("rate", "slo"))


@dataclass(frozen=True)
class Solved:
    """What one call came to."""

    seconds: float
    """By the clock around the call."""
    placement: dict[str, list[str]]
    bound: float
    lost_bound: float
    status: str


@dataclass(frozen=True)
class Answer:
    """What a process came to: one call after the other, or why there are none."""

    calls: tuple[Solved, ...]
    peak_mb: float
    crash: str = ""


def solved_apart(
    problem: Problem,
    limits: Sequence[float],
    workers: int | None = None,
    source: Path | None = None,
    strategy: str = "",
) -> Answer:
    """Solve a problem once with each time limit, in a process of its own, warm.

    Parameters
    ----------
    source
        The `src` of another checkout; by default this one's.
    strategy
        Place with this strategy instead, if `place` takes a time limit.
    """
    question = {
        "problem": _data_of(problem),
        "limits": list(limits),
        "workers": workers,
        "strategy": strategy,
    }
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "question.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(question), encoding="utf-8")
        command = [sys.executable, __file__, str(asked), str(answered)]
        tree = {"PYTHONPATH": str(source.resolve())} if source else {}
        patience = 10 * sum(limits) + PATIENCE
        try:
            done = subprocess.run(
                command,
                env=os.environ | tree,
                stderr=subprocess.PIPE,
                text=True,
                timeout=patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer((), 0.0, f"no answer after {patience:.0f} s")
        if done.returncode or not answered.exists():
            last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            return Answer((), 0.0, last)
        data = json.loads(answered.read_text(encoding="utf-8"))
    return Answer(tuple(Solved(**call) for call in data["calls"]), data["peak_mb"], data["crash"])


def can_place_in_time() -> bool:
    """Say whether `place` takes a time limit."""
    return "time_limit" in inspect.signature(place).parameters


def _data_of(problem: Problem) -> dict[str, Any]:
    data = {field.name: getattr(problem, field.name) for field in fields(problem)}
    data["gpus"] = [{name: getattr(gpu, name) for name in GPU_FIELDS} for gpu in problem.gpus]
    data["models"] = [{name: getattr(m, name) for name in MODEL_FIELDS} for m in problem.models]
    return data


def _problem_of(data: dict[str, Any]) -> Problem:
    gpus = tuple(Gpu(**gpu) for gpu in data["gpus"])
    models = tuple(Model(**_model_fields(model)) for model in data["models"])
    return Problem(**{**data, "gpus": gpus, "models": models})


def _model_fields(data: dict[str, Any]) -> dict[str, Any]:
    uses = {
        field: {resource: dict(by_kind) for resource, by_kind in data[field]}
        for field in ("uses", "shared_uses")
    }
    return {**data, **uses}


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    """Make all calls in this process; the first one that fails is the last."""
    problem = _problem_of(question["problem"])
    _warm_up(question["strategy"])
    calls: list[dict[str, Any]] = []
    crash = ""
    try:
        calls.extend(_call(problem, limit, question) for limit in question["limits"])
    except Exception as error:
        crash = f"{type(error).__name__}: {error}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MB
    return {"calls": calls, "peak_mb": peak, "crash": crash}


def _warm_up(strategy: str) -> None:
    models = tuple(Model(f"m{number}", 10 + number, load=1.0 + number) for number in range(6))
    problem = Problem((Gpu("a", 80), Gpu("b", 80)), models)
    if strategy:
        place(problem, strategy)
    solve(problem)


def _call(problem: Problem, limit: float, question: dict[str, Any]) -> dict[str, Any]:
    started = perf_counter()
    if question["strategy"]:
        plan = place(problem, question["strategy"], time_limit=limit)  # type: ignore[call-arg]
    else:
        plan = solve(problem, time_limit=limit, workers=question["workers"])
    seconds = perf_counter() - started
    return {
        "seconds": seconds,
        "placement": {model: list(gpus) for model, gpus in plan.placement.items()},
        "bound": plan.bound if plan.bound < inf else 0.0,
        "lost_bound": plan.lost_bound,
        "status": plan.status.value,
    }


def _main(asked: Path, answered: Path) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    answer = _answer(json.loads(asked.read_text(encoding="utf-8")))
    answered.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
