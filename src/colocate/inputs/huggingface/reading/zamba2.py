"""Zamba2: state layers, and a few blocks of attention that many layers share."""

from collections.abc import Iterator

from colocate.inputs.huggingface.family import Family
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.attention import Attention
from colocate.inputs.huggingface.layers.feed_forward import FeedForward
from colocate.inputs.huggingface.layers.layer import Layer, Mixer
from colocate.inputs.huggingface.reading.ends import read_ends
from colocate.inputs.huggingface.reading.kinds import layer_kinds
from colocate.inputs.huggingface.reading.state_layers import read_mamba2
from colocate.inputs.huggingface.shape import Shape
from colocate.inputs.huggingface.tensor import Tensor, linear, norm

HYBRID = "hybrid"
"""Layers that use one of the shared blocks before their state."""


def read_zamba2(fields: Fields, family: Family) -> Shape:
    """Return the shape of Zamba2."""
    blocks = fields.count("num_mem_blocks")
    kinds = layer_kinds(fields, family)
    hybrids = [number for number, kind in enumerate(kinds) if kind == HYBRID]
    first = set(hybrids[:blocks])
    layers = tuple(
        _layer(fields, family, number in hybrids, number in first) for number in range(len(kinds))
    )
    hidden = fields.count("hidden_size")
    extra = [tensor for _ in hybrids for tensor in _adapters(fields, hidden)]
    norms = [norm("shared_transformer.norms", _inputs(fields) + hidden) for _ in range(len(first))]
    return Shape(
        hidden_size=hidden,
        vocab_size=fields.count("vocab_size"),
        layers=layers,
        ends=(*read_ends(fields, family), *extra, *norms),
    )


def _layer(fields: Fields, family: Family, hybrid: bool, first: bool) -> Layer:
    """Return one layer; the weights of a shared block are in the first that uses it."""
    state: tuple[Mixer, ...] = read_mamba2(fields, family)
    if not hybrid:
        return Layer(state, None, norms=1)
    heads = fields.count("num_attention_heads")
    attention = Attention(
        heads=heads,
        kv_heads=fields.optional_count("num_key_value_heads") or heads,
        head_dim=fields.optional_count("attention_head_dim") or _inputs(fields) // heads,
        input_width=_inputs(fields),
        shared=not first,
    )
    block = FeedForward(fields.count("intermediate_size"), family.gated) if first else None
    return Layer((attention, *state), block, norms=1)


def _inputs(fields: Fields) -> int:
    """Return the width that attention sees: a token's stream beside its embedding."""
    return fields.optional_count("attention_hidden_size") or 2 * fields.count("hidden_size")


def _adapters(fields: Fields, hidden: int) -> Iterator[Tensor]:
    """Return what each layer adds of its own to a shared block."""
    rank, width = fields.count("adapter_rank"), fields.count("intermediate_size")
    yield from linear("linear", hidden, hidden)
    yield from linear("gate_up_proj_adapter_list", rank, hidden)
    yield from linear("gate_up_proj_adapter_list", 2 * width, rank)
    if fields.switch("use_shared_attention_adapter"):
        inputs = _inputs(fields)
        for part in "qkv":
            yield from linear(f"linear_{part}_adapter_list", rank, inputs)
            yield from linear(f"linear_{part}_adapter_list", inputs, rank)
