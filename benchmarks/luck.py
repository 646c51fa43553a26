"""What luck was worth to the programs of a folder: their scores under several seeds.

Usage: python benchmarks/luck.py FOLDER RECORD.jsonl [SEEDS] [WORKERS]
       python benchmarks/luck.py RECORD.jsonl

The first form judges every program of the folder, as `colocate score FOLDER` does, and adds a line
for each to the record; programs that the record has already are left out, so it goes on where it
stopped. The second form prints the tables.
"""

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from colocate.arena.luck import Chance
from colocate.arena.referee import Referee
from colocate.arena.repeats import SEEDS
from colocate.arena.run_folder import FoundProgram, read_run
from colocate.errors import SandboxError

OPTIMUM = 26.2559
"""A score that rounds to the proven optimum of `adrs`, 26.255972."""
SAME = 5e-5
"""Scores that differ by less are the same in four digits."""


def main() -> None:
    if len(sys.argv) == 2:
        print_tables([json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()])
        return
    folder, record = Path(sys.argv[1]), Path(sys.argv[2])
    seeds, workers = (int(text) for text in (*sys.argv[3:5], SEEDS, 1)[:2])
    done = set()
    if record.exists():
        done = {json.loads(line)["digest"] for line in record.read_text().splitlines()}
    programs, _ = read_run(folder)
    # In the order of digests, so that what is judged so far is a fair sample.
    programs.sort(key=lambda program: digest(program.source))
    waiting = [each for each in programs if digest(each.source) not in done]
    print(f"{len(programs)} programs, {len(waiting)} to judge", flush=True)
    judge_all(waiting, Referee(seeds=seeds), record, workers)


def judge_all(programs: list[FoundProgram], referee: Referee, record: Path, workers: int) -> None:
    lock = Lock()

    def judge(program: FoundProgram) -> None:
        try:
            row = judged(program, referee)
        except SandboxError as fault:  # of the machine: not scored, and tried again next time
            print(f"{program.file}  not judged: {fault}", flush=True)
            return
        with lock, record.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['program']}  {row['score']:.4f}  {row['scores']}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(judge, programs))


def judged(program: FoundProgram, referee: Referee) -> dict[str, Any]:
    verdict = referee.judge_source(program.source)
    trials = verdict.luck.trials
    return {
        "program": program.file,
        "digest": digest(program.source),
        "claimed": program.claimed,
        "correct": verdict.correct,
        "score": verdict.score,
        "fitness": verdict.fitness,
        "chance": verdict.luck.chance.value,
        "scores": [round(trial.score, 4) for trial in trials],
        "fitnesses": [round(trial.fitness, 6) for trial in trials],
        "failures": {failure.value: count for failure, count in verdict.failures.items()},
    }


def digest(source: str) -> str:
    return sha256(source.encode()).hexdigest()[:12]


def print_tables(rows: list[dict[str, Any]]) -> None:
    correct = [row for row in rows if row["correct"]]
    drawn = [row for row in correct if row["chance"] != Chance.NONE]
    apart = [row for row in drawn if max(row["scores"]) - min(row["scores"]) >= SAME]
    once = [row for row in rows if row["scores"][0] >= OPTIMUM]
    always = [row for row in once if row["correct"] and min(row["scores"]) >= OPTIMUM]
    failing = [row for row in rows if not row["correct"]]
    first_fine = [row for row in failing if row["scores"][0] > 1 and row["score"] < 1]
    print(f"{len(rows)} programs, {len(correct)} of them correct under every seed")
    print(f"of those, {len(drawn)} use chance: {dict(Counter(row['chance'] for row in drawn))}")
    print(f"their score depends on the seed: {len(apart)}")
    print(f"at the optimum under the first seed: {len(once)}, under every seed: {len(always)}")
    print(f"fail under a seed, but not under the first: {len(first_fine)}")
    if apart:
        spreads = sorted(max(row["scores"]) - min(row["scores"]) for row in apart)
        print(f"spread: median {spreads[len(spreads) // 2]:.4f}, largest {spreads[-1]:.4f}")
    before, after = places(correct, "first"), places(correct, "worst")
    moved = [row for row in correct if before[row["digest"]] != after[row["digest"]]]
    print(f"correct programs with another place by the worst seed: {len(moved)}")
    print("\n| program | first seed | worst | mean | best | seeds at the optimum |")
    print("|---|---|---|---|---|---|")
    for row in sorted(apart, key=lambda row: -row["scores"][0])[:20]:
        scores = row["scores"]
        at = sum(score >= OPTIMUM for score in scores)
        mean = sum(scores) / len(scores)
        figures = (scores[0], min(scores), mean, max(scores))
        told = " | ".join(f"{figure:.4f}" for figure in figures)
        name = row["program"].removesuffix("/main.py").removeprefix("sresults/")
        print(f"| {name} | {told} | {at} of {len(scores)} |")


def places(rows: list[dict[str, Any]], which: str) -> dict[str, int]:
    """Return how many programs are better than each, by the first seed or by the worst."""
    fitness = {
        row["digest"]: row["fitnesses"][0] if which == "first" else round(row["fitness"], 6)
        for row in rows
    }
    values = sorted(fitness.values(), reverse=True)
    return {name: values.index(value) for name, value in fitness.items()}


if __name__ == "__main__":
    main()
