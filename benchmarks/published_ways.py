"""Ways to estimate lone engines better, each judged on engines that it was not fitted to.

    python -m benchmarks.published_ways

Every way changes constants of the estimate, or what it counts. Its constants are those of its grid
that suit nine engines of the first set of published runs best; the tenth judges them. Those that
suit all ten are then judged by the second set. Ways with one entry in their grid have no constant
that published runs decide on. The last column has our own lone steps on H200 (`gpu/data`).
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from benchmarks.published_runs import (
    CATALOGUE,
    Row,
    engine_of,
    problem_of,
    read,
    simulated,
    speed_of,
)

from colocate.inputs.accelerator import Accelerator
from colocate.inputs.compute import OF_8_BIT
from colocate.inputs.engine_speed import (
    EXPOSED,
    OF_BANDWIDTH,
    OF_PRODUCTS,
    OPERATIONS_OF_LAYER,
    PREFILL_OF_LAYER,
    STEP_OF_LAYER,
    reached_operations,
)
from colocate.inputs.gpu_catalogue import find_accelerator
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.huggingface.sizing import ModelSize
from colocate.inputs.model_shape import MATRICES_OF_LAYER
from colocate.problem.requests import EngineSpeed

SEEDS = 2
OF_SHEET = 0.6
"""What prefills reached of a data sheet in 16 bits before products were measured."""
GEFORCE = ("RTX-3090", "RTX-4090", "RTX-5090")
OF_LAYER_AND_REQUEST = 0.25e-6
"""Seconds for each request and layer of a step, beyond reading keys and values: with 0.8 of the
bandwidth and 44 microseconds a layer, 0.2 to 0.3 fit the lone steps on H200 best."""
WIDE = 16
"""Bits of weights that are calculated with as they are."""
H200 = Path(__file__).parent / "gpu" / "data"


Errors = list[list[float]]
"""Of every engine those of its runs."""


class Way(NamedTuple):
    """What an estimate counts, and its constants; by default those of the first catalogue."""

    tables: bool = False
    """Whether tables that are only looked up in are left out: a step reads one row of a table of
    inputs, and the head is applied to the last token of a prompt."""
    measured: bool = False
    """Whether prefills take a share of measured products, and not of the data sheet."""
    of_products: float = 0.7
    """That share: with 0.7, 7B to 14B on H200 are right without what layers add."""
    layers: bool = False
    """Whether prompts cost what layers add to their products, and attention."""
    geforce: float = OF_SHEET
    bandwidth: float = 0.8
    layer: float = 44e-6
    vllm_layer: float = 0.0
    step: float = 0.0
    request: float = 0.0
    layer_and_request: float = 0.0
    exposed: float = 0.0
    """The share of a token's operations that is not hidden behind reading weights."""


USUAL = Way()._asdict()
FACTS = Way(tables=True, measured=True)
STEPS = FACTS._replace(bandwidth=OF_BANDWIDTH, layer=STEP_OF_LAYER, exposed=EXPOSED)
TODAY = STEPS._replace(of_products=OF_PRODUCTS, layers=True)
"""What the catalogue estimates by."""
WAYS: Mapping[str, Sequence[Way]] = {
    "as it was": [Way()],
    "a: prefills of GeForce cards": [Way(geforce=of) for of in (0.6, 0.7, 0.8, 0.9, 1.0)],
    "a: bandwidth": [Way(bandwidth=of) for of in (0.75, 0.8, 0.85, 0.9)],
    "b: host time a layer": [Way(layer=us * 1e-6) for us in (14, 29, 44, 59)],
    "b: the same, of vLLM": [Way(vllm_layer=us * 1e-6) for us in (-30, -15, 0, 15)],
    "b: host time a step": [Way(step=ms / 1e3) for ms in (0.0, 0.3, 0.6, 0.9)],
    "c: time a request": [Way(request=us * 1e-6) for us in (0, 10, 20, 40, 80)],
    "d: tables left out": [Way(tables=True)],
    "e: d + measured products": [FACTS],
    "f: e + H200, by layer": [FACTS._replace(layer_and_request=OF_LAYER_AND_REQUEST)],
    "g: e + H200, by operations": [STEPS],
    "h: e + bandwidth": [FACTS._replace(bandwidth=of) for of in (0.8, 0.825, 0.85, 0.875, 0.9)],
    "i: e + bandwidth, operations": [
        FACTS._replace(bandwidth=of, exposed=share)
        for of in (0.8, 0.85, 0.9)
        for share in (0.0, 0.25, 0.5, 0.75)
    ],
    "j: g + layers of prompts": [TODAY],
}


def operations_by(way: Way, gpu: Accelerator, bits: int) -> float:
    """Return the operations a second of a prefill."""
    in_16_bit = (way.geforce if gpu.kind in GEFORCE else OF_SHEET) * gpu.tflops_16bit
    if way.measured:
        in_16_bit = way.of_products / OF_PRODUCTS * reached_operations(gpu, WIDE) / 1e12
    in_8_bit = OF_8_BIT * (gpu.tflops_8bit or 0.0) if bits == 8 else 0.0
    return max(in_16_bit, in_8_bit) * 1e12


