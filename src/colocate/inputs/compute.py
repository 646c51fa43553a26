"""How busy a model keeps a GPU: an estimate from token rates and the catalogue's figures.

The kernels of a model run one after the other, and each is bound by what takes it longer:

- Prompts cost operations, two for each active parameter and token.
- Answers are made in steps, one token for each sequence of a batch. A step reads the weights once,
  or is bound by operations instead where the batch is large. Steps need not come faster than one
  each `tpot_slo`, so the batch is what arrives within that time, and a model with few tokens takes
  a step for each.
- Attention reads the keys and values of every sequence at every step, on every shard that holds
  them.

Reading weights is the work of every replica; the rest is shared by the replicas as the load is.
Left out are the operations of attention, which are felt in prompts of tens of thousands of tokens,
and what engines lose between steps.
"""

from collections.abc import Iterable
from math import log2
from typing import NamedTuple

from colocate.errors import UnknownNameError
from colocate.inputs.accelerator import Accelerator
from colocate.inputs.demand import Tokens, tokens_of
from colocate.inputs.gpu_catalogue import find_accelerator
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.least_cache import cache_repeats
from colocate.inputs.spec import ModelSpec

OF_16_BIT, OF_8_BIT = 0.6, 0.5
"""What engines reach of a data sheet's operations. TensorRT-LLM 0.6 reached 0.60 to 0.67 on A100 in
fp16 and 0.39 to 0.52 on H100 and L40S in fp8, on 2,048 tokens of prompt (its `performance.md`)."""
OF_BANDWIDTH = 0.8
"""The same for bandwidth on answers: vLLM reads the weights of Llama-3.1-8B with 0.77 on A100 and
0.74 on H100 at batch 1, TensorRT-LLM weights and keys and values of LLaMA-7B with 0.78 on A100."""
OF_DOUBLED_SHARDS = 0.9
"""What is left of the speed of twice as many GPUs that hold a model together: Llama-3.1-70B on 4
and on 8 A100. On H100 in fp8, which calculates faster, it is 0.9 to 0.75."""
TPOT_SLO = 0.1
"""Seconds for an output token where a model states none: twice as fast as people read."""


class BusyShare(NamedTuple):
    """How much of a GPU's time a model takes on one that has it whole."""

    own: float
    """Of every replica, whatever the others do."""
    shared: float
    """Of all replicas together."""


def known_accelerator(kind: str | None) -> Accelerator | None:
    """Return the row of a kind, None if the catalogue has none."""
    try:
        return find_accelerator(kind) if kind else None
    except UnknownNameError:
        return None


def busy_shares(model: ModelSpec, kinds: Iterable[str]) -> dict[str, BusyShare]:
    """Return the share for every kind of GPU, 0 for unknown ones; none without token rates.

    Where a model has shards, the share is that of all of them together.
    """
    tokens = tokens_of(model)
    if tokens is None:
        return {}
    rows = {kind: known_accelerator(kind) for kind in kinds}
    return {kind: _share(model, tokens, row) for kind, row in rows.items()}


def _share(model: ModelSpec, tokens: Tokens, row: Accelerator | None) -> BusyShare:
    if row is None:
        return BusyShare(0.0, 0.0)
    weights = (model.size_gb or 0.0) * 1e9
    bits = bits_of(model.dtype)
    parameters = weights * 8 / bits
    active = model.active_parameters or parameters
    seconds_of_token = 2.0 * active / operations_of(row, bits)
    bandwidth = row.bandwidth_gb_s * 1e9 * OF_BANDWIDTH
    tpot = model.tpot_slo or TPOT_SLO
    met = _share_met(min(active / parameters, 1.0) if parameters else 1.0, tokens.output * tpot)
    reading = min(tokens.output, 1.0 / tpot) * weights * met / bandwidth
    beyond_reading = max(tokens.output * seconds_of_token - reading, 0.0)
    kept = (model.kv_bytes_per_token or 0.0) * cache_repeats(model)
    looking_back = tokens.output * tokens.context * kept / bandwidth
    shared = tokens.prompt * seconds_of_token + beyond_reading + looking_back
    left = OF_DOUBLED_SHARDS ** log2(model.shards)
    return BusyShare(reading / left, shared / left)


def operations_of(row: Accelerator, bits: int) -> float:
    """Return how many operations a second are reached with weights of so many bits.

    Smaller formats than 8 bits are widened to 16 before they are used.
    """
    in_16_bit = row.tflops_16bit * OF_16_BIT
    in_8_bit = (row.tflops_8bit or 0.0) * OF_8_BIT if bits == 8 else 0.0
    return max(in_16_bit, in_8_bit) * 1e12


def _share_met(active: float, batch: float) -> float:
    """Return the share of the weights that a batch meets: experts that none chose are not read."""
    return float(1.0 - (1.0 - active) ** max(batch, 1.0))
