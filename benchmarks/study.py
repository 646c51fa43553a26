"""How well pressure, busy shares and predicted latency tell which placement serves users best.

    python -m benchmarks.study              240 random fleets and 46 published; goes on if stopped
    python -m benchmarks.study --fleets 30  only the first of the random ones, none published
    python -m benchmarks.study --show       only the tables of what is stored

Every fleet is placed in up to 20 ways. All of them serve the same requests in the simulator, for
several seeds. `docs/study.md` says why and what came out; the results are in `benchmarks/data`.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.study_fleets import RANDOM_FLEETS, StudyFleet, published_fleets, random_fleet
from benchmarks.study_placements import PLACEMENTS, Names, chosen_placements, figures_of
from benchmarks.study_tables import tables_of

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import PoissonDemand
from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.options import SimulateOptions
from colocate.simulate.run import simulate_placement

DATA = Path(__file__).parent / "data"
SEEDS = 6
"""Streams of requests that every placement of a fleet serves."""
WARM_UP = 30.0
"""Seconds that do not count."""
SHORTEST, LONGEST, REQUESTS = 120.0, 600.0, 600.0
"""Seconds that count: as many as so many requests take, within limits."""
DEMAND = PoissonDemand(LengthDistribution("log-normal", 0.7), LengthDistribution("exponential"))
FLEET_COLUMNS = (
    "fleet", "regime", "sharing", "level", "models", "gpus", "kinds", "full", "seconds", "offered",
    "placements", "pressure_proven", "latency_proven",
)  # fmt: skip
OUTCOMES = ("goodput", "attainment", "worst")
PLACEMENT_COLUMNS = (
    "fleet", "placement", "names", "where", "pressure", "busy", "ratio", "kept",
    "waits", "preemptions",
    *(f"{outcome}_{seed}" for outcome in OUTCOMES for seed in range(SEEDS)),
)  # fmt: skip


class Outcome(NamedTuple):
    """What the users of a placement felt over one stream of requests."""

    goodput: float
    """Requests each second that kept their targets, all models together."""
    attainment: float
    """The share of requests that did, as a mean over models."""
    worst: float
    """That of the model with the lowest share."""
    waits: float
    """Requests that wait for a slot or for cache on average, over those in the system."""
    preemptions: int


def outcome_of(problem: Problem, placement: Placement, pieces: list[RequestStream]) -> Outcome:
    """Return what users of a placement feel.

    Parameters
    ----------
    problem, placement
        The fleet and where its models are.
    pieces
        The requests.
    """
    found = simulate_placement(problem, placement, pieces, SimulateOptions(warm_up=WARM_UP))
    kept = [model.attainment for model in found.models]
    queued = sum(model.queue for model in found.models)
    inside = sum(model.in_flight for model in found.models)
    return Outcome(
        sum(model.goodput for model in found.models),
        float(np.mean(kept)),
        min(kept),
        queued / (queued + inside) if queued else 0.0,
        sum(model.preemptions for model in found.models),
    )


def rows_of(fleet: StudyFleet, most: int = PLACEMENTS) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return the row of a fleet, and those of its placements.

    Parameters
    ----------
    fleet
        What is placed.
    most
        How many placements to simulate.
    """
    problem = fleet.problem
    rng = np.random.default_rng([1, *fleet.name.encode()])
    chosen = chosen_placements(problem, fleet.busy, rng, most)
    rate = sum(model.requests.rate for model in problem.models if model.requests)
    span = min(max(REQUESTS / rate, SHORTEST), LONGEST)
    streams = [list(DEMAND.pieces(problem, WARM_UP + span, seed)) for seed in range(SEEDS)]
    offered = [
        sum(int((piece.arrival >= WARM_UP).sum()) for piece in pieces) / span for pieces in streams
    ]
    kinds = [gpu.kind for gpu in problem.gpus]
    row = {
        "fleet": fleet.name,
        "regime": fleet.regime,
        "sharing": problem.sharing,
        "level": fleet.level,
        "models": len(problem.models),
        "gpus": len(kinds),
        "kinds": " ".join(f"{kinds.count(kind)}x{kind}" for kind in sorted(set(kinds))),
        "full": f"{_full(problem):.3f}",
        "seconds": f"{span:.0f}",
        "offered": f"{np.mean(offered):.4f}",
        "placements": chosen.number,
        "pressure_proven": int(chosen.proven["pressure plan"]),
        "latency_proven": int(chosen.proven["latency plan"]),
    }
    return row, list(_placement_rows(fleet, chosen.names, streams))


def _full(problem: Problem) -> float:
    held = sum(model.size_gb for model in problem.models)
    return held / sum(gpu.memory_gb for gpu in problem.gpus)


def _placement_rows(
    fleet: StudyFleet, names_of: Names, streams: Sequence[list[RequestStream]]
) -> Iterator[list[Any]]:
    for number, (placement, names) in enumerate(names_of.items()):
        figures = figures_of(fleet.problem, fleet.busy, placement)
        found = [outcome_of(fleet.problem, placement, pieces) for pieces in streams]
        yield [
            fleet.name,
            number,
            "|".join(names),
            _where(fleet.problem, placement),
            *(f"{value:.6g}" for value in figures),
            f"{np.mean([each.waits for each in found]):.3f}",
            sum(each.preemptions for each in found),
            *(f"{getattr(each, what):.5g}" for what in OUTCOMES for each in found),
        ]


def _where(problem: Problem, placement: Placement) -> str:
    """Return the numbers of the GPUs of every model, in the order of the problem."""
    number = {gpu.name: str(place) for place, gpu in enumerate(problem.gpus)}
    models = [placement[model.name] for model in problem.models]
    return " ".join("+".join(number[gpu] for gpu in gpus) for gpus in models)


def _done(path: Path) -> set[str]:
    if not path.exists():
        return set()
    with path.open(newline="", encoding="utf-8") as file:
        return {row["fleet"] for row in csv.DictReader(file)}


def _append(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([columns, *rows] if new else rows)


def study(folder: Path, fleets: Iterator[StudyFleet], most: int = PLACEMENTS) -> None:
    """Simulate all fleets that are not in a folder yet, and store what is found.

    Parameters
    ----------
    folder
        Has `study_fleets.csv` and `study_placements.csv`, or will.
    fleets
        What to place and to simulate.
    most
        Placements of each.
    """
    by_fleet, by_placement = folder / "study_fleets.csv", folder / "study_placements.csv"
    done = _done(by_fleet)
    for fleet in fleets:
        if fleet.name in done:
            continue
        start = time.perf_counter()
        row, rows = rows_of(fleet, most)
        _append(by_placement, PLACEMENT_COLUMNS, rows)
        _append(by_fleet, FLEET_COLUMNS, [[row[column] for column in FLEET_COLUMNS]])
        spent = time.perf_counter() - start
        print(f"{fleet.name}: {len(rows)} placements, {spent:.1f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Run the study, or what is left of it, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=DATA)
    parser.add_argument("--fleets", type=int, help="random fleets, without the published ones")
    parser.add_argument("--show", action="store_true", help="only print the tables")
    chosen = parser.parse_args()
    if not chosen.show:
        chosen.folder.mkdir(exist_ok=True)
        done = _done(chosen.folder / "study_fleets.csv")
        numbers = range(RANDOM_FLEETS if chosen.fleets is None else chosen.fleets)
        drawn = (random_fleet(n) for n in numbers if f"random-{n:03}" not in done)
        others = published_fleets() if chosen.fleets is None else iter(())
        study(chosen.folder, chain(drawn, others))
    print(tables_of(chosen.folder))


if __name__ == "__main__":
    main()
