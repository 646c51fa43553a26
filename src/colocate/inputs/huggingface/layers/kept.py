"""What one layer keeps of a sequence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """What a layer keeps of one sequence, counted in values.

    Parameters
    ----------
    by_token
        For each token, in the format of keys and values.
    bytes_by_token
        For each token, in a format of its own: bytes.
    once
        For the whole sequence, in the format of keys and values: those of another part's tokens.
    convolution
        For the whole sequence, in the format of the model: the last inputs of a convolution.
    recurrent
        For the whole sequence: the state that each token updates. In the format that the config
        states, else in that of the model.
    wide
        Whether the recurrent state is always kept in 32 bits.
    """

    by_token: int = 0
    bytes_by_token: int = 0
    once: int = 0
    convolution: int = 0
    recurrent: int = 0
    wide: bool = False
