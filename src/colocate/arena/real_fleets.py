"""Two published fleets: the models to serve, and the GPUs to serve them on.

Both are the pure problem, without a limit on compute, so their optimum depends on pressure alone.
"""

import csv
from collections.abc import Iterator
from importlib import resources

from numpy.random import RandomState

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

GB, GIB = 1e9, 2.0**30
"""In bytes."""

NODES, GPUS_OF_NODE, A100_GB = 4, 8, 80
"""The testbed of MuxServe."""
LLAMA = {
    "llama-7b": (6_738_415_616, 1),
    "llama-13b": (13_015_864_320, 1),
    "llama-30b": (32_528_943_616, 2),
    "llama-65b": (65_285_660_672, 4),
}
"""Parameters, as `colocate size` counts them from the published shapes, and the shards."""
BYTES_OF_PARAMETER = 2
"""In half precision."""
ENGINE_GB = 4.0
"""Memory that an engine holds on each GPU beyond the weights."""
ANSWER_SLO = 10.0
"""Seconds for an answer of any model. Alone on A100s, the mean of 261 tokens takes 2 to 5."""
LEVELS = (500, 800, 1200, 1600, 2000)
"""The factors by which the trace is condensed."""

PRISM_GPUS = (4, 8)
EXPONENTS = (0.6, 1.0, 1.4)
PERMUTATIONS = 3
"""Fleet sizes, exponents of Zipf's law from flat to steep, and random rankings of the models."""
USABLE_GB = 80 - 1.0
"""Usable memory of an 80 GB GPU: Prism keeps a margin of 1 GB."""
RUNTIME_GB = 0.25
"""Memory that Prism adds to a model's weights. With 4 GB each, the models do not fit on 4 GPUs."""
TOKENS_PER_SECOND = 1000.0
"""The total of all models: the public LMSYS trace has 2.5 requests a second of 392 tokens. Each
model's share is rounded to hundredths, so it is the same on every machine."""
TOKEN_SLO = 0.1
"""Seconds for an output token."""


def chatlmsys(seed: int) -> Iterator[Problem]:
    """Yield MuxServe's fleet at its five load levels; nothing in it is random."""
    gpus = tuple(
        Gpu(f"node-{node}-gpu-{number}", A100_GB, node=f"node-{node}")
        for node in range(NODES)
        for number in range(GPUS_OF_NODE)
    )
    rows = _rows("chatlmsys_rates.csv")
    for level in LEVELS:
        yield Problem(gpus, tuple(_llama(row, level) for row in rows))


def prism24(seed: int) -> Iterator[Problem]:
    """Yield Prism's 24 models with rates by Zipf's law and random ranks in each case."""
    draw = RandomState(seed)
    rows = _rows("prism_models.csv")
    for count in PRISM_GPUS:
        gpus = tuple(Gpu(f"gpu-{number}", USABLE_GB) for number in range(count))
        for exponent in EXPONENTS:
            for _ in range(PERMUTATIONS):
                shares = [float(1 + rank) ** -exponent for rank in draw.permutation(len(rows))]
                tokens = [round(TOKENS_PER_SECOND * s / sum(shares), 2) for s in shares]
                yield Problem(gpus, tuple(map(_measured, rows, tokens)))


def _llama(row: dict[str, str], level: int) -> Model:
    parameters, shards = LLAMA[row["model"]]
    size = parameters * BYTES_OF_PARAMETER / GB + ENGINE_GB * shards
    rate = float(row[f"rate_per_s_condense{level}"])
    return Model(f"{row['name']} {row['model']}", size, rate, ANSWER_SLO, shards=shards)


def _measured(row: dict[str, str], tokens: float) -> Model:
    size = float(row["weight_gib"]) * GIB / GB + RUNTIME_GB
    load = tokens * float(row["kv_bytes_per_token"]) / GB / TOKEN_SLO
    return Model(row["model"], size, load=load)


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("colocate.arena") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
