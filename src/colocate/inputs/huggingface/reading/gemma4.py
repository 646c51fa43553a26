"""Gemma 4: wider heads in layers without a window, and late layers that share keys and values."""

from dataclasses import replace

from colocate.inputs.huggingface.family import Family
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.attention import Attention
from colocate.inputs.huggingface.layers.feed_forward import Experts, FeedForward
from colocate.inputs.huggingface.layers.layer import Layer, Mixer
from colocate.inputs.huggingface.reading.attention import plain_attention
from colocate.inputs.huggingface.reading.small_inputs import layer_inputs, model_inputs
from colocate.inputs.huggingface.reading.stack import read_stack
from colocate.inputs.huggingface.shape import Shape
from colocate.inputs.huggingface.tensor import norm


def read_wide_attention(fields: Fields, family: Family) -> tuple[Attention]:
    """Return the attention of a layer without a window; its values may be its keys."""
    attention = plain_attention(fields, family)
    one = fields.switch("attention_k_eq_v")
    kv_heads = fields.optional_count("num_global_key_value_heads") if one else None
    wide = replace(
        attention,
        head_dim=fields.count("global_head_dim"),
        kv_heads=kv_heads or attention.kv_heads,
        own_values=not one,
    )
    return (wide,)


def read_gemma4(fields: Fields, family: Family) -> Shape:
    """Return the shape of the language model of Gemma 4."""
    shape = read_stack(fields, family)
    first_shared = len(shape.layers) - fields.count("num_kv_shared_layers", least=0)
    small = fields.optional_count("hidden_size_per_layer_input", least=0) or 0
    layers = []
    for number, layer in enumerate(shape.layers):
        found = _with_experts(layer, number, shape.hidden_size)
        if number >= first_shared:
            found = _sharing(found, fields.switch("use_double_wide_mlp"))
        if small:
            inputs = layer_inputs(f"layers.{number}", shape.hidden_size, small)
            found = replace(found, others=(*found.others, *inputs))
        layers.append(found)
    ends = (*shape.ends, *model_inputs(fields, len(layers))) if small else shape.ends
    return replace(shape, layers=tuple(layers), ends=ends)


def _with_experts(layer: Layer, number: int, hidden: int) -> Layer:
    """Return a layer with the norms and the scale that come with experts, if it has any."""
    if not isinstance(layer.block, Experts):
        return layer
    scale = norm(f"layers.{number}.router.scale", hidden)
    return replace(layer, norms=layer.norms + 3, others=(scale,))


def _sharing(layer: Layer, double: bool) -> Layer:
    """Return a layer that reads the keys and values of an earlier one."""
    mixers: tuple[Mixer, ...] = tuple(
        replace(mixer, own_keys=False, own_values=False) if isinstance(mixer, Attention) else mixer
        for mixer in layer.mixers
    )
    block = layer.block
    if double and isinstance(block, FeedForward):
        block = replace(block, width=2 * block.width)
    return replace(layer, mixers=mixers, block=block, remembers=False)
