"""The simulator against runs that others published: one model alone, under a stated load.

    python -m benchmarks.published_runs            every run, and the medians
    python -m benchmarks.published_runs --steps    also the step at batch 1 that each source implies
    python -m benchmarks.published_runs --prefill  also a sweep whose prefill is published too

`data/published_runs.csv` has the runs, each with its address. Every run is simulated twice:

- estimated: all constants of the engine come from the catalogue of models and GPUs;
- calibrated: the step and the prefill are those that make the run of the same engine with the
  least load come out as published. That run itself then says nothing, and is not counted.

What the sources leave open is assumed: conversations of ShareGPT have lengths with an exponential
distribution of the stated mean, and clients with one request at a time never wait.

Runs are left out where the simulator has no such engine or the prompts were not read: vLLM with
several steps for each turn of its scheduler, sweeps that send the same prompts again to an engine
that keeps prefixes, and the first rate of `h200-phase-0`, which its author calls a cold start. Of
`iog-foundation`, a sweep of that kind, there are the rate that came first (32) and the lowest, at
which prompts are 2% of the time; its TTFT does not count. One source has seven rates that hardly
differ, so the medians over engines say more than those over runs.

Runs of the second and the third set were written down before any of them was simulated.
"""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, cast

import numpy as np

from colocate.inputs.fleet import fleet_of
from colocate.inputs.huggingface import ConfigLookup
from colocate.problem.problem import Problem
from colocate.problem.requests import EngineSpeed
from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.options import Prefill, SimulateOptions
from colocate.simulate.run import simulate_placement

DATA = Path(__file__).parent / "data" / "published_runs.csv"
CATALOGUE = ConfigLookup.from_environment(Path(), {}, download=False)
"""Finds shapes of models by their names."""
SEEDS = 5
"""Simulations of every run."""
ROUNDS = 6
"""Times that constants are corrected until a run comes out as published: it is then within 1%."""
DRAIN = 600.0
"""Seconds after the last request, in which all are answered."""
LENGTHS = {"fixed": LengthDistribution("fixed"), "varied": LengthDistribution("exponential")}
MORE_LOAD = 2.0
"""Times the rate of the run with the least load: further runs test more than the constants."""
KNOWN_PREFILL = "pegainfer", 97.8e-3 - 52.5e-3
"""A source that also states the first token of lone prompts: 52.5 ms for 1,024 tokens, 97.8 ms for
2,048 (the same page, a later run at 9fecb639). The difference has no front end in it."""
SLOWED = 1.25
"""Times the TPOT of that run: where it is felt that an engine is near what it can do."""
FIGURES = ("tpot_ms", "ttft_ms")
"""What is compared."""

Row = dict[str, str]
Found = Mapping[str, float]


class Compared(NamedTuple):
    """A published run, and what was simulated of it."""

    row: Row
    estimated: Found
    calibrated: Found | None

    def error(self, figure: str, calibrated: bool = False) -> float | None:
        """Return the simulated figure over the published one, less 1; None if there is none."""
        found, published = self.calibrated if calibrated else self.estimated, self.row[figure]
        return None if found is None or not published else found[figure] / float(published) - 1.0


def read() -> list[Row]:
    """Return the published runs."""
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def problem_of(row: Row, speed: EngineSpeed | None = None) -> Problem:
    """Return a problem of one model on the GPUs of a run.

    Parameters
    ----------
    row
        The run.
    speed
        How fast the engine is; estimated if None.
    """
    prompt = float(row["prompt_tokens"])
    model: dict[str, Any] = {
        "name": "m",
        "config": row["model"],
        "rate": float(row["rate"]),
        "slo": 1.0,
        "prompt_tokens": prompt,
        "output_tokens": float(row["output_tokens"]),
        "shards": int(row["shards"]),
    }
    if row["kv_dtype"]:
        model["kv_dtype"] = row["kv_dtype"]
    if speed is not None:
        work = min(speed.prefill_work, speed.prefill)
        model["steps"] = {
            "base_ms": speed.step * 1e3,
            "per_request_ms": speed.step_per_request * 1e3,
            "prefill_base_ms": (speed.prefill - work) * 1e3,
            "prefill_ms_per_1k_tokens": work * 1e6 / prompt,
        }
    gpus = [
        {"name": f"g{n}", "kind": row["gpu"], "node": "node"} for n in range(int(row["shards"]))
    ]
    return fleet_of({"gpus": gpus, "models": [model]}, CATALOGUE).problem


def speed_of(row: Row) -> EngineSpeed:
    """Return how fast the engine of a run is by the catalogue."""
    requests = problem_of(row).models[0].requests
    assert requests is not None
    return requests.engines[0][1]


