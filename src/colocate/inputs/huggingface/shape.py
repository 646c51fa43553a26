"""What a model is made of, in the same words for every family."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    """Queries, keys and values by head; fewer `kv_heads` than `heads` is grouped attention."""

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    norm: bool = False
    norm_of_all_heads: bool = False
    sinks: bool = False

    @property
    def cached_values(self) -> int:
        """Values that one layer keeps for one token: a key and a value by head."""
        return 2 * self.kv_heads * self.head_dim


@dataclass(frozen=True)
class LatentAttention:
    """Keys and values that are projected up from one short vector (MLA, DeepSeek-V2).

    Only this vector and the rotary part of the keys, which all heads share, are kept for a token.
    """

    heads: int
    query_rank: int | None
    kv_rank: int
    plain_dim: int
    rotary_dim: int
    value_dim: int
    bias: bool = False

    @property
    def kv_heads(self) -> int:
        """One: all heads share the vector, so every shard keeps it whole."""
        return 1

    @property
    def head_dim(self) -> int:
        """Width of a query, as of a key."""
        return self.plain_dim + self.rotary_dim

    @property
    def cached_values(self) -> int:
        """Values that one layer keeps for one token."""
        return self.kv_rank + self.rotary_dim


@dataclass(frozen=True)
class FeedForward:
    """Two matrices, or three where a gate is multiplied in."""

    width: int
    gated: bool
    bias: bool = False


@dataclass(frozen=True)
class Experts:
    """Many narrow feed-forward blocks; a router picks `chosen` of them for a token."""

    count: int
    chosen: int
    block: FeedForward
    shared_width: int
    shared_gate: bool
    router_bias: bool
    layers: frozenset[int]


@dataclass(frozen=True)
class Cache:
    """Which layers keep keys and values, and how long.

    Parameters
    ----------
    growing
        How many layers keep every token of the context.
    windowed
        How many keep only the last `window` tokens.
    window
        None where no layer is windowed.
    """

    growing: int
    windowed: int = 0
    window: int | None = None


@dataclass(frozen=True)
class Shape:
    """A whole model, text side only."""

    model_type: str
    layers: int
    hidden_size: int
    vocab_size: int
    attention: Attention | LatentAttention
    feed_forward: FeedForward
    experts: Experts | None
    cache: Cache
    tied: bool
    norms: int
    norm_bias: bool
    head_bias: bool
    positions: int
    embedding_width: int
    embedding_norm: bool
