"""What a model is made of, in the same words for every family."""

from collections.abc import Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.layers.attention import Attention, LatentAttention
from colocate.inputs.huggingface.layers.feed_forward import Experts
from colocate.inputs.huggingface.layers.kept import Kept
from colocate.inputs.huggingface.layers.layer import Layer
from colocate.inputs.huggingface.tensor import Tensor, TensorRole


@dataclass(frozen=True)
class Shape:
    """A whole model without its towers.

    Parameters
    ----------
    ends
        What stands before the first layer and after the last, and beside them.
    """

    hidden_size: int
    vocab_size: int
    layers: tuple[Layer, ...]
    ends: tuple[Tensor, ...]
    norm_bias: bool = False

    def tensors(self) -> Iterator[Tensor]:
        """Return the weights, layer by layer."""
        yield from self.ends
        for number, layer in enumerate(self.layers):
            yield from layer.tensors(f"layers.{number}", self.hidden_size, self.norm_bias)

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """Embeddings, of which a token looks up a row each."""
        return tuple(tensor for tensor in self.ends if tensor.role is TensorRole.TABLE)

    @property
    def head(self) -> Tensor:
        """What turns the last token into words: where there is no matrix for it, the embeddings."""
        named = {tensor.name: tensor for tensor in self.ends if tensor.inputs > 1}
        return named.get("lm_head", named["embed_tokens"])

    @property
    def attention(self) -> Attention | LatentAttention | None:
        """The first attention, None where there is none; that of other layers has as many heads."""
        for layer in self.layers:
            for mixer in layer.mixers:
                if isinstance(mixer, Attention | LatentAttention):
                    return mixer
        return None

    @property
    def has_experts(self) -> bool:
        """Whether any layer is a mixture of experts."""
        return any(isinstance(layer.block, Experts) for layer in self.layers)

    def kept(self) -> Iterator[tuple[Kept, int | None]]:
        """Return what each layer keeps of a sequence, and the window of its attention."""
        for layer in self.layers:
            if layer.remembers:
                for mixer in layer.mixers:
                    yield mixer.kept, layer.window