def requests_of(row: Row, seed: int) -> RequestStream:
    """Return requests as the client of a run sent them.

    Parameters
    ----------
    row
        The run.
    seed
        Decides on arrivals and lengths.
    """
    rng, count, rate = np.random.default_rng(seed), int(row["requests"]), float(row["rate"])
    if row["arrivals"] == "poisson":
        arrival = np.cumsum(rng.standard_exponential(count)) / rate
    else:
        arrival = np.arange(count) / rate
    drawn = LENGTHS[row["lengths"]]
    prompt = drawn.draw(rng, float(row["prompt_tokens"]), count)
    output = drawn.draw(rng, float(row["output_tokens"]), count)
    nobody_else = np.zeros(count, dtype=np.int32)
    return RequestStream(arrival, nobody_else, prompt, output, float(arrival[-1]) + DRAIN)


def simulated(
    row: Row,
    speed: EngineSpeed | None = None,
    seeds: int = SEEDS,
    problem: Problem | None = None,
) -> Found:
    """Return the figures of a run in milliseconds, as means over some seeds.

    Parameters
    ----------
    row
        The run.
    speed
        How fast the engine is; estimated if None.
    seeds
        Simulations.
    problem
        The model on its GPUs, made of the run and the speed if None.
    """
    problem = problem or problem_of(row, speed)
    placement = {"m": [gpu.name for gpu in problem.gpus]}
    prefill = cast(Prefill, row["prefill"])
    options = SimulateOptions(prefill=prefill, token_budget=int(row["token_budget"]))
    found: dict[str, list[float]] = {figure: [] for figure in FIGURES}
    for seed in range(seeds):
        stream = requests_of(row, seed)
        outcome = simulate_placement(problem, placement, [stream], options).models[0]
        for figure, spread in zip(FIGURES, (outcome.tpot, outcome.ttft), strict=True):
            value = spread.mean if row["statistic"] == "mean" else spread.p50
            found[figure].append(value * 1e3)
    return {figure: mean(values) for figure, values in found.items()}


def calibrated_speed(row: Row, seeds: int = SEEDS) -> EngineSpeed:
    """Return constants that make a run come out as published.

    Both are shifted and not scaled: what the estimate lacks is the same for every step or prompt.

    Parameters
    ----------
    row
        The run.
    seeds
        Simulations each time that they are corrected.
    """
    speed = speed_of(row)
    for _ in range(ROUNDS):
        found = simulated(row, speed, seeds)
        tpot, ttft = (float(row[figure] or found[figure]) - found[figure] for figure in FIGURES)
        prefill = max(speed.prefill + ttft / 1e3, speed.prefill / 2)
        speed = EngineSpeed(
            max(speed.step + tpot / 1e3, speed.step / 2),
            speed.step_per_request,
            prefill,
            min(speed.prefill_work, prefill),
            speed.layers,
        )
    return speed


def engine_of(row: Row) -> tuple[str, ...]:
    """Return what runs of the same engine have in common."""
    return tuple(row[field] for field in ("source", "engine", "model", "gpu", "shards"))


def compared(rows: Sequence[Row], seeds: int = SEEDS) -> Iterator[Compared]:
    """Yield every run with what was simulated of it; those of an engine stand side by side.

    Parameters
    ----------
    rows
        The runs.
    seeds
        Simulations of each.
    """
    for _, group in groupby(rows, key=engine_of):
        first, *others = group
        yield Compared(first, simulated(first, None, seeds), None)
        if not others:
            continue
        least, mine = calibrated_speed(first, seeds), speed_of(first)
        for row in others:
            speed = shifted(speed_of(row), mine, least)
            yield Compared(row, simulated(row, None, seeds), simulated(row, speed, seeds))


def shifted(speed: EngineSpeed, estimated: EngineSpeed, calibrated: EngineSpeed) -> EngineSpeed:
    """Return the constants of another run of the same engine, corrected as those of the first.

    Parameters
    ----------
    speed
        What is estimated for the other run.
    estimated, calibrated
        The constants of the first run.
    """
    step = speed.step + calibrated.step - estimated.step
    prefill = max(speed.prefill + calibrated.prefill - estimated.prefill, speed.prefill / 2)
    work = min(speed.prefill_work, prefill)
    return EngineSpeed(step, speed.step_per_request, prefill, work, speed.layers)


def loaded(found: Sequence[Compared]) -> tuple[list[Compared], list[Compared]]:
    """Return the runs with at least twice the least load of their engine, and those it slowed."""
    more, slowed = [], []
    for _, group in groupby(found, key=lambda each: engine_of(each.row)):
        first, *others = group
        for each in others:
            rates, steps = (
                float(each.row[field]) / float(first.row[field]) for field in ("rate", "tpot_ms")
            )
            more += [each] if rates >= MORE_LOAD else []
            slowed += [each] if steps >= SLOWED else []
    return more, slowed


def told(error: float | None) -> str:
    """Return an error as text."""
    return "      -" if error is None else f"{error:+7.1%}"


def show(each: Compared) -> None:
    """Print a run."""
    row = each.row
    name = f"{row['source']}: {row['model'].rpartition('/')[2]}"
    where = f"{row['shards']} x {row['gpu']}"
    load = "alone" if row["arrivals"] == "one" else f"{row['rate']}/s"
    figures = [
        f"{row[figure]:>7} {each.estimated[figure]:7.2f} {told(each.error(figure))} "
        f"{told(each.error(figure, True))}"
        for figure in FIGURES
    ]
    print(f"{name:52.52} {where:13} {load:>6} | " + " | ".join(figures))


