"""The widths of a model that shards divide among them, and the groups that they keep whole."""

from colocate.inputs.huggingface.formats import Format
from colocate.inputs.huggingface.shape import LatentAttention, Shape

NOT_CUT = ("nf4", "mxfp4")
"""Formats whose groups engines pad or keep in rows of their own, so that any cut will do."""


def divided_widths(shape: Shape) -> dict[str, int]:
    """Return the widths that shards divide, by what they are of.

    These are the inputs of the matrices that end a block: shards have a part of them each.
    """
    attention = shape.attention
    dim = attention.head_dim
    if isinstance(attention, LatentAttention):
        dim = attention.value_dim
    widths = {"attention": attention.heads * dim}
    experts = shape.experts
    if experts is None or len(experts.layers) < shape.layers:
        widths["feed_forward"] = shape.feed_forward.width
    if experts is not None:
        widths["experts"] = experts.block.width
        if experts.shared_width:
            widths["shared_experts"] = experts.shared_width
    return widths


def weight_group(format_: Format) -> int | None:
    """Return how many inputs of a weight share a scale; None where a cut anywhere will do."""
    if format_.block is None or format_.name in NOT_CUT:
        return None
    return format_.block[1] if format_.block[1] > 1 else None
