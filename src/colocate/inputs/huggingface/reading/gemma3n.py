"""Gemma 3n: small embeddings for each layer, parallel streams, and keys shared by late layers."""

from collections.abc import Iterator
from dataclasses import replace

from colocate.inputs.huggingface.family import Family
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.layer import Layer
from colocate.inputs.huggingface.reading.small_inputs import layer_inputs, model_inputs
from colocate.inputs.huggingface.reading.stack import read_stack
from colocate.inputs.huggingface.shape import Shape
from colocate.inputs.huggingface.tensor import Tensor, linear, norm, plain


def read_gemma3n(fields: Fields, family: Family) -> Shape:
    """Return the shape of the language model of Gemma 3n."""
    shape = read_stack(fields, family)
    first_shared = len(shape.layers) - fields.count("num_kv_shared_layers", least=0)
    layers = tuple(
        _with_streams(fields, layer, number, number < first_shared)
        for number, layer in enumerate(shape.layers)
    )
    ends = (*shape.ends, *_ends(fields, len(layers)))
    return replace(shape, layers=layers, ends=ends)


def _with_streams(fields: Fields, layer: Layer, number: int, remembers: bool) -> Layer:
    others = tuple(_layer_tensors(fields, f"layers.{number}"))
    return replace(layer, others=others, remembers=remembers)


def _layer_tensors(fields: Fields, name: str) -> Iterator[Tensor]:
    hidden, streams = fields.count("hidden_size"), fields.count("altup_num_inputs")
    small, rank = fields.count("hidden_size_per_layer_input"), fields.count("laurel_rank")
    yield norm(f"{name}.altup.scale", hidden)
    yield plain(f"{name}.altup.coefs", streams + streams**2, streams)
    yield plain(f"{name}.altup.modality_router", streams, hidden)
    yield norm(f"{name}.altup.router_norm", hidden)
    yield from linear(f"{name}.laurel.linear_left", rank, hidden)
    yield from linear(f"{name}.laurel.linear_right", hidden, rank)
    yield norm(f"{name}.laurel.post_laurel_norm", hidden)
    yield from layer_inputs(name, hidden, small)


def _ends(fields: Fields, layers: int) -> Iterator[Tensor]:
    hidden, streams = fields.count("hidden_size"), fields.count("altup_num_inputs")
    yield from model_inputs(fields, layers)
    yield plain("altup_projections", hidden, hidden, 2 * (streams - 1))