def summary(title: str, found: Sequence[Compared]) -> None:
    """Print median and worst errors of some runs."""
    for calibrated in (False, True):
        texts = []
        for figure in FIGURES:
            errors = [e for each in found if (e := each.error(figure, calibrated)) is not None]
            if errors:
                sizes = [abs(error) for error in errors]
                texts.append(
                    f"{figure[:-3]} median {median(sizes):6.1%} worst {max(sizes):6.1%} "
                    f"bias {median(errors):+6.1%} ({len(errors)} runs)"
                )
        if texts:
            print(f"{title:18} {'calibrated' if calibrated else 'estimated':10} {'; '.join(texts)}")


def over_engines(found: Sequence[Compared], figure: str, calibrated: bool) -> list[float]:
    """Return the median error of every engine, without sign.

    Parameters
    ----------
    found
        The runs; those of an engine stand side by side.
    figure
        What is compared.
    calibrated
        Whether with calibrated constants.
    """
    medians = []
    for _, group in groupby(found, key=lambda each: engine_of(each.row)):
        errors = [e for each in group if (e := each.error(figure, calibrated)) is not None]
        if errors:
            medians.append(median(map(abs, errors)))
    return medians


def show_steps(rows: Sequence[Row]) -> None:
    """Print what each engine's step takes by the catalogue, and by its run with the least load."""
    for _, group in groupby(rows, key=engine_of):
        row = next(group)
        estimated, found = speed_of(row), calibrated_speed(row)
        more = (found.step - estimated.step) * 1e3
        print(
            f"{row['source']:18} {row['model'].rpartition('/')[2]:32} {row['shards']} x "
            f"{row['gpu']:10} step {estimated.step * 1e3:6.2f} + {more:+6.2f} ms "
            f"({more / estimated.layers * 1e3:+5.0f} us a layer), prefill of "
            f"{row['prompt_tokens']:>4} tokens {estimated.prefill * 1e3:6.1f} "
            f"+ {(found.prefill - estimated.prefill) * 1e3:+6.1f} ms"
        )


def known_prefill(rows: Sequence[Row]) -> None:
    """Print a sweep with the published prefill in the engine, and its front end outside of it."""
    source, prefill = KNOWN_PREFILL
    mine = [row for row in rows if row["source"] == source]
    step = calibrated_speed(mine[0]).step
    for row in mine:
        speed = replace(speed_of(row), step=step, prefill=prefill, prefill_work=prefill)
        found = simulated(row, speed)
        error = found["tpot_ms"] / float(row["tpot_ms"]) - 1.0
        print(
            f"{source} {row['rate']}/s, prefill {prefill * 1e3:.1f}: TPOT {found['tpot_ms']:.2f} "
            f"({error:+.1%}), TTFT {float(row['ttft_ms']) - found['ttft_ms']:.1f} ms too short"
        )


def kind_of_engine(row: Row) -> str:
    """Return what makes an engine hard to estimate: experts, an AMD card, shards, or nothing."""
    size = CATALOGUE.find(row["model"]).size(None, row["kv_dtype"] or None)
    if size.active_parameters < size.parameters:
        return "experts"
    if row["gpu"].startswith("MI"):
        return "AMD"
    return "one GPU" if row["shards"] == "1" else "shards"


def show_set(name: str, found: Sequence[Compared]) -> None:
    """Print the errors of all runs of a set."""
    print(f"{name} set")
    more, slowed = loaded(found)
    for title, runs in (("all runs", found), ("twice the load", more), ("slowed by load", slowed)):
        summary(title, runs)
    for calibrated in (False, True):
        texts = [
            f"{figure[:-3]} median {median(errors):6.1%} ({len(errors)} engines)"
            for figure in FIGURES
            if (errors := over_engines(found, figure, calibrated))
        ]
        kind = "calibrated" if calibrated else "estimated"
        print(f"{'medians of engines':18} {kind:10} {'; '.join(texts)}")
    for kind in dict.fromkeys(kind_of_engine(each.row) for each in found):
        summary(kind, [each for each in found if kind_of_engine(each.row) == kind])
    for source, group in groupby(found, key=lambda each: each.row["source"]):
        summary(source, list(group))


def main(arguments: Sequence[str]) -> None:
    rows = read()
    columns = " | ".join(f"{figure[:-3] + ':':8}publ. simul.  estim.  calib." for figure in FIGURES)
    print(f"{'':73} | {columns}")
    found = []
    for each in compared(rows):
        show(each)
        found.append(each)
    for name, group in groupby(found, key=lambda each: each.row["set"]):
        show_set(name, list(group))
    if "--steps" in arguments:
        show_steps(rows)
    if "--prefill" in arguments:
        known_prefill(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
