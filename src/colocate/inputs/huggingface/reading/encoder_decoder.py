"""Models of two stacks: an encoder that reads, and a decoder that looks at it (Whisper, T5)."""

from collections.abc import Iterator
from dataclasses import replace

from colocate.inputs.huggingface.family import Family, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.attention import Attention, CrossAttention
from colocate.inputs.huggingface.layers.feed_forward import FeedForward
from colocate.inputs.huggingface.layers.layer import Layer
from colocate.inputs.huggingface.reading.attention import plain_attention
from colocate.inputs.huggingface.reading.ends import (
    CLASSIFIER,
    architecture,
    label_count,
    read_ends,
)
from colocate.inputs.huggingface.reading.kinds import MOST_LAYERS
from colocate.inputs.huggingface.shape import Shape
from colocate.inputs.huggingface.tensor import Tensor, linear, norm, plain

ENCODER_ONLY = "EncoderModel"
GATED = "gated-"
"""How the field `feed_forward_proj` of T5 says that there is a gate."""


def read_encoder_decoder(fields: Fields, family: Family) -> Shape:
    """Return the shape of a model of two stacks."""
    hidden = fields.count("hidden_size")
    encoder = tuple(_encoder(fields, family))
    decodes = not architecture(fields).endswith(ENCODER_ONLY)
    return Shape(
        hidden_size=hidden,
        vocab_size=fields.count("vocab_size"),
        layers=(*encoder, *(_decoder(fields, family) if decodes else ())),
        ends=(
            *read_ends(fields, family),
            *_encoder_ends(fields, family, hidden),
            *_classifier(fields, hidden),
        ),
        norm_bias=family.norm_bias,
    )


def read_audio_front(fields: Fields) -> Iterator[Tensor]:
    """Return the two convolutions and the positions before an encoder of sound."""
    width, bins = fields.count("hidden_size"), fields.count("num_mel_bins")
    yield plain("encoder.conv1", width, 3 * bins + 1)
    yield plain("encoder.conv2", width, 3 * width + 1)
    yield plain("encoder.embed_positions", fields.count("max_source_positions"), width)


def _encoder(fields: Fields, family: Family) -> Iterator[Layer]:
    for _ in range(_stack(fields, "encoder_layers")):
        attention = _attention(fields, family, "encoder_attention_heads")
        block = _block(fields, family, "encoder_ffn_dim")
        yield Layer((attention,), block, norms=2, remembers=False)


def _decoder(fields: Fields, family: Family) -> Iterator[Layer]:
    source = fields.count("max_source_positions")
    for _ in range(_stack(fields, "decoder_layers")):
        attention = _attention(fields, family, "decoder_attention_heads")
        cross = CrossAttention(attention, source)
        yield Layer((attention, cross), _block(fields, family, "decoder_ffn_dim"), norms=3)


def _stack(fields: Fields, name: str) -> int:
    layers = fields.count(name)
    if layers > MOST_LAYERS:
        raise fields.refusal(name, f"at most {MOST_LAYERS}")
    return layers


def _attention(fields: Fields, family: Family, heads: str) -> Attention:
    """Return the attention of one stack, whose heads have a field of their own."""
    spelled = {**fields.spellings, "num_attention_heads": fields.spellings.get(heads, heads)}
    return plain_attention(replace(fields, spellings=spelled), family)


def _block(fields: Fields, family: Family, width: str) -> FeedForward:
    bias = on(family.mlp_bias, fields)
    gated = (fields.text("feed_forward_proj") or "").startswith(GATED)
    return FeedForward(fields.count(width), gated, bias, bias)


def _encoder_ends(fields: Fields, family: Family, hidden: int) -> Iterator[Tensor]:
    """Return what stands before and after the encoder; its embedding is that of the decoder."""
    if fields.optional_count("num_mel_bins") is not None:
        yield from read_audio_front(fields)
    elif on(family.positions, fields):
        positions = fields.count("max_position_embeddings") + max(0, family.spare_positions)
        yield plain("encoder.embed_positions", positions, hidden)
    if family.embedding_norm:
        yield norm("encoder.embed_norm", hidden, family.norm_bias)
    if family.final_norm:
        yield norm("encoder.norm", hidden, family.norm_bias)
    buckets = fields.optional_count("relative_attention_num_buckets")
    if buckets is not None:
        yield plain("relative_attention_bias", buckets, fields.count("encoder_attention_heads"), 2)


def _classifier(fields: Fields, hidden: int) -> Iterator[Tensor]:
    """Return the inner matrix of a classifier; its rows of labels are a head as any."""
    if architecture(fields).endswith(CLASSIFIER):
        yield from linear("classifier", hidden, hidden, bias=True)
        yield plain("classifier", label_count(fields))
