"""The law of sharing a GPU against every measurement at hand.

    python -m benchmarks.latency_law                       all tables
    python -m benchmarks.latency_law --worst               with the worst misses
    python -m benchmarks.latency_law PLAN.json OUT.csv     predict the groups of a plan of readings

No constant of the law comes from engines that serve requests. Lone step times come from the same
GPU and the same harness as the group that is predicted.
"""

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from benchmarks.gpu.record import OUTPUT, PROMPT
from benchmarks.gpu.shapes import SHAPES

from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.huggingface import ConfigLookup
from colocate.latency.law import (
    ENGINE_COLUMNS,
    LAYERS,
    WORK,
    seen_turn,
    turn_of,
    turns,
    work_and_turns,
)
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.instance import Floats
from colocate.problem.sharing import COSTS

DATA = Path(__file__).parent / "gpu" / "data"
CONTEXT = 640
"""Tokens that a decode step of the harness looks back on, for each request."""
SLOTS = 64
"""Requests that an engine of the harness takes at once."""
CLEAR = 0.15
"""A target is clear where the measured value is this share off it, or more."""
TARGETS = (0.5, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0)
"""Targets that every measured TPOT is held against, as multiples of it."""

FLEET = "fleet of four: "
"""Groups of the four models that were measured in every company."""

SETS = (
    ("h200_sharing.csv", "h200_lone_steps.csv"),
    ("2026-11-16_groups.csv", "2026-11-16_lone_steps.csv"),
    (
        *("2026-11-16_second_groups.csv", "2026-11-16_lone_steps.csv"),
        "2026-11-16_second_lone_steps.csv",
    ),
)
"""Files of measured groups, each with those of lone engines on the same GPU by the same harness."""

AGAIN = "2026-11-18_ranking_groups.csv"
"""The fleet of four once more under time slices, 25 seconds instead of 11, with other requests."""
APART = 0.1
"""By how much placements must differ for their order to be asked for: two readings of the same one
differ by as much at most."""

SIDE_BY_SIDE = ("2026-11-16_side_by_side.csv", "2026-11-16_long_side_by_side.csv")
"""Files of steps, prefills and bursts without a pause; the second has prompts up to 16,384."""

PUBLISHED = (
    ("Llama-3.1-8B-Instruct", (13.9, 26.6, 43.7)),
    ("Llama-3.2-3B-Instruct", (11.0, 21.7, 30.0)),
)
"""Median milliseconds between tokens with 1, 2 and 3 models on an A100, as published."""
PUBLISHED_REQUESTS = {"prompt_tokens": 256, "output_tokens": 256}
"""A guess: the source does not state them. At one request a second, all are busy."""
CATALOGUE = ConfigLookup.from_environment(Path(), {}, download=False)
"""Finds shapes of models by their names."""

Row = dict[str, str]
Company = tuple[frozenset[str], str]
"""A group of the fleet of four, and one of its models."""
Pair = tuple[float, float]
"""What was measured, and what was predicted."""


class Compared(NamedTuple):
    """A measured engine of a group, and what the law says of it."""

    row: Row
    prediction: Prediction

    @property
    def tpot_error(self) -> float:
        """The predicted TPOT over the measured one, less 1."""
        return self.prediction.shared.tpot.mean * 1e3 / float(self.row["tpot_ms"]) - 1.0

    @property
    def ttft_error(self) -> float:
        """The same of TTFT."""
        return self.prediction.shared.ttft.mean * 1e3 / float(self.row["ttft_ms"]) - 1.0


