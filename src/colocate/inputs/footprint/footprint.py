"""What an engine holds on each of its GPUs: weights, overhead and KV cache."""

from dataclasses import dataclass

from colocate.inputs.accelerator import GIB
from colocate.inputs.footprint.start_log import FoundFacts
from colocate.inputs.overheads import CONTEXT_GB

UTILIZATION, NEWER_UTILIZATION = 0.9, 0.92
"""The share of a GPU that vLLM takes if nobody says how much; the second one since 0.20."""
NEWER = (0, 20)
"""The version of vLLM that changed it."""
BLOCK = 16
"""Tokens of a block of vLLM's cache, unless its arguments say otherwise."""
GB_OF_GIB = GIB / 1e9
"""A GiB in GB."""


@dataclass(frozen=True)
class Footprint:
    """What one start of an engine measured.

    Parameters
    ----------
    model, source
        The name that it serves the model by, and what it loaded; empty if the log does not say.
    engine
        `vllm` or `sglang`.
    shards, stages
        The GPUs of one replica, by tensors and by layers.
    weights_gb
        Of the weights, on each GPU.
    overhead_gb
        Of everything else but the cache, on each GPU, with the context of the process; None if the
        log does not tell.
    least_overhead
        Whether the overhead is only what the engine holds when it starts: SGLang takes memory for
        a batch when there is one.
    kv_bytes_per_token
        Of the cache, on each GPU; None if the log does not tell, or if not all layers grow.
    cache_gb, cache_tokens
        The cache of each GPU, and the tokens that fit.
    """

    model: str
    source: str
    engine: str
    shards: int
    stages: int
    weights_gb: float
    overhead_gb: float | None = None
    least_overhead: bool = False
    kv_bytes_per_token: float | None = None
    cache_gb: float | None = None
    cache_tokens: int | None = None


def footprint_of(log: FoundFacts, gpu_gib: float | None = None) -> Footprint:
    """Return what a start log measured.

    Parameters
    ----------
    log
        The facts of one start.
    gpu_gib
        The memory of the GPU that it ran on, where the log does not say it.
    """
    facts = log.facts
    weights = facts["weights"] if "weights" in facts else facts["before"] - facts["after"]
    cache = None if "windowed" in log.texts else _cache(facts)  # several pools, of unequal layers
    tokens = _tokens(facts)
    overhead = _overhead(log, weights, cache, gpu_gib)
    bytes_per_token = cache * GIB / tokens if cache and tokens else None
    return Footprint(
        log.texts.get("served", "") or log.texts.get("model", ""),
        log.texts.get("model", ""),
        log.engine,
        int(facts.get("shards", 1)) or 1,
        int(facts.get("stages", 1)) or 1,
        weights * GB_OF_GIB,
        None if overhead is None else max(overhead, 0.0) * GB_OF_GIB + CONTEXT_GB,
        log.engine == "sglang",
        bytes_per_token,
        None if cache is None else cache * GB_OF_GIB,
        tokens,
    )


def _cache(facts: dict[str, float]) -> float | None:
    if "keys" in facts:
        return facts["keys"] + facts["values"]
    return facts.get("cache")


def _tokens(facts: dict[str, float]) -> int | None:
    if "tokens" in facts or "pool" in facts:
        return int(facts["tokens"] if "tokens" in facts else facts["pool"])
    if "blocks" in facts:
        return int(facts["blocks"] * facts.get("block", BLOCK))
    if "times" in facts:
        return int(facts["times"] * facts["length"])
    return None


def _overhead(
    log: FoundFacts, weights: float, cache: float | None, gpu_gib: float | None
) -> float | None:
    """Return the GiB besides weights and cache, by the best that a log has."""
    facts = log.facts
    if log.engine == "sglang":
        known = cache is not None and {"before", "left"} <= facts.keys()
        return facts["before"] - facts["left"] - weights - (cache or 0.0) if known else None
    graphs = max(facts.get("graphs", 0.0), 0.0)
    foreseen = facts.get("estimated", 0.0) if "foreseen" in log.texts else 0.0
    if "consumed" in facts:
        return facts["consumed"] - weights + facts["run"] + graphs - foreseen
    if "libraries" in facts:
        return facts["libraries"] + facts["activations"] + graphs
    if "besides" in facts:
        return facts["besides"] - weights + graphs
    requested = facts.get("requested", _requested(log, gpu_gib))
    if requested is None or cache is None or "unprofiled" in log.texts:
        return None
    return requested - weights - cache + graphs - foreseen


def _requested(log: FoundFacts, gpu_gib: float | None) -> float | None:
    if gpu_gib is None:
        return None
    version = tuple(int(part) for part in log.texts.get("version", "0.0").split("."))
    usual = NEWER_UTILIZATION if version >= NEWER else UTILIZATION
    return gpu_gib * log.facts.get("stated", usual)
