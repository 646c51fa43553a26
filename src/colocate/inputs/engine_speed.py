"""How fast a model works on a kind of GPU that it has for itself.

A fleet file may state measured constants (`steps`). Otherwise they are estimated:

- A decode step reads the weights once, and the keys and values of every request in the batch. Of
  experts it reads those that the requests chose which a lone engine would have at once, and of
  embeddings nothing. Each layer adds a little, because its kernels start and end one after the
  other, and each request some of its operations, which do not hide behind reading.
- A prefill costs two operations for each token and each parameter that it is multiplied by, more
  for what each layer does besides, and those of attention, which grow with the square of the
  prompt. No layer is quicker than its kernels can be launched.
"""

from math import inf, isfinite, log2
from typing import NamedTuple

from colocate.inputs.accelerator import Accelerator
from colocate.inputs.compute import (
    OF_8_BIT,
    OF_DOUBLED_SHARDS,
    TPOT_SLO,
    known_accelerator,
)
from colocate.inputs.demand import rate_of, rates_of
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.least_cache import cache_repeats, mean_request_gb
from colocate.inputs.model_shape import (
    active_of,
    layers_of,
    multiplied_parameters,
    parameters_of,
    read_bytes,
    width_of,
)
from colocate.inputs.overheads import most_requests, stated_requests
from colocate.inputs.spec import ModelSpec, Steps
from colocate.problem.requests import EngineSpeed, Requests

OF_BANDWIDTH, STEP_OF_LAYER, EXPOSED = 0.84, 48e-6, 0.5
"""What kernels reach of the bandwidth, the seconds of a layer between them, and the share of a
token's operations that takes time of its own. With these, all lone steps that were measured on an
H200 (0.5B to 14B, 1 to 64 requests) are 2.4% off at the median (`benchmarks/published_ways.py`)."""
PREFILL_OF_LAYER = 0.26e-3
"""Seconds that the kernels of a layer's prefill take to launch, measured there on short prompts."""
OF_PRODUCTS = 0.75
"""What prompts reach of the operations of large products in 16 bits, beside what each layer adds
(`OPERATIONS_OF_LAYER`): from prefills of 0.5B to 14B on H200 (`benchmarks/gpu/data`).
TensorRT-LLM 0.6 reached 0.68 to 0.76 on A100 with 2,048 tokens (its `performance.md`)."""
PRODUCTS_OF_SHEET = 0.8
"""What such products reach of a data sheet, where that is not in the catalogue: the median of the
kinds that are."""
OPERATIONS_OF_LAYER = 40e6
"""What a layer costs for each token of a prompt beyond its own products, in operations of these:
small kernels, and matrices too narrow to fill a GPU. With it, prefills of 0.5B to 14B on an H200
(128 to 16,384 tokens) are 5% off at the median, without it and attention 15%
(`benchmarks/published_ways.py`)."""
TTFT_SLO = 2.0
"""Seconds to the answer of a model that makes no tokens, where it states no target."""


class Times(NamedTuple):
    """Seconds of a lone engine: a step, more for each request in it, and a prefill."""

    step: float
    per_request: float
    prefill: float


def requests_of(model: ModelSpec, kinds: set[str]) -> Requests | None:
    """Return what a model is asked and how fast it is, None where that is not known.

    It is known where the file says how many tokens and requests there are, and the kind of every
    GPU is in the catalogue or has measured constants.
    """
    rates, output = rates_of(model), model.output_tokens
    if rates is None or model.prompt_tokens is None or output is None:
        return None
    engines = {kind: engine_on(model, kind) for kind in kinds}
    known = {kind: engine for kind, engine in engines.items() if engine is not None}
    if len(known) < len(kinds):
        return None
    tpot, ttft, stated = _targets(model, output)
    return Requests(
        max(rates),
        output,
        tuple(known.items()),
        tpot,
        ttft,
        model.percentile,
        binding=stated,
        slots=float(
            stated_requests(model.arguments_for("vllm")) or most_requests(model.min_concurrency)
        ),
        request_gb=mean_request_gb(model),
        prompt_tokens=model.prompt_tokens,
        rates=tuple(rates),
    )


def _targets(model: ModelSpec, output: float) -> tuple[float, float, bool]:
    """Return the targets for TPOT and TTFT, and whether the file states them.

    Without a stated one, a usual one says what is fast enough. Time per output token says nothing
    of a model that makes at most one.
    """
    if output > 1.0 and (model.tpot_slo or model.ttft_slo):
        return model.tpot_slo or inf, model.ttft_slo or inf, True
    if model.ttft_slo:
        return inf, model.ttft_slo, True
    return (TPOT_SLO, inf, False) if output > 1.0 else (inf, TTFT_SLO, False)