def read(name: str) -> list[Row]:
    """Return the rows of a file of measurements."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def steps_of(model: str, prompt: float, lone: Sequence[Row]) -> dict[str, float]:
    """Return the constants of a lone engine, as `colocate calibrate` would.

    Parameters
    ----------
    model
        The name of its shape.
    prompt
        The tokens of its prompts.
    lone
        Step times of lone engines.
    """
    rows = [row for row in lone if row["model"] == model]
    steps = [row for row in rows if row["kind"] == "decode" and int(row["tokens"]) == CONTEXT]
    batches = np.array([[1.0, float(row["batch"])] for row in steps])
    times = np.array([float(row["ms"]) for row in steps])
    (base, more), *_ = np.linalg.lstsq(batches, times, rcond=None)
    prefills = sorted(
        (float(row["tokens"]), float(row["ms"])) for row in rows if row["kind"] == "prefill"
    )
    prefill = float(np.interp(prompt, *zip(*prefills, strict=True)))
    return {
        "base_ms": float(base),
        "per_request_ms": float(more),
        "prefill_ms_per_1k_tokens": prefill / prompt * 1e3,
    }


def fleet_of_group(
    members: Sequence[Mapping[str, Any]], sharing: str, lone: Sequence[Row] | None
) -> Fleet:
    """Return a fleet of one H200 with the engines of a group.

    Parameters
    ----------
    members
        Model, rate, prompt_tokens, output_tokens and slots of each.
    sharing
        How they share the GPU.
    lone
        Step times of lone engines; those of models that are not in it, or of all if it is None, are
        estimated from the catalogue.
    """
    models = []
    for number, member in enumerate(members):
        shape = SHAPES[member["model"]]
        prompt = float(member.get("prompt_tokens", PROMPT))
        model: dict[str, Any] = {
            "name": f"engine-{number}",
            "rate": float(member["rate"]),
            "slo": 1.0,
            "prompt_tokens": prompt,
            "output_tokens": float(member.get("output_tokens", OUTPUT)),
            "size_gb": shape.weight_bytes / 1e9,
            "kv_bytes_per_token": float(4 * shape.layers * shape.kv_heads * shape.head_dim),
            "layers": shape.layers,
            "args": [f"--max-num-seqs={member.get('slots', SLOTS)}"],
        }
        if any(row["model"] == member["model"] for row in lone or ()):
            model["steps"] = steps_of(member["model"], prompt, lone or ())
        models.append(model)
    way = "slices" if sharing == "alone" else sharing
    gpu = {"name": "h200", "kind": "H200-141GB"}
    return fleet_of({"gpus": [gpu], "models": models, "sharing": way})


def predict_group(
    members: Sequence[Mapping[str, Any]], sharing: str, lone: Sequence[Row] | None
) -> tuple[Prediction, ...]:
    """Predict a group; its parameters are those of `fleet_of_group`.

    Parameters
    ----------
    members, sharing, lone
        The group.
    """
    problem = fleet_of_group(members, sharing, lone).problem
    return predict_placement(problem, {model.name: ["h200"] for model in problem.models})


def groups_of(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the rows of each group, which stand side by side."""
    for _, group in groupby(rows, key=lambda row: (row["sharing"], row["group"])):
        members = list(group)
        if members[0]["sharing"] == "alone":
            yield from ([member] for member in members)
        else:
            yield members


def compared(rows: Sequence[Row], lone: Sequence[Row] | None) -> list[Compared]:
    """Return every measured engine with its prediction."""
    found = []
    for group in groups_of(rows):
        predictions = predict_group(group, group[0]["sharing"], lone)
        found += [Compared(*pair) for pair in zip(group, predictions, strict=True)]
    return found


def write_predictions(plan: str, out: str) -> None:
    """Write what the law says of all groups of a plan of readings, before anyone measures them."""
    readings = json.loads(Path(plan).read_text(encoding="utf-8"))["readings"]
    lone = read("2026-11-16_lone_steps.csv")
    with Path(out).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sharing", "group", "member", "model", "tpot_ms", "ttft_ms", "saturated"])
        for sharing in ("slices", "mps"):
            for reading in readings:
                members = reading["members"]
                if sharing not in reading.get("modes", ("slices", "mps")):
                    continue
                way = "alone" if len(members) == 1 else sharing
                for number, found in enumerate(predict_group(members, way, lone)):
                    times = (found.shared.tpot.mean * 1e3, found.shared.ttft.mean * 1e3)
                    told = [way, reading["name"], number, members[number]["model"]]
                    writer.writerow([*told, *map("{:.3f}".format, times), found.shared.saturated])


def right_calls(found: Sequence[Compared]) -> tuple[int, int]:
    """Return how many clear targets were called rightly, and how many there were."""
    right = total = 0
    for each in found:
        measured = float(each.row["tpot_ms"])
        for factor in TARGETS:
            target = measured * factor
            if abs(measured / target - 1.0) >= CLEAR:
                total += 1
                says = each.prediction.shared.tpot.mean * 1e3 <= target
                right += says == (measured <= target)
    return right, total


def fleet_of_four() -> list[Compared]:
    """Return the fleet of four in every company, of both days it was read."""
    name, lone = SETS[1]
    return compared([*read(name), *read(AGAIN)], read(lone))


