"""The least cache of a model: room for the longest requests that it must serve.

An engine that cannot hold one request of its longest context refuses to start, or shortens the
context. So every model has a least cache: keys and values for `min_concurrency` requests of
`max_model_len` tokens. It is a constraint of the problem, not what happens to be left.
"""

from math import ceil, floor, inf

from colocate.errors import InputError
from colocate.inputs.spec import MOST_TOKENS, ModelSpec

USUAL_CONTEXT = 4096
"""Tokens of the longest request where a model states no lengths: a long chat."""
MARGIN = 2.0
"""The longest request, in mean requests: lengths vary, and twice the mean holds most of them."""
UNKNOWN_GB = 1.0
"""Cache of a request where nobody says how large keys and values are: 4096 tokens of a model with 8
to 14 billion parameters take 0.5 to 0.8 GB."""
LEAST_GB = 0.1
"""No engine starts with less cache than this on a GPU, however short its requests."""
BLOCK = 16
"""Tokens of a block: engines hand out cache in blocks. vLLM keeps one block empty."""
BATCHED_TOKENS = 8192
"""Tokens that vLLM prefills at once; a windowed layer holds them beside its window."""


def longest_request(model: ModelSpec) -> int:
    """Return the tokens of the longest request that a model must serve."""
    if model.max_model_len is not None:
        limit = model.context_limit
        if limit is not None and model.max_model_len > limit:
            expected = f"at most {limit}, the longest context that the model knows"
            raise InputError.of("max_model_len", model.max_model_len, expected)
        return model.max_model_len
    longest = ceil(MARGIN * _mean_tokens(model))
    if model.prompt_tokens is None or model.output_tokens is None:
        longest = max(longest, USUAL_CONTEXT)
    return max(min(longest, model.context_limit or longest), 1)


def typical_request(model: ModelSpec) -> int:
    """Return the tokens of a mean request, or of the longest one where no lengths are stated."""
    if model.prompt_tokens is None or model.output_tokens is None:
        return longest_request(model)
    mean = max(ceil(_mean_tokens(model)), 1)
    return min(mean, model.context_limit or mean)


def _mean_tokens(model: ModelSpec) -> float:
    """Return the tokens of a mean request, as far as they are stated."""
    mean = 0.0
    for field in ("prompt_tokens", "output_tokens"):
        tokens = getattr(model, field) or 0.0
        if tokens > MOST_TOKENS:
            raise InputError.of(field, tokens, f"at most {MOST_TOKENS}")
        mean += tokens
    return mean


def has_no_cache(model: ModelSpec) -> bool:
    """Say whether a model is known to keep nothing for a sequence, as encoders do."""
    return model.kv_bytes_per_token == 0.0 and not model.state_bytes


def cache_repeats(model: ModelSpec) -> float:
    """Return how often the shards of a replica hold the same keys and values.

    Shards divide the heads of keys and values among them. Where there are fewer heads than shards,
    several shards hold the same head. The vector of latent attention (MLA) counts as one head: it
    is whole on every shard. The state of state-space layers is divided, never repeated.
    """
    if model.kv_heads is None or model.kv_heads >= model.shards:
        return 1.0
    return model.shards / model.kv_heads


def request_gb(model: ModelSpec, tokens: int) -> float:
    """Return the cache of one request on all shards of a replica together."""
    if model.kv_bytes_per_token is None:
        return UNKNOWN_GB
    blocks = (ceil(tokens / BLOCK) + 1) * BLOCK
    windowed = model.windowed_kv_bytes_per_token or 0.0
    held = min(blocks, (model.kv_window or inf) + BATCHED_TOKENS)
    grown = blocks * (model.kv_bytes_per_token - windowed) + held * windowed
    return (grown * cache_repeats(model) + _fixed_bytes(model)) / 1e9


def mean_request_gb(model: ModelSpec) -> float:
    """Return the cache that a request holds on average while it is in work; 0 if unknown.

    A long output is in work for longer, so it is met more often. If lengths are exponential, those
    in work have as many tokens already as a request has in the end, on average.
    """
    if model.kv_bytes_per_token is None or has_no_cache(model):
        return 0.0
    tokens = (model.prompt_tokens or 0.0) + (model.output_tokens or 0.0)
    return request_gb(model, ceil(tokens))


def _fixed_bytes(model: ModelSpec) -> float:
    """Return what a request takes however short it is.

    Where layers with a state and layers with attention are mixed, vLLM gives all of them pages as
    large as a state. The last page of an attention layer is mostly empty. There are fewer such
    layers than layers with a state, so all of these pages are less than a second state.
    """
    state = model.state_bytes or 0.0
    return 2.0 * state if model.kv_bytes_per_token else state


def least_cache_gb(model: ModelSpec) -> float:
    """Return the cache that a replica must have, on all of its shards together."""
    _check_bytes(model)
    if has_no_cache(model):
        return 0.0
    asked = model.min_concurrency * request_gb(model, longest_request(model))
    return max(asked, LEAST_GB * model.shards)


def _check_bytes(model: ModelSpec) -> None:
    """Refuse keys and values of a token that cannot be."""
    held, windowed = model.kv_bytes_per_token, model.windowed_kv_bytes_per_token or 0.0
    if held is not None and 0.0 < held < 1.0:
        raise InputError.of("kv_bytes_per_token", held, "0, or at least 1")
    if windowed and held is None:
        raise InputError.missing("kv_bytes_per_token", advice="give it for all layers together")
    if held is not None and windowed > held:
        expected = f"at most {held:g}, kv_bytes_per_token"
        raise InputError.of("windowed_kv_bytes_per_token", windowed, expected)


def tokens_in(model: ModelSpec, cache_gb: float) -> int | None:
    """Return the tokens of one long request that a cache holds; None if unknown.

    Here and below, a cache is that of a replica, on all of its shards together.
    """
    if not model.kv_bytes_per_token:
        return None
    bytes_held = (cache_gb * 1e9 - _fixed_bytes(model)) / cache_repeats(model)
    windowed = model.windowed_kv_bytes_per_token or 0.0
    within = floor(bytes_held / model.kv_bytes_per_token)
    held = (model.kv_window or inf) + BATCHED_TOKENS
    if within > held:
        growing = model.kv_bytes_per_token - windowed
        within = floor((bytes_held - held * windowed) / growing) if growing else within
    return max((within // BLOCK - 1) * BLOCK, 0)


def longest_context(model: ModelSpec, cache_gb: float) -> int | None:
    """Return the longest request that a cache of a replica can serve; None if unknown."""
    limit = model.max_model_len or model.context_limit
    if has_no_cache(model):
        return limit
    tokens = tokens_in(model, cache_gb)
    if tokens is None:
        return limit
    return tokens if limit is None else min(tokens, limit)


def requests_at_once(model: ModelSpec, cache_gb: float) -> int | None:
    """Return how many requests of typical length fit in a cache at once; None if unknown."""
    if model.kv_bytes_per_token is None or has_no_cache(model):
        return None
    return floor(cache_gb / request_gb(model, typical_request(model)))
