"""What is known of a model's shape: its layers, and what its steps and prompts go through.

A config says it all. Of a model with nothing but a size it is guessed, as if it were one of the
usual decoders: alike layers between a table of embeddings and a head.
"""

from math import sqrt

from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.spec import ModelSpec

LAYERS_OF_BILLION = 11.5
"""Layers of a model whose config is unknown, times the root of its billions of parameters: 16 of
1.2, 28 of 3 and 7, 32 of 8, 48 of 14, 64 of 32, 80 of 70 are within a quarter of it."""
MATRICES_OF_LAYER = 12.0
"""Parameters of a layer over the square of its width: 4 of attention and 8 of the feed-forward
network. The widths of Llama and Qwen from 1B to 70B are within a tenth of what follows."""
USUAL_VOCABULARY = 128_000.0
"""Rows of a table of embeddings: Llama 3 and DeepSeek have as many, Qwen a fifth more."""
BYTES_OF_TABLE = 2.0
"""Of each of its parameters: tables are not quantised."""
OWN_HEAD_FROM = 5e9
"""Parameters from which a model has a head of its own; of smaller ones, the table is also the head
(Llama 1B and 3B, Qwen up to 4B)."""


def parameters_of(model: ModelSpec) -> float:
    """Return all parameters of a model, as its size and format say."""
    return (model.size_gb or 0.0) * 1e9 * 8 / bits_of(model.dtype)


def active_of(model: ModelSpec) -> float:
    """Return the parameters that a token meets."""
    return model.active_parameters or parameters_of(model)


def layers_of(model: ModelSpec) -> float:
    """Return the layers of a model, an estimate from its size where they are not stated."""
    if model.layers is not None:
        return float(model.layers)
    return max(LAYERS_OF_BILLION * sqrt(parameters_of(model) / 1e9), 1.0)


def multiplied_parameters(model: ModelSpec) -> float:
    """Return how many parameters every token of a prompt is multiplied by."""
    guessed = active_of(model) - _tables(model) * _table(model)
    return min(model.prompt_parameters or guessed, active_of(model))


def read_bytes(model: ModelSpec) -> float:
    """Return the bytes of weights that a step reads if it meets all experts."""
    weights = (model.size_gb or 0.0) * 1e9
    if model.unread_gb is not None:
        return max(weights - model.unread_gb * 1e9, 0.0)
    guessed = (_tables(model) - 1.0) * _table(model) * BYTES_OF_TABLE
    return max(weights - guessed, 0.0)


def width_of(model: ModelSpec) -> float:
    """Return the width of the layers, as follows from what tokens are multiplied by."""
    return sqrt(multiplied_parameters(model) / (MATRICES_OF_LAYER * layers_of(model)))


def _tables(model: ModelSpec) -> float:
    """Return how many there are, the head included."""
    return 2.0 if parameters_of(model) >= OWN_HEAD_FROM else 1.0


def _table(model: ModelSpec) -> float:
    """Return the parameters of a usual table: those that leave square layers of its width."""
    rows, squares = _tables(model) * USUAL_VOCABULARY, MATRICES_OF_LAYER * layers_of(model)
    width = (sqrt(rows**2 + 4.0 * squares * active_of(model)) - rows) / (2.0 * squares)
    return USUAL_VOCABULARY * width