def company_tpots(found: Sequence[Compared], sharing: str) -> dict[Company, Pair]:
    """Return TPOT of the models of the fleet of four in every company: measured, and predicted.

    Parameters
    ----------
    found
        Measured engines with their predictions; several readings count by their requests.
    sharing
        How engines share a GPU.
    """
    readings: dict[Company, list[Compared]] = {}
    for each in found:
        if each.row["group"].startswith(FLEET) and each.row["sharing"] in ("alone", sharing):
            group = frozenset(each.row["group"].removeprefix(FLEET).split(" + "))
            readings.setdefault((group, each.row["model"]), []).append(each)
    return {
        company: (
            float(
                np.average(
                    [float(each.row["tpot_ms"]) for each in several],
                    weights=[float(each.row["finished"]) for each in several],
                )
            ),
            several[0].prediction.shared.tpot.mean * 1e3,
        )
        for company, several in readings.items()
    }


def mean_slowdowns(tpots: Mapping[Company, Pair]) -> list[Pair]:
    """Return the mean slowdown of all 15 placements of the four models, on one to four GPUs."""
    alone = {model: pair for (group, model), pair in tpots.items() if len(group) == 1}
    slower: dict[frozenset[str], list[Pair]] = {}
    for (group, model), (measured, predicted) in tpots.items():
        ratios = (measured / alone[model][0], predicted / alone[model][1])
        slower.setdefault(group, []).append(ratios)
    return [
        tuple(np.mean([pair for group in placement for pair in slower[group]], axis=0))
        for placement in _partitions(sorted(max(slower, key=len)))
    ]


def rank_correlations(found: Sequence[Compared], sharing: str) -> tuple[list[float], float]:
    """Return how alike predictions and measurements rank the placements of the fleet of four.

    The first are correlations of each model's TPOT over the groups that it may be in. The second is
    that of the mean slowdown over all placements.

    Parameters
    ----------
    found
        Measured engines with their predictions.
    sharing
        How engines share a GPU.
    """
    tpots = company_tpots(found, sharing)
    of_models = [
        rank_correlation([pair for (_, name), pair in tpots.items() if name == model])
        for model in sorted({model for _, model in tpots})
    ]
    return of_models, rank_correlation(mean_slowdowns(tpots))


def in_order(pairs: Sequence[Pair], apart: float) -> tuple[int, int]:
    """Return how many comparisons come out right, and how many there are.

    Parameters
    ----------
    pairs
        Measured and predicted values.
    apart
        By how much two measured ones must differ to be compared.
    """
    right = [two[1] > one[1] for one in pairs for two in pairs if two[0] >= one[0] * (1.0 + apart)]
    return sum(right), len(right)


def _partitions(names: Sequence[str]) -> Iterator[list[frozenset[str]]]:
    """Yield every way to split names into groups."""
    if not names:
        yield []
        return
    first, *others = names
    for rest in _partitions(others):
        yield [frozenset({first}), *rest]
        for number, group in enumerate(rest):
            yield [group | {first}, *rest[:number], *rest[number + 1 :]]


def rank_correlation(pairs: Sequence[Pair]) -> float:
    """Return Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(values)) for values in zip(*pairs, strict=True)]
    return float(np.corrcoef(*ranks)[0, 1])


def side_by_side_errors() -> dict[str, list[float]]:
    """Return the errors of the law's turns on work without a pause, by the way to share."""
    errors: dict[str, list[float]] = {}
    for sharing, members in engines_side_by_side():
        for number, member in enumerate(members):
            others = members[:number] + members[number + 1 :]
            predicted = _beside(member, others, np.array(COSTS[sharing]))
            errors.setdefault(sharing, []).append(predicted / float(member["ms"]) - 1.0)
    return errors


def engines_side_by_side() -> Iterator[tuple[str, list[Row]]]:
    """Yield how engines without a pause share a GPU, and their rows; not those with bursts."""
    rows = [row for file in SIDE_BY_SIDE for row in read(file)]
    for (sharing, _), group in groupby(rows, key=lambda row: (row["sharing"], row["group"])):
        members = list(group)
        if all(member["model"] for member in members):
            yield sharing, members


