"""Measure what engines that share one GPU do to each other.

`python -m benchmarks.gpu.bench PLAN.json --out FILE.jsonl`; README.md here explains both files.
"""

import argparse
import json
import os
import subprocess
import traceback
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import TextIO

from benchmarks.gpu.mps import Daemon
from benchmarks.gpu.plan import MODES, Plan, Reading, load_plan
from benchmarks.gpu.pool import Answer, EngineFailedError, Pool

RESERVE = 12.0
"""Seconds of the budget that are left for engines to leave."""
ASKED = (
    "name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,"
    "power.limit,compute_mode"
)
START_SECONDS = 40.0
"""What the engines of a mode may take to start."""
LONE_SECONDS = 20.0
"""What lone steps of a model may take."""


def main() -> None:
    options = _options()
    plan = load_plan(options.plan)
    os.environ["PATH"] += ":/usr/local/nvidia/bin:/usr/bin"  # where drivers put their programs
    with options.out.open("a", encoding="utf-8") as file:
        report = Report(file, options.budget)
        report.write({"kind": "machine", **_machine(options.device)})
        for mode in options.modes.split(","):
            if not report.allows(START_SECONDS):
                report.fail(mode, "the whole mode", "left out: the budget is used up")
                continue
            try:
                _measure(plan, mode, options.device, report)
            except Exception:
                report.fail(mode, "the whole mode", traceback.format_exc())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path, help="JSON: engines, readings, lone")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, added at the end")
    parser.add_argument("--modes", default=",".join(MODES), help="one after the other")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds in all")
    return parser.parse_args()


class Report:
    """Writes every line at once, so that nothing is lost, and keeps the budget."""

    def __init__(self, file: TextIO, budget: float) -> None:
        self._file, self._budget, self._begin = file, budget, perf_counter()

    def write(self, line: Answer) -> None:
        """Add a line."""
        self._file.write(json.dumps({**line, "at_s": round(self.elapsed, 1)}) + "\n")
        self._file.flush()

    def fail(self, mode: str, name: str, error: str) -> None:
        """Add a line about what failed, and show it."""
        self.write({"kind": "error", "mode": mode, "name": name, "error": error[-3000:]})
        print(f"{self.elapsed:6.0f} s  {mode}  {name}: FAILED {error[-300:]}", flush=True)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._begin

    def allows(self, seconds: float) -> bool:
        """Whether the budget has room for something that takes so long."""
        return self.elapsed + seconds + RESERVE <= self._budget


def _measure(plan: Plan, mode: str, device: str, report: Report) -> None:
    """Take all readings of one mode; engines leave before the daemon does."""
    readings = [reading for reading in plan.readings if mode in reading.modes]
    with ExitStack() as stack:
        daemon = stack.enter_context(Daemon()) if mode == "mps" else None
        pool = stack.enter_context(Pool(plan.engines, device))
        facts: Answer = {"kind": "engines", "mode": mode, "engines": pool.introductions}
        if daemon:
            facts |= {"mps_servers": daemon.servers(), "mps_log": daemon.log()}
            print(f"MPS servers: {facts['mps_servers'] or 'NONE, so this is not MPS'}", flush=True)
        report.write(facts)
        print(f"{report.elapsed:6.0f} s  {mode}  {json.dumps(pool.introductions)}", flush=True)
        pool.replace_failed()
        if mode == "slices":
            for model in plan.lone:
                _read_alone(pool, model, report)
        for reading in readings:
            _read(pool, mode, reading, report)
        if daemon:
            report.write({"kind": "mps", "mps_log": daemon.log()})


def _read_alone(pool: Pool, model: str, report: Report) -> None:
    if not report.allows(LONE_SECONDS):
        report.fail("alone", model, "left out: the budget is used up")
        return
    try:
        answer = pool.read_alone(model)
    except EngineFailedError as error:
        report.fail("alone", model, str(error))
        pool.replace_failed()
        return
    report.write({"kind": "lone", "model": model, **answer})
    shown = [f"{row['kind']} {row['batch']}x{row['tokens']} {row['ms']}" for row in answer["rows"]]
    print(f"{report.elapsed:6.0f} s  lone  {model}: {', '.join(shown)}", flush=True)


def _read(pool: Pool, mode: str, reading: Reading, report: Report) -> None:
    if not report.allows(reading.seconds + 1):
        report.fail(mode, reading.name, "left out: the budget is used up")
        return
    try:
        figures = pool.read(reading)
    except EngineFailedError as error:
        report.fail(mode, reading.name, str(error))
        pool.replace_failed()
        return
    members = [
        {**member.said(), "metrics": metrics}
        for member, metrics in zip(reading.members, figures, strict=True)
    ]
    report.write(
        {
            "kind": "reading",
            "mode": mode,
            "name": reading.name,
            "seed": reading.drawn_from,
            "seconds": reading.seconds,
            "members": members,
        }
    )
    shown = "; ".join(_shown(member) for member in members)
    print(f"{report.elapsed:6.0f} s  {mode}  {reading.name}: {shown}", flush=True)


def _shown(member: Answer) -> str:
    metrics = member["metrics"]
    if "rate" in member:
        return (
            f"{member['model']} {member['rate']}/s tpot {metrics['tpot_ms']} "
            f"ttft {metrics['ttft_ms']} busy {metrics['busy']} batch {metrics['mean_batch']} "
            f"{metrics['finished']}+{metrics['unfinished']}"
        )
    alone = f" (alone {metrics['alone_ms']})" if "alone_ms" in metrics else ""
    return (
        f"{member.get('model', 'any')} {member['closed']}{alone} mean {metrics['act_ms']} "
        f"p50 {metrics['act_p50_ms']} p99 {metrics['act_p99_ms']}"
    )


def _machine(device: str) -> Answer:
    facts: Answer = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "device": device}
    try:
        facts["torch"] = version("torch")
    except PackageNotFoundError:
        facts["torch"] = "not installed"
    try:
        asked = ["nvidia-smi", f"--query-gpu={ASKED}", "--format=csv,noheader"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
        cells = answer.stdout.splitlines()[0].split(", ")
        facts |= dict(zip(ASKED.split(","), cells, strict=True))
    except (OSError, IndexError, ValueError, subprocess.SubprocessError) as error:
        facts["nvidia-smi"] = f"no answer: {error}"
    return facts


if __name__ == "__main__":
    main()
