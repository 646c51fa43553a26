"""A small embedding for each layer, which Gemma has had since 3n."""

from collections.abc import Iterator

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, linear, norm, table


def layer_inputs(name: str, hidden: int, small: int) -> Iterator[Tensor]:
    """Return what a layer has to take in its small embedding.

    Parameters
    ----------
    name
        Which layer.
    hidden, small
        Widths: of what it works on, and of its small embedding.
    """
    yield from linear(f"{name}.per_layer_input_gate", small, hidden)
    yield from linear(f"{name}.per_layer_projection", hidden, small)
    yield norm(f"{name}.post_per_layer_input_norm", hidden)


def model_inputs(fields: Fields, layers: int) -> Iterator[Tensor]:
    """Return the small embeddings of all layers, which are one table."""
    hidden, small = fields.count("hidden_size"), fields.count("hidden_size_per_layer_input")
    rows = fields.count("vocab_size_per_layer_input")
    yield table("embed_tokens_per_layer", rows, layers * small)
    yield from linear("per_layer_model_projection", layers * small, hidden)
    yield norm("per_layer_projection_norm", small)
