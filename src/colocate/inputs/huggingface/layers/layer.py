"""One layer: what mixes tokens, what follows, and how long it remembers."""

from collections.abc import Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.layers.attention import (
    Attention,
    CrossAttention,
    LatentAttention,
)
from colocate.inputs.huggingface.layers.feed_forward import Experts, FeedForward
from colocate.inputs.huggingface.layers.state import (
    DeltaNet,
    KimiDelta,
    LightningAttention,
    Mamba,
    Mamba2,
    ShortConvolution,
)
from colocate.inputs.huggingface.tensor import Tensor, norm

State = Mamba | Mamba2 | DeltaNet | KimiDelta | LightningAttention | ShortConvolution
Mixer = Attention | LatentAttention | CrossAttention | State
"""What lets a token see the others."""


@dataclass(frozen=True)
class Layer:
    """One layer of a model.

    Parameters
    ----------
    mixers
        Mostly one; two where attention and a state run side by side, or follow one another.
    block
        The feed-forward part, None where the layer has none.
    norms
        How many, each as wide as the hidden size.
    window
        How many tokens its attention keeps, None where it keeps all of them.
    remembers
        Whether it keeps anything: an encoder does not, nor does a layer that reads the keys and
        values of an earlier one.
    others
        Weights that only layers of this family have.
    """

    mixers: tuple[Mixer, ...]
    block: FeedForward | Experts | None
    norms: int
    window: int | None = None
    remembers: bool = True
    others: tuple[Tensor, ...] = ()

    def tensors(self, name: str, hidden: int, norm_bias: bool) -> Iterator[Tensor]:
        """Return the weights.

        Parameters
        ----------
        name
            Of the layer.
        hidden
            The hidden size.
        norm_bias
            Whether norms have a bias.
        """
        for _ in range(self.norms):
            yield norm(f"{name}.norm", hidden, norm_bias)
        for mixer in self.mixers:
            yield from mixer.tensors(f"{name}.{mixer.module}", hidden)
        if self.block is not None:
            yield from self.block.tensors(f"{name}.mlp", hidden)
        yield from self.others
