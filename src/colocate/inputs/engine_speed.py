"""How fast a model works on a kind of GPU that it has for itself.

A fleet file may state measured constants (`steps`). Otherwise they are estimated:

- A decode step reads the weights once, and the keys and values of every request in the batch. Each
  layer adds a little, because its kernels start and end one after the other.
- A prefill costs two operations for each active parameter and token, and no layer is quicker than
  its kernels can be launched.

Left out are the operations of attention, which are felt in prompts of tens of thousands of tokens.
"""

from math import inf, isfinite, log2, sqrt

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.accelerator import Accelerator
from colocate.inputs.compute import (
    OF_BANDWIDTH,
    OF_DOUBLED_SHARDS,
    TPOT_SLO,
    known_accelerator,
    operations_of,
)
from colocate.inputs.demand import rate_of
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.least_cache import cache_repeats, mean_request_gb
from colocate.inputs.overheads import most_requests, stated_requests
from colocate.inputs.spec import ModelSpec, Steps
from colocate.problem.requests import EngineSpeed, Requests

STEP_OF_LAYER = 44e-6
"""Seconds that the kernels of a layer take beyond reading its weights: on an H200, steps of 1B, 8B
and 14B models take 46, 42 and 45 microseconds a layer more than their bytes at 0.8 of its
bandwidth (`h200_lone_steps.csv`)."""
PREFILL_OF_LAYER = 0.26e-3
"""Seconds that the kernels of a layer's prefill take to launch, measured there on short prompts."""
LAYERS_OF_BILLION = 11.5
"""Layers of a model whose config is unknown, times the root of its billions of parameters: 16 of
1.2, 28 of 3 and 7, 32 of 8, 48 of 14, 64 of 32, 80 of 70 are within a quarter of it."""
FEW_REQUESTS, MANY_REQUESTS = 1.0, 16.0
"""Between these batches the experts that a batch meets are taken to grow evenly."""
TTFT_SLO = 2.0
"""Seconds to the answer of a model that makes no tokens, where it states no target."""


def requests_of(model: ModelSpec, kinds: set[str]) -> Requests | None:
    """Return what a model is asked and how fast it is, None where that is not known.

    It is known where the file says how many tokens and requests there are, and the kind of every
    GPU is in the catalogue or has measured constants.
    """
    rate = rate_of(model)
    engines = {kind: engine_on(model, kind) for kind in kinds}
    known = {kind: engine for kind, engine in engines.items() if engine is not None}
    if rate is None or model.prompt_tokens is None or len(known) < len(kinds):
        return None
    output = model.output_tokens or 0.0
    stated = model.tpot_slo is not None or model.ttft_slo is not None
    usual = (TPOT_SLO, inf) if output > 1.0 else (inf, TTFT_SLO)
    tpot, ttft = (model.tpot_slo or inf, model.ttft_slo or inf) if stated else usual
    return Requests(
        rate,
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
    )


def engine_on(model: ModelSpec, kind: str) -> EngineSpeed | None:
    """Return how fast a model is on a kind of GPU; None where that is not known."""
    steps, row = steps_on(model, kind), known_accelerator(kind)
    if steps is not None:
        times = _measured(model, steps)
    elif row is not None:
        times = _estimated(model, row)
    else:
        return None
    if not all(map(isfinite, times)):
        return None
    step, more, prefill = times
    work = min(_prefill_work(model, row), prefill) if row is not None else prefill
    return EngineSpeed(step, more, prefill, work, layers_of(model))


def steps_on(model: ModelSpec, kind: str) -> Steps | None:
    """Return the measured constants of a model on a kind of GPU, None where there are none."""
    if model.steps is None or isinstance(model.steps, Steps):
        return model.steps
    own = model.steps.get(kind)
    if own is None and (row := known_accelerator(kind)) is not None:
        names = {row.kind, *row.aliases}
        own = next((steps for name, steps in model.steps.items() if name in names), None)
    return own


def _measured(model: ModelSpec, steps: Steps) -> tuple[float, float, float]:
    context, prompt = _context(model), model.prompt_tokens or 0.0
    return (
        steps.base_ms / 1e3,
        (steps.per_request_ms + steps.per_1k_context_ms * context / 1e3) / 1e3,
        (steps.prefill_base_ms + steps.prefill_ms_per_1k_tokens * prompt / 1e3) / 1e3,
    )


def _estimated(model: ModelSpec, row: Accelerator) -> tuple[float, float, float]:
    weights = (model.size_gb or 0.0) * 1e9
    bits = bits_of(model.dtype)
    parameters = weights * 8 / bits
    active = min((model.active_parameters or parameters) / parameters, 1.0) if parameters else 1.0
    bandwidth = row.bandwidth_gb_s * 1e9 * OF_BANDWIDTH * _speed_of_shards(model)
    few, many = (
        weights * _met(active, batch) / bandwidth for batch in (FEW_REQUESTS, MANY_REQUESTS)
    )
    experts = (many - few) / (MANY_REQUESTS - FEW_REQUESTS)
    kept = (model.kv_bytes_per_token or 0.0) * cache_repeats(model) * _context(model)
    layers = layers_of(model)
    return (
        layers * STEP_OF_LAYER + few - experts,
        experts + kept / bandwidth,
        max(_prefill_work(model, row), layers * PREFILL_OF_LAYER),
    )


def _prefill_work(model: ModelSpec, row: Accelerator) -> float:
    """Return the seconds in which a GPU calculates the prompt of one request."""
    bits = bits_of(model.dtype)
    active = model.active_parameters or (model.size_gb or 0.0) * 1e9 * 8 / bits
    operations = operations_of(row, bits) * _speed_of_shards(model)
    return 2.0 * active * (model.prompt_tokens or 0.0) / operations


def layers_of(model: ModelSpec) -> float:
    """Return the layers of a model, an estimate from its size where they are not stated."""
    if model.layers is not None:
        return float(model.layers)
    parameters = (model.size_gb or 0.0) * 1e9 * 8 / bits_of(model.dtype)
    return max(LAYERS_OF_BILLION * sqrt(parameters / 1e9), 1.0)


def _context(model: ModelSpec) -> float:
    """Return the tokens that an output token looks back on, on average."""
    return (model.prompt_tokens or 0.0) + (model.output_tokens or 0.0) / 2


def _speed_of_shards(model: ModelSpec) -> float:
    """Return how many times faster a replica is than on one GPU."""
    return float(model.shards * OF_DOUBLED_SHARDS ** log2(model.shards))


def _met(active: float, batch: float) -> float:
    """Return the share of the weights that a batch meets: experts that none chose are not read."""
    return float(1.0 - (1.0 - active) ** batch)


def check_known(model: ModelSpec, kinds: set[str]) -> None:
    """Refuse a model whose latency is limited or minimised, but cannot be predicted."""
    for field in ("prompt_tokens", "output_tokens"):
        if getattr(model, field) is None:
            raise InputError.missing(field, advice="give it, so that latency can be predicted")
    if rate_of(model) is None:
        raise InputError.missing("rate", advice="give it, so that latency can be predicted")
    for kind in sorted(kinds):
        if engine_on(model, kind) is None:
            found = f"has no constants for GPU kind {kind!r}, which is not in the catalogue"
            advice = "measure them with `colocate calibrate`"
            raise InputError(Fault(found, advice=advice, path=("steps",)))
