"""What one sequence takes beside the weights: for each token, and once."""

from dataclasses import dataclass

from colocate.inputs.huggingface.shape import Shape

WIDE_BITS = 32
"""Of a recurrent state that loses too much in 16."""


@dataclass(frozen=True)
class SequenceBytes:
    """What one sequence takes.

    Parameters
    ----------
    growing
        For each token of the context.
    windowed
        For each of the last `window` tokens, on top.
    window
        None where no layer is windowed.
    fixed
        Once, however long it is.
    notes
        Sentences on what `fixed` holds.
    """

    growing: int
    windowed: int
    window: int | None
    fixed: int
    notes: tuple[str, ...]


def sequence_bytes(shape: Shape, kv_bits: int, plain_bits: int, limit: int | None) -> SequenceBytes:
    """Return what one sequence of a model takes.

    Parameters
    ----------
    shape
        Of the model.
    kv_bits
        Of a key or a value.
    plain_bits
        Of a weight that is not quantised, as of a state.
    limit
        The longest context: a window that reaches it is none.
    """
    growing = windowed = once = states = 0
    windows: set[int] = set()
    for kept, window in shape.kept():
        by_token = kept.by_token * kv_bits // 8 + kept.bytes_by_token
        if not by_token or window is None or (limit is not None and window >= limit):
            growing += by_token
        else:
            windowed += by_token
            windows.add(window)
        once += kept.once * kv_bits // 8
        recurrent_bits = WIDE_BITS if kept.wide else plain_bits
        states += (kept.convolution * plain_bits + kept.recurrent * recurrent_bits) // 8
    notes = []
    if once:
        notes.append(
            "state_bytes has the keys and values of the longest input that the decoder looks at"
        )
    return SequenceBytes(growing, windowed, max(windows, default=None), once + states, tuple(notes))