def prompt_operations(way: Way, size: ModelSize, prompt: float) -> float:
    """Return the operations of each token of a prompt.

    Parameters
    ----------
    way
        What it counts.
    size
        The model.
    prompt
        Tokens of the prompt.
    """
    parameters = size.prompt_parameters if way.tables else size.active_parameters
    width = sqrt(size.prompt_parameters / (MATRICES_OF_LAYER * size.layers))
    beside = size.layers * (OPERATIONS_OF_LAYER + 2.0 * prompt * width)
    return 2.0 * parameters + (beside if way.layers else 0.0)


def speed_by(way: Way, row: Row) -> EngineSpeed:
    """Return how fast the engine of a run is by a way: what differs from the catalogue's."""
    base, gpu = speed_of(row), find_accelerator(row["gpu"])
    size = CATALOGUE.find(row["model"]).size(None, row["kv_dtype"] or None)
    bits, prompt = bits_of(size.dtype), float(row["prompt_tokens"])
    slower = operations_by(TODAY, gpu, bits) / operations_by(way, gpu, bits)
    more, usual = (prompt_operations(each, size, prompt) for each in (way, TODAY))
    work = base.prefill_work * slower * more / usual
    # A token of an answer is multiplied by parameters alone.
    token, usual_token = (
        each * base.prefill_work / (usual * prompt)
        for each in (2.0 * size.prompt_parameters * slower, 2.0 * size.prompt_parameters)
    )
    read = (base.step - base.layers * STEP_OF_LAYER) * OF_BANDWIDTH / way.bandwidth
    if not way.tables:
        read *= size.weight_bytes / (size.weight_bytes - size.unread_bytes)
    kept = (base.step_per_request - EXPOSED * usual_token) * OF_BANDWIDTH
    vllm = way.vllm_layer if row["engine"].startswith("vLLM") else 0.0
    return EngineSpeed(
        max(read + base.layers * (way.layer + vllm) + way.step, base.step / 2),
        kept / way.bandwidth
        + way.request
        + base.layers * way.layer_and_request
        + way.exposed * token,
        max(work, base.layers * PREFILL_OF_LAYER),
        work,
        base.layers,
    )


def errors_by(way: Way, rows: Sequence[Row]) -> Errors:
    """Return the errors of TPOT without sign, engine by engine."""
    return [[_error(way, row) for row in group] for _, group in groupby(rows, engine_of)]


def _error(way: Way, row: Row) -> float:
    problem, speed = problem_of(row), speed_by(way, row)
    model = problem.models[0]
    assert model.requests is not None
    engines = tuple((kind, speed) for kind, _ in model.requests.engines)
    model = replace(model, requests=replace(model.requests, engines=engines))
    found = simulated(row, None, SEEDS, replace(problem, models=(model,)))
    return abs(found["tpot_ms"] / float(row["tpot_ms"]) - 1.0)


def h200_errors(way: Way) -> Iterator[float]:
    """Yield the errors of all lone steps that were measured on H200, without sign."""
    for file in sorted(H200.glob("*lone_steps.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            for line in csv.DictReader(lines):
                if line["kind"] == "decode":
                    speed = speed_by(way, _lone(line["model"], line["tokens"]))
                    found = speed.step + int(line["batch"]) * speed.step_per_request
                    yield abs(found * 1e3 / float(line["ms"]) - 1.0)


def _lone(model: str, tokens: str) -> Row:
    """Return a run whose steps look back on so many tokens."""
    engine = {"engine": "harness", "kv_dtype": "", "gpu": "H200", "shards": "1", "rate": "0.001"}
    return {**engine, "model": model, "prompt_tokens": tokens, "output_tokens": "2"}


def best_without(found: Sequence[Errors], engine: int | None) -> int:
    """Return which of some ways suits all engines but one best.

    Parameters
    ----------
    found
        The errors of every way, engine by engine.
    engine
        The one that does not count; None if all count.
    """

    def size(number: int) -> float:
        return mean(median(errors) for n, errors in enumerate(found[number]) if n != engine)

    return min(range(len(found)), key=size)


def judged(grid: Sequence[Way], first: Sequence[Row], second: Sequence[Row]) -> str:
    """Return the errors of a way as text.

    Parameters
    ----------
    grid
        The way with different constants.
    first, second
        Runs that decide on them, and fresh ones.
    """
    found = [errors_by(way, first) for way in grid]
    left_out = [found[best_without(found, n)][n] for n in range(len(found[0]))]
    way = grid[best_without(found, None)]
    chosen = [f"{name} {value:g}" for name, value in way._asdict().items() if value != USUAL[name]]
    return (
        f"{_medians(left_out)} | {_medians(errors_by(way, second))} | "
        f"{median(h200_errors(way)):6.1%} | {', '.join(chosen) if len(grid) > 1 else '-'}"
    )


def _medians(engines: Sequence[Sequence[float]]) -> str:
    runs = [error for errors in engines for error in errors]
    return f"{median(runs):6.1%} {median(map(median, engines)):8.1%}"


def main() -> None:
    rows = read()
    sets = [[row for row in rows if row["set"] == name] for name in ("first", "second")]
    print(f"{'median TPOT error':30} | first: runs, engines | second | H200 | suits the first best")
    for name, grid in WAYS.items():
        print(f"{name:30} | {judged(grid, *sets)}", flush=True)


if __name__ == "__main__":
    main()
