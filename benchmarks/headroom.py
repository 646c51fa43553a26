"""Measure how much room fleet tasks leave: the start program, the composer, and our solver.

    python benchmarks/headroom.py [--generations 60] [--proposals 4] [--seed 0] [--store] [TASK ...]
    python benchmarks/headroom.py --only-solver [--store] [TASK ...]

The second form measures our solver alone, in minutes; the other figures stay as stored. Every
figure is the mean over the cases of (proven bound) / (value). The lab ranks programs by their worst
seed; the best one is then judged as it is written, which leaves less room. Fails if the composer
does not stay clearly below the bound on hidden cases. `--store` keeps the figures in the package,
which `tests/arena/tasks/test_headroom.py` holds against the code.
"""

import argparse
import os
import sys
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter

from colocate.arena.contest import Contest
from colocate.arena.referee import Referee
from colocate.arena.tally import Tally
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.fleets.fleet import FLEETS, FleetQuestion
from colocate.arena.tasks.fleets.headroom import (
    CLEARLY,
    Headroom,
    HeadroomRow,
    cases_digest,
    read_headroom,
    write_headroom,
)
from colocate.arena.tasks.task import Task
from colocate.arena.verdict import Verdict
from colocate.lab.lab_folder import local_evaluation, make_lab
from colocate.lab.loop import Lab
from colocate.lab.program import Program, best_first
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.proposers.composer.notation import text_of
from colocate.lab.proposers.composer.source import read_composition
from colocate.lab.settings import Budget, Settings
from colocate.problem.verify import verify
from colocate.solver.solve import solve

SECONDS = (1.0, 10.0)
"""What the solver gets for a case."""
PATIENCE = 10
"""Times the limit of a program, which composed programs stay far below: a busy machine decides
nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=list(FLEETS))
    parser.add_argument("--generations", type=int, default=60)
    parser.add_argument("--proposals", type=int, default=4, help="programs in a generation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--only-solver", action="store_true")
    options = parser.parse_args()
    print("| task | way | public | hidden | minutes |\n|---|---|---|---|---|")
    measure = _solver_anew if options.only_solver else partial(_measured, options=options)
    found = [measure(task) for task in options.tasks]
    for each in found if options.store else ():
        write_headroom(each)
    sys.exit(any(each.room < CLEARLY for each in found))


def _measured(name: str, options: argparse.Namespace) -> Headroom:
    task = open_task(name)
    contest = task.contest()
    reached = [_timed(name, lambda: _of("start", Referee(task).judge_source(task.start_program)))]
    programs: list[Program] = []

    def composed() -> HeadroomRow:
        programs.extend(_evolved(name, options))
        return _as_written(task, best_first(programs)[0].source)

    reached.append(_timed(name, composed))
    reached += _by_solver(name, contest)
    assert task.frame is not None
    best = read_composition(best_first(programs)[0].source, task.frame)
    assert best is not None, "the best program is a composition"
    parts = {field: text_of(value) for field, value in best._asdict().items()}
    digest = cases_digest(contest)
    return Headroom(name, digest, options.generations, len(programs), parts, tuple(reached))


def _solver_anew(name: str) -> Headroom:
    stored, contest = read_headroom()[name], open_task(name).contest()
    assert stored.digest == cases_digest(contest), "other cases: measure all ways"
    kept = [row for row in stored.reached if row.who in ("start", "composer")]
    return replace(stored, reached=(*kept, *_by_solver(name, contest)))


def _by_solver(name: str, contest: Contest) -> list[HeadroomRow]:
    solved = partial(_solved, contest.public, contest.hidden)
    return [_timed(name, partial(solved, seconds)) for seconds in SECONDS]


def _evolved(name: str, options: argparse.Namespace) -> list[Program]:
    task = open_task(name)
    seconds = PATIENCE * task.limits.seconds
    settings = Settings(
        task=name,
        seed=options.seed,
        proposals=options.proposals,
        seconds=seconds,
        memory_mb=task.limits.memory_mb,
    )
    evaluation = local_evaluation(settings, os.cpu_count() or 1)
    with (
        TemporaryDirectory() as folder,
        make_lab(Path(folder) / "lab", settings, task.start_program, evaluation) as archive,
    ):
        lab = Lab(archive, settings, task.contest(), evaluation, Composer())
        lab.run(Budget(options.generations), lambda generation, best: print(
            f"{name} generation {generation}: {best.verdict.fitness:.6f}", file=sys.stderr,
            flush=True))  # fmt: skip
        return list(archive.programs())


def _as_written(task: Task, source: str) -> HeadroomRow:
    limits = replace(task.limits, seconds=PATIENCE * task.limits.seconds)
    return _of("composer", Referee(task, limits=limits, seeds=1).judge_source(source))


def _of(who: str, verdict: Verdict) -> HeadroomRow:
    values = tuple(r.value if r.valid else None for r in verdict.hidden.results)
    return HeadroomRow(who, _to_bound(verdict.public), _to_bound(verdict.hidden), values)


def _to_bound(tally: Tally) -> float:
    return fmean((r.bound or 0.0) / r.value if r.valid else 0.0 for r in tally.results)


def _solved(
    public: tuple[FleetQuestion, ...], hidden: tuple[FleetQuestion, ...], seconds: float
) -> HeadroomRow:
    values = [[_value(question, seconds) for question in part] for part in (public, hidden)]
    means = [
        fmean((q.bound or 0.0) / value for q, value in zip(part, own, strict=True))
        for part, own in zip((public, hidden), values, strict=True)
    ]
    return HeadroomRow(
        f"solve, {seconds:g} s", *means, tuple(v if isfinite(v) else None for v in values[1])
    )


def _value(question: FleetQuestion, seconds: float) -> float:
    plan = solve(question.problem, time_limit=seconds)
    if not plan.placement:
        return inf
    verdict = verify(question.problem, plan.placement)
    return verdict.ratio if question.problem.objective == "latency" else verdict.pressure


def _timed(task: str, way) -> HeadroomRow:
    started = perf_counter()
    found = way()
    minutes = (perf_counter() - started) / 60
    row = (task, found.who, f"{found.public:.4f}", f"{found.hidden:.4f}", f"{minutes:.1f}")
    print(f"| {' | '.join(row)} |", flush=True)
    return found


if __name__ == "__main__":
    main()
