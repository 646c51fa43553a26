"""The widths of a model that shards divide among them, and the groups that they keep whole."""

from colocate.inputs.huggingface.formats import Format
from colocate.inputs.huggingface.layers.attention import LatentAttention
from colocate.inputs.huggingface.layers.feed_forward import Experts
from colocate.inputs.huggingface.shape import Shape

NOT_CUT = ("nf4", "mxfp4")
"""Formats whose groups engines pad or keep in rows of their own, so that any cut will do."""


def divided_widths(shape: Shape) -> dict[str, int]:
    """Return the widths that shards divide, by what they are of.

    These are the inputs of the matrices that end a block: shards have a part of them each.
    """
    widths = {}
    attention = shape.attention
    if isinstance(attention, LatentAttention):
        widths["attention"] = attention.heads * attention.value_dim
    elif attention is not None:
        widths["attention"] = attention.heads * attention.head_dim
    for layer in shape.layers:
        if isinstance(layer.block, Experts):
            widths["experts"] = layer.block.block.width
            if layer.block.shared_width:
                widths["shared_experts"] = layer.block.shared_width
        elif layer.block is not None:
            widths["feed_forward"] = layer.block.width
    return widths


def weight_group(format_: Format) -> int | None:
    """Return how many inputs of a weight share a scale; None where a cut anywhere will do."""
    if format_.block is None or format_.name in NOT_CUT:
        return None
    return format_.block[1] if format_.block[1] > 1 else None