def engine_on(model: ModelSpec, kind: str) -> EngineSpeed | None:
    """Return how fast a model is on a kind of GPU; None where that is not known."""
    steps, row = steps_on(model, kind), known_accelerator(kind)
    estimated = None if row is None else _estimated(model, row)
    times = estimated if steps is None else _measured(model, steps, estimated)
    if times is None or not all(map(isfinite, times)):
        return None
    work = min(_prefill_work(model, row), times.prefill) if row is not None else times.prefill
    return EngineSpeed(*times, work, layers_of(model))


def steps_on(model: ModelSpec, kind: str) -> Steps | None:
    """Return the measured constants of a model on a kind of GPU, None where there are none."""
    if model.steps is None or isinstance(model.steps, Steps):
        return model.steps
    if kind in model.steps or (row := known_accelerator(kind)) is None:
        return model.steps.get(kind)
    return next(
        (times for name, times in model.steps.items() if known_accelerator(name) == row), None
    )


def _measured(model: ModelSpec, steps: Steps, estimated: Times | None) -> Times | None:
    """Return measured times, with an estimated prefill where none was measured."""
    if steps.prefill_ms_per_1k_tokens is not None:
        per_token = steps.prefill_ms_per_1k_tokens / 1e3
        prefill = (steps.prefill_base_ms + per_token * (model.prompt_tokens or 0.0)) / 1e3
    elif estimated is not None:
        prefill = estimated.prefill
    else:
        return None
    per_request = steps.per_request_ms + steps.per_1k_context_ms * _context(model) / 1e3
    return Times(steps.base_ms / 1e3, per_request / 1e3, prefill)


def _estimated(model: ModelSpec, row: Accelerator) -> Times:
    parameters = parameters_of(model)
    active = min(active_of(model) / parameters, 1.0) if parameters else 1.0
    bandwidth = row.bandwidth_gb_s * 1e9 * OF_BANDWIDTH * _speed_of_shards(model)
    whole = read_bytes(model) / bandwidth
    read = whole * _met(
        active, 1.0 + (rate_of(model) or 0.0) * (model.output_tokens or 0.0) * whole
    )
    kept = (model.kv_bytes_per_token or 0.0) * cache_repeats(model) * _context(model)
    layers = layers_of(model)
    return Times(
        layers * STEP_OF_LAYER + read,
        kept / bandwidth + EXPOSED * 2.0 * multiplied_parameters(model) / _operations(model, row),
        max(_prefill_work(model, row), layers * PREFILL_OF_LAYER),
    )


def _prefill_work(model: ModelSpec, row: Accelerator) -> float:
    """Return the seconds in which a GPU calculates the prompt of one request.

    A token looks back on half of the prompt, and multiplies the whole width with keys and with
    values.
    """
    prompt, layers = model.prompt_tokens or 0.0, layers_of(model)
    attention = 2.0 * prompt * width_of(model)
    beside = layers * (OPERATIONS_OF_LAYER + attention)
    return prompt * (2.0 * multiplied_parameters(model) + beside) / _operations(model, row)


def _operations(model: ModelSpec, row: Accelerator) -> float:
    """Return how many operations a second a replica reaches."""
    return reached_operations(row, bits_of(model.dtype)) * _speed_of_shards(model)


def reached_operations(row: Accelerator, bits: int) -> float:
    """Return how many operations a second prompts reach with weights of so many bits.

    Smaller formats than 8 bits are widened to 16 before they are used.
    """
    in_16_bit = OF_PRODUCTS * (row.product_tflops or PRODUCTS_OF_SHEET * row.tflops_16bit)
    in_8_bit = OF_8_BIT * (row.tflops_8bit or 0.0) if bits == 8 else 0.0
    return max(in_16_bit, in_8_bit) * 1e12


def _context(model: ModelSpec) -> float:
    """Return the tokens that an output token looks back on, on average."""
    return (model.prompt_tokens or 0.0) + (model.output_tokens or 0.0) / 2


def _speed_of_shards(model: ModelSpec) -> float:
    """Return how many times faster a replica is than on one GPU."""
    return float(model.shards * OF_DOUBLED_SHARDS ** log2(model.shards))


def _met(active: float, batch: float) -> float:
    """Return the share of the weights that a batch meets: experts that none chose are not read."""
    return float(1.0 - (1.0 - active) ** batch)
