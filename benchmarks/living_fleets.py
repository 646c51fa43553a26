"""Fleets whose demand moves: what a policy that follows it brings, against plans that stay.

    python -m benchmarks.living_fleets --store                    all twenty conditions, kept
    python -m benchmarks.living_fleets "hot set 16"               some of them
    python -m benchmarks.living_fleets "hot set 16" --seed 101    with other requests
    python -m benchmarks.living_fleets "hot set 16" --hours 6     for longer

For each condition the same requests are replayed on:

- static plans in hindsight: by latency and by pressure, for the mean rates of the whole time, for
  the highest of each model in ten minutes, and for each half of the time. The best one counts,
  by the requests that it serves in time.
- the plan for the rates that the fleet file states, which stays. These are the means over the time
  that was planned for; when a model is asked more, and when less, the file does not know.
- the policy of `replan.policy`, which begins with that plan, looks every ten seconds, and knows the
  requests of the two hours before, as Prometheus does (`living_past.py`), and the queues.
- naive replanning: it begins with that plan too, and goes every ten minutes to the plan for the
  last ten, whatever the way there costs.

Engines share the cache of their GPU (as under kvcached), and a router sends requests to the replica
with the fewest. Loading takes 2 GB/s and a minute to get ready. Arrivals are counted every ten
seconds, as `colocate watch` has them where Prometheus scrapes every five. Requests in time over all
that arrived are what counts.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.living_conditions import SECONDS, Condition, conditions
from benchmarks.living_past import past_counts
from numpy.typing import NDArray

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.lives import lives_of
from colocate.replan.policy.decide import decide
from colocate.replan.policy.history import EngineMove, engines_at, moves_between, undone_moves
from colocate.replan.policy.outlook import settled_lives, with_rates
from colocate.replan.policy.rates import estimated_rates
from colocate.replan.policy.search_record import SearchRecord
from colocate.replan.policy.settings import UNDONE_WITHIN, PolicySettings
from colocate.replan.steps.safe_steps import SafeSteps, safe_steps
from colocate.replan.transition import change_between
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.live.replay import LiveReplay
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import SimulateOptions
from colocate.solver.solve import solve

OPTIONS = SimulateOptions(cache="elastic", router="least-requests")
STORED = Path(__file__).parent / "data" / "living_fleets.csv"
SOLVE_SECONDS = 20.0
"""For each plan, at most: these fleets take some tenths of a second to a proof."""
COUNTED = 10.0
"""Seconds of the intervals in which arrivals are counted."""
LOOKED_AT = 10.0
"""Seconds between two looks of the policy."""
PROCESSES = 3
"""That measure conditions side by side."""
HOUR = 3600.0
"""Seconds."""
NAIVE = 600.0
"""Seconds between two plans of naive replanning."""


@dataclass(frozen=True)
class Followed:
    """What a controller did with a fleet."""

    in_time: float
    history: tuple[EngineMove, ...]
    reasons: dict[str, int]


def planned(problem: Problem, rates: NDArray[np.float64], objective: str) -> Places:
    """Return the plan for some rates."""
    names = [model.name for model in problem.models]
    floor = np.maximum(rates, 1e-3)
    asked = with_rates(problem, dict(zip(names, floor.tolist(), strict=True)))
    before = stated_rates(problem).tolist()
    scaled = tuple(
        model.changed(load=tuple(load * rate / old for load in model.load))
        for model, rate, old in zip(asked.models, floor.tolist(), before, strict=True)
    )
    plan = solve(
        replace(asked, models=scaled, objective=objective), time_limit=SOLVE_SECONDS, workers=1
    )
    assert plan.placement, plan.reason
    return {name: tuple(plan.placement[name]) for name in names}


def stated_rates(problem: Problem) -> NDArray[np.float64]:
    """Return the rates that a fleet file states."""
    return np.array([model.requests.rate for model in problem.models if model.requests])


def window_rates(
    problem: Problem, stream: RequestStream, begin: float, end: float
) -> NDArray[np.float64]:
    """Return the rates of models between two moments."""
    rows = (stream.arrival >= begin) & (stream.arrival < end)
    return np.bincount(stream.model[rows], minlength=len(problem.models)) / (end - begin)


def candidates(problem: Problem, stream: RequestStream) -> dict[str, Places]:
    """Return static plans in hindsight, by name."""
    end = stream.seconds
    tens = [window_rates(problem, stream, t, t + 600.0) for t in np.arange(0.0, end, 600.0)]
    halves = [window_rates(problem, stream, end * n / 2, end * (n + 1) / 2) for n in range(2)]
    rates = {"mean": window_rates(problem, stream, 0.0, end), "peaks": np.max(tens, axis=0)}
    rates |= {f"half {n + 1}": each for n, each in enumerate(halves)}
    return {
        f"{objective}, {name}": planned(problem, each, objective)
        for name, each in rates.items()
        for objective in ("latency", "pressure")
    }


def in_time(problem: Problem, places: Places, stream: RequestStream) -> float:
    """Return the requests that a static plan serves in time."""
    found = simulate_lives(problem, settled_lives(problem, places), [stream], OPTIONS)
    return sum(model.attainment * model.judged for model in found.models)


class Choice(NamedTuple):
    """What a controller wants: where to go and how, or to stay."""

    reason: str
    places: Places | None = None
    steps: SafeSteps | None = None


class Known(NamedTuple):
    """What a controller knows of a fleet that it looks at."""

    serving: Places
    seen: NDArray[np.int64]
    """Requests counted so far, a row for each interval and a column for each model."""
    waiting: NDArray[np.int64]
    """Requests in the queues of each model."""
    history: tuple[EngineMove, ...]
    now: float


Choose = Callable[[Known], Choice]


def followed(
    problem: Problem,
    start: Places,
    stream: RequestStream,
    interval: float,
    choose: Choose,
    past: NDArray[np.int64],
) -> Followed:
    """Return what becomes of requests if a controller changes the placement.

    Parameters
    ----------
    problem, start, stream
        The fleet, where its models are at first, and what it is asked.
    interval, choose
        How often a controller looks, and what it does.
    past
        Requests that were counted before.
    """
    replay = LiveReplay(problem, settled_lives(problem, start), [stream], OPTIONS)
    serving, busy_until = start, 0.0
    history: tuple[EngineMove, ...] = ()
    number_of = {(life.model, frozenset(life.gpus)): n for n, life in enumerate(replay.lives)}
    edges = np.arange(0.0, stream.seconds + COUNTED, COUNTED)
    counts = np.stack(
        [
            np.histogram(stream.arrival[stream.model == m], edges)[0]
            for m in range(len(problem.models))
        ],
        axis=1,
    )
    reasons: dict[str, int] = {}
    for now in np.arange(interval, stream.seconds, interval):
        replay.run(float(now))
        if now < busy_until:
            continue
        seen = np.concatenate((past, counts[: int(now / COUNTED)]))
        chosen = choose(Known(serving, seen, replay.counts().waiting, history, float(now)))
        reasons[chosen.reason] = reasons.get(chosen.reason, 0) + 1
        places, steps = chosen.places, chosen.steps
        if places is None or steps is None:
            continue
        for life in lives_of(steps, float(now)):
            place = life.model, frozenset(life.gpus)
            if life.begin >= now:
                number_of[place] = replay.add(life)
            elif life.closed < np.inf:
                replay.end(number_of[place], life.closed, life.gone)
        history = (*history, *moves_between(problem, serving, places, float(now)))
        serving, busy_until = places, float(now) + steps.seconds
    replay.run(stream.seconds)
    found = replay.outcome(True)
    return Followed(sum(m.attainment * m.judged for m in found.models), history, reasons)


def by_policy(problem: Problem, settings: PolicySettings) -> Choose:
    """Return a controller that follows the policy."""
    names, last = [model.name for model in problem.models], SearchRecord()

    def choose(known: Known) -> Choice:
        rates = estimated_rates(names, known.seen, COUNTED, settings, known.waiting.tolist())
        about = tuple(sorted(known.serving.items()))
        found = last.still_holds(about, rates, known.now, settings)
        if found is None:
            found = decide(problem, known.serving, rates, known.history, known.now, settings)
            last.remember(found, about, known.now)
        if found.stay:
            return Choice(found.reason.value)
        return Choice(found.reason.value, found.placement, found.steps)

    return choose


def naively(problem: Problem) -> Choose:
    """Return a controller that always goes to the plan for the last minutes."""

    def choose(known: Known) -> Choice:
        rates = known.seen[-int(NAIVE / COUNTED) :].mean(axis=0) / COUNTED
        new = planned(problem, rates, "latency")
        if engines_at(problem, new).keys() == engines_at(problem, known.serving).keys():
            return Choice("same")
        change = change_between((problem, known.serving), (problem, new), "elastic")
        return Choice("goes", new, safe_steps(change, PolicySettings().times))

    return choose


Row = dict[str, str | float | int]


def measured(condition: Condition) -> Row:
    """Return what a condition shows, as a row of the stored table."""
    began = time.process_time()
    problem = condition.problem
    pieces = list(condition.demand.pieces(problem, condition.seconds, condition.seed))
    stream = joined(pieces, condition.seconds)
    total = len(stream)
    start = planned(problem, stated_rates(problem), "latency")
    plans = {"fleet file": start, **candidates(problem, stream)}
    static = {name: in_time(problem, each, stream) for name, each in plans.items()}
    best = max(static, key=lambda name: static[name])
    past = past_counts(condition, problem, COUNTED)
    policy = followed(problem, start, stream, LOOKED_AT, by_policy(problem, PolicySettings()), past)
    naive = followed(problem, start, stream, NAIVE, naively(problem), past)
    row: Row = {
        "condition": condition.name,
        "seed": condition.seed,
        "hours": condition.seconds / HOUR,
        "fleet": condition.fleet,
        "level": condition.level,
        "requests": total,
        "best_static": best,
        "static": round(static[best] / total, 4),
        "file": round(static["fleet file"] / total, 4),
        "policy": round(policy.in_time / total, 4),
        "naive": round(naive.in_time / total, 4),
        "over_static": round(policy.in_time / static[best], 4),
        "loads": sum(move.arrived for move in policy.history),
        "undone": len(undone_moves(policy.history, UNDONE_WITHIN)),
        "naive_loads": sum(move.arrived for move in naive.history),
        "naive_undone": len(undone_moves(naive.history, UNDONE_WITHIN + 1.0)),
        "seconds": round(time.process_time() - began, 1),
    }
    print(json.dumps({**row, "reasons": policy.reasons}), flush=True)
    return row


def joined(pieces: Sequence[RequestStream], seconds: float) -> RequestStream:
    """Return one stream of all pieces."""
    return RequestStream(
        np.concatenate([piece.arrival for piece in pieces]),
        np.concatenate([piece.model for piece in pieces]),
        np.concatenate([piece.prompt for piece in pieces]),
        np.concatenate([piece.output for piece in pieces]),
        seconds,
    )


def kept(rows: Sequence[Row]) -> None:
    """Write rows in place of those that are known of the same requests."""
    with STORED.open(encoding="utf-8", newline="") as file:
        known = {_about(row): row for row in csv.DictReader(file)}
    for row in rows:
        told = {name: str(value) for name, value in row.items()}
        known[_about(told)] = told
    with STORED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(known.values())


def _about(row: dict[str, str]) -> tuple[str, str, str]:
    return row["condition"], row["seed"], row["hours"]


def main() -> None:
    """Measure what is asked for, print it, and keep it if that is asked for too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="conditions (default: all)")
    parser.add_argument("--seed", type=int, help="of other requests")
    parser.add_argument("--hours", type=float, default=SECONDS / HOUR)
    parser.add_argument("--store", action="store_true", help="keep the results in benchmarks/data")
    options = parser.parse_args()
    chosen = [
        replace(each, seed=options.seed or each.seed, seconds=options.hours * HOUR)
        for each in conditions()
        if not options.names or each.name in options.names
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        rows = list(pool.map(measured, chosen))
    if options.store:
        kept(rows)


if __name__ == "__main__":
    main()