def _beside(member: Row, others: Sequence[Row], sharing: Floats) -> float:
    """Return the milliseconds of some work beside other work, none of which ever pauses."""
    seconds, layers = _seconds_and_layers(member)
    count = turns(seconds, layers, sharing)
    if member["work"] == "prefill":
        engine = np.zeros((1, ENGINE_COLUMNS))
        engine[0, WORK], engine[0, LAYERS] = seconds, layers
        _, count = work_and_turns(engine, 0, sharing)
    lengths = (turn_of(*_seconds_and_layers(other), sharing) for other in others)
    delay = sum(seen_turn(length, seconds / count, sharing) for length in lengths)
    return (seconds + count * delay) * 1e3


def _seconds_and_layers(row: Row) -> tuple[float, float]:
    return float(row["alone_ms"]) / 1e3, float(SHAPES[row["model"]].layers)


def published_figures() -> None:
    """Print the law beside what others measured: inter-token latency with 1, 2 and 3 residents.

    The reproduction of Prism's placement by meojun (GitHub, two A100-80GB) states medians in
    milliseconds, not the rates. All residents are taken to be busy, so only the growth counts.
    """
    for name, measured in PUBLISHED:
        models = [
            {"name": f"m{n}", "config": name, "rate": 1.0, "slo": 1.0, **PUBLISHED_REQUESTS}
            for n in range(len(measured))
        ]
        told = []
        for residents in range(1, len(measured) + 1):
            gpu = {"name": "a100", "kind": "A100-80GB"}
            problem = fleet_of({"gpus": [gpu], "models": models[:residents]}, CATALOGUE).problem
            placement = {model.name: ["a100"] for model in problem.models}
            told.append(predict_placement(problem, placement)[0].shared.tpot.mean * 1e3)
        grown = zip(measured[1:], told[1:], strict=True)
        slower = ", ".join(f"{m / measured[0]:.2f} / {p / told[0]:.2f}" for m, p in grown)
        title = f"published, {name}"
        print(
            f"{title:34} slices  alone {measured[0]} ms, predicted {told[0]:.1f}; "
            f"2 and 3 residents, times slower, measured / predicted: {slower}"
        )


def summary(title: str, found: Sequence[Compared]) -> None:
    """Print the errors of a set of measured engines, by the way to share."""
    for sharing in ("alone", "slices", "mps"):
        mine = [each for each in found if each.row["sharing"] == sharing]
        below = [each for each in mine if not each.prediction.shared.saturated]
        if below:
            tpot = [abs(each.tpot_error) for each in below]
            ttft = [abs(each.ttft_error) for each in below]
            right, total = right_calls(below)
            print(
                f"{title:34} {sharing:7} {len(below):3} of {len(mine):3} below saturation: "
                f"TPOT median {median(tpot):5.1%} worst {max(tpot):5.1%}, "
                f"TTFT median {median(ttft):5.1%}, targets called {right}/{total}"
            )


def show_ranks() -> None:
    """Print how well the law ranks placements of the fleet of four."""
    found = fleet_of_four()
    for sharing in ("slices", "mps"):
        of_models, of_placements = rank_correlations(found, sharing)
        right, all_pairs = in_order(mean_slowdowns(company_tpots(found, sharing)), APART)
        print(
            f"{'rank correlation, fleet of four':34} {sharing:7} TPOT of each model over its "
            f"groups {', '.join(f'{c:.2f}' for c in of_models)}; mean slowdown over placements "
            f"{of_placements:.2f}; {right} of {all_pairs} pairs that differ by {APART:.0%} in order"
        )


def main(arguments: Sequence[str]) -> None:
    if len(arguments) == 2:
        write_predictions(*arguments)
        return
    for sharing, errors in side_by_side_errors().items():
        sizes = [abs(error) for error in errors]
        print(
            f"{'side by side, without a pause':34} {sharing:7} {len(sizes):3} engines: "
            f"median {median(sizes):5.1%} worst {max(sizes):5.1%}"
        )
    published_figures()
    show_ranks()
    for name, *lone in SETS:
        rows = read(name)
        found = compared(rows, [row for file in lone for row in read(file)])
        summary(f"{name[:-4]}, measured", found)
        summary(f"{name[:-4]}, estimated", compared(rows, None))
        if "--worst" in arguments:
            for each in sorted(found, key=lambda each: -abs(each.tpot_error))[:12]:
                row = each.row
                print(
                    f"    {row['sharing']:7} {row['group']:40} {row['model']:14} "
                    f"TPOT {float(row['tpot_ms']):6.2f} ms, predicted {each.tpot_error:+.1%}, "
                    f"TTFT {each.ttft_error:+.1%}"
                )


if __name__ == "__main__":
    main(sys.argv[1:])
