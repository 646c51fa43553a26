"""From the fields of a config to a stack of layers: decoders, hybrids and encoders."""

from colocate.inputs.huggingface.family import CHUNKED, FULL, SLIDING, Family, MixerReader, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.layer import Layer, Mixer
from colocate.inputs.huggingface.reading.attention import NEW_FALCON, read_attention
from colocate.inputs.huggingface.reading.ends import read_ends
from colocate.inputs.huggingface.reading.feed_forward import read_block, sparse_layers
from colocate.inputs.huggingface.reading.kinds import layer_kinds
from colocate.inputs.huggingface.shape import Shape

ATTENTION: dict[str, MixerReader] = dict.fromkeys(
    (FULL, SLIDING, CHUNKED, "attention"), read_attention
)
LENGTHS = {SLIDING: "sliding_window", CHUNKED: "attention_chunk_size"}
"""The field that says how many tokens a layer of a kind keeps."""


def read_stack(fields: Fields, family: Family) -> Shape:
    """Return the shape of a model whose layers follow one another."""
    return Shape(
        hidden_size=fields.count("hidden_size"),
        vocab_size=fields.count("vocab_size"),
        layers=read_layers(fields, family),
        ends=tuple(read_ends(fields, family)),
        norm_bias=family.norm_bias,
    )


def read_layers(fields: Fields, family: Family) -> tuple[Layer, ...]:
    """Return the layers."""
    kinds = layer_kinds(fields, family)
    readers = {**ATTENTION, **family.mixers}
    strange = set(kinds) - set(readers) - family.bare_blocks
    if strange:
        expected = f"a list of: {', '.join(sorted({*readers, *family.bare_blocks}))}"
        raise fields.refusal("layer_types", expected)
    sparse = sparse_layers(fields, len(kinds))
    return tuple(
        _layer(fields.at_layer(number), family, kind, number in sparse)
        for number, kind in enumerate(kinds)
    )


def _layer(fields: Fields, family: Family, kind: str, sparse: bool) -> Layer:
    mixers: tuple[Mixer, ...] = ()
    if kind not in family.bare_blocks:
        mixers = {**ATTENTION, **family.mixers}[kind](fields, family)
    block = (
        None if kind in family.bare_mixers else read_block(fields, family, _sparse(kind, sparse))
    )
    length = LENGTHS.get(kind)
    return Layer(
        mixers=mixers,
        block=block,
        norms=_norms(fields, family),
        window=None if length is None else fields.optional_count(length),
        remembers=family.causal,
    )


def _sparse(kind: str, sparse: bool) -> bool:
    """Say whether a layer has experts; a layer of nothing else says so itself."""
    return {"moe": True, "mlp": False}.get(kind, sparse)


def _norms(fields: Fields, family: Family) -> int:
    side_by_side = on(family.single_norm, fields) and not fields.switch(NEW_FALCON)
    norms = 1 if side_by_side else family.norms
    return norms - (family.spare_norm and fields.layer == 0)
