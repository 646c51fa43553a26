"""Attention: what is kept grows with every token."""

from collections.abc import Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.layers.kept import Kept
from colocate.inputs.huggingface.tensor import Tensor, linear, norm, plain

SCALE_BYTES = 4
"""Of the one scale that an indexer's key is kept with."""


@dataclass(frozen=True)
class Attention:
    """Queries, keys and values by head; fewer `kv_heads` than `heads` is grouped attention.

    Parameters
    ----------
    key_bias
        Whether keys have a bias where queries and values have one.
    norm_of_all_heads
        Whether one norm evens out all heads at once.
    gated
        Whether the queries come with a gate for the output, which doubles their matrix.
    input_width
        Of what queries, keys and values are computed from; the hidden size where it is None.
    shared
        Whether its weights are those of an earlier layer, and counted there.
    own_keys, own_values
        Whether it has matrices for keys and for values, instead of those of an earlier layer.
    """

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    key_bias: bool = True
    output_bias: bool = False
    norm: bool = False
    norm_of_all_heads: bool = False
    norm_bias: bool = False
    sinks: bool = False
    gated: bool = False
    input_width: int | None = None
    shared: bool = False
    own_keys: bool = True
    own_values: bool = True

    module = "self_attn"

    @property
    def kept(self) -> Kept:
        """A key and a value by head for each token."""
        return Kept(by_token=2 * self.kv_heads * self.head_dim)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        if self.shared:
            return
        inputs = self.input_width or hidden
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        rows = 2 * queries if self.gated else queries
        yield from linear(f"{name}.q_proj", rows, inputs, self.qkv_bias)
        if self.own_keys:
            yield from linear(f"{name}.k_proj", keys, inputs, self.qkv_bias and self.key_bias)
        if self.own_values:
            yield from linear(f"{name}.v_proj", keys, inputs, self.qkv_bias)
        yield from linear(f"{name}.o_proj", hidden, queries, self.output_bias)
        of_all = self.norm_of_all_heads
        if self.norm:
            yield norm(f"{name}.q_norm", queries if of_all else self.head_dim, self.norm_bias)
        if self.norm and self.own_keys:
            yield norm(f"{name}.k_norm", keys if of_all else self.head_dim, self.norm_bias)
        if self.sinks:
            yield plain(f"{name}.sinks", self.heads)


@dataclass(frozen=True)
class CrossAttention:
    """Attention to the tokens of another part: an encoder, or a tower that sees.

    Its keys and values are computed once for a sequence and do not grow.

    Parameters
    ----------
    attention
        Its heads.
    source_tokens
        The most tokens that the other part has.
    gates
        Single numbers that scale its outputs.
    """

    attention: Attention
    source_tokens: int
    gates: int = 0

    module = "cross_attn"

    @property
    def kept(self) -> Kept:
        """Keys and values of all tokens of the other part."""
        return Kept(once=self.source_tokens * self.attention.kept.by_token)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        yield from self.attention.tensors(name, hidden)
        if self.gates:
            yield plain(f"{name}.gates", self.gates)


@dataclass(frozen=True)
class Indexer:
    """Small heads that choose which tokens attention reads (DeepSeek-V3.2).

    Engines keep its key of a token in 8 bits with one scale.
    """

    heads: int
    dim: int

    def tensors(self, name: str, hidden: int, query_rank: int) -> Iterator[Tensor]:
        """Return the weights.

        Parameters
        ----------
        name
            Of the module.
        hidden
            The hidden size.
        query_rank
            Of the short vector that queries are projected up from.
        """
        yield from linear(f"{name}.wq_b", self.heads * self.dim, query_rank)
        yield from linear(f"{name}.wk", self.dim, hidden)
        yield norm(f"{name}.k_norm", self.dim, bias=True)
        yield from linear(f"{name}.weights_proj", self.heads, hidden)


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
    indexer: Indexer | None = None

    module = "self_attn"
    kv_heads = 1

    @property
    def head_dim(self) -> int:
        """Width of a query, as of a key."""
        return self.plain_dim + self.rotary_dim

    @property
    def kept(self) -> Kept:
        """The short vector and the rotary part of the keys, and the key of the indexer."""
        indexed = 0 if self.indexer is None else self.indexer.dim + SCALE_BYTES
        return Kept(by_token=self.kv_rank + self.rotary_dim, bytes_by_token=indexed)

    def tensors(self, name: str, hidden: int) -> Iterator[Tensor]:
        """Return the weights."""
        queries, values = self.heads * self.head_dim, self.heads * self.value_dim
        rank, kv_rank = self.query_rank, self.kv_rank
        if rank is None:
            yield from linear(f"{name}.q_proj", queries, hidden)
        else:
            yield from linear(f"{name}.q_a_proj", rank, hidden, self.bias)
            yield norm(f"{name}.q_a_layernorm", rank)
            yield from linear(f"{name}.q_b_proj", queries, rank)
        compressed = kv_rank + self.rotary_dim
        yield from linear(f"{name}.kv_a_proj_with_mqa", compressed, hidden, self.bias)
        yield norm(f"{name}.kv_a_layernorm", kv_rank)
        yield from linear(f"{name}.kv_b_proj", self.heads * self.plain_dim + values, kv_rank)
        yield from linear(f"{name}.o_proj", hidden, values, self.bias)
        if self.indexer is not None:
            yield from self.indexer.tensors(f"{name}.indexer", hidden, rank or hidden)
