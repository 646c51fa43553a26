"""How busy a model keeps a GPU: an estimate from token rates and the catalogue's figures.

Work is of three kinds. Prompts cost operations, two for each active parameter and token. Answers
cost memory traffic: at each step, weights are read once for all sequences in the batch, and the
keys and values of every sequence. Steps need not come faster than one per `tpot_slo`, so the batch
is what arrives within that time, and a model with few tokens takes a step for each. Answers are
bound by operations instead where those take longer.

Reading weights is the work of every copy; the rest is shared by the copies as the load is.
"""

from collections.abc import Iterable
from typing import NamedTuple

from colocate.errors import UnknownNameError
from colocate.inputs.demand import Tokens, tokens_of
from colocate.inputs.gpu_catalogue import Accelerator, find_accelerator
from colocate.inputs.spec import ModelSpec

COMPUTE = "compute"
"""The name of the resource: the share of time that a GPU is busy."""
OF_OPERATIONS, OF_BANDWIDTH = 0.5, 0.8
"""What engines reach of a data sheet's operations on prompts, and of its bandwidth on answers."""
TPOT_SLO = 0.1
"""Seconds for an output token where a model states none."""
EIGHT_BITS = ("fp8", "int8")
BYTES_OF_PARAMETER = 2.0
"""Of a model of which only the size is known."""


class BusyShare(NamedTuple):
    """How much of a GPU's time a model takes on one that has it whole."""

    own: float
    """Of every copy, whatever the others do."""
    shared: float
    """Of all copies together."""


def known_accelerator(kind: str | None) -> Accelerator | None:
    """Return the row of a kind, None if the catalogue has none."""
    try:
        return find_accelerator(kind) if kind else None
    except UnknownNameError:
        return None


def busy_shares(model: ModelSpec, kinds: Iterable[str]) -> dict[str, BusyShare]:
    """Return the share for every kind of GPU, 0 for unknown ones; none without token rates."""
    tokens = tokens_of(model)
    if tokens is None:
        return {}
    rows = {kind: known_accelerator(kind) for kind in kinds}
    return {kind: _share(model, tokens, row) for kind, row in rows.items()}


def _share(model: ModelSpec, tokens: Tokens, row: Accelerator | None) -> BusyShare:
    if row is None:
        return BusyShare(0.0, 0.0)
    weights = (model.size_gb or 0.0) * 1e9
    parameters = weights / BYTES_OF_PARAMETER
    active = model.active_parameters or parameters
    teraflops = row.tflops_16bit
    if model.dtype in EIGHT_BITS:
        teraflops, parameters = row.tflops_8bit or teraflops, weights
    operations = 2.0 * active / (teraflops * 1e12 * OF_OPERATIONS)
    bandwidth = row.bandwidth_gb_s * 1e9 * OF_BANDWIDTH
    tpot = model.tpot_slo or TPOT_SLO
    met = _share_met(min(active / parameters, 1.0) if parameters else 1.0, tokens.output * tpot)
    reading = min(tokens.output, 1.0 / tpot) * weights * met / bandwidth
    looking_back = tokens.output * tokens.context * (model.kv_bytes_per_token or 0.0) / bandwidth
    answering = max(looking_back, tokens.output * operations - reading)
    return BusyShare(reading, tokens.prompt * operations + answering)


def _share_met(active: float, batch: float) -> float:
    """Return the share of the weights that a batch meets: experts that none chose are not read."""
    return float(1.0 - (1.0 - active) ** max(batch, 1.0))
