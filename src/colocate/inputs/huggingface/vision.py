"""The part of a model that sees: a SigLIP tower and the way from it into the language model."""

from collections.abc import Iterator

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensors import Tensor, TensorRole

SIGLIP = "siglip_vision_model"
COLOURS = 3
"""Channels of an image."""
MOST_LAYERS = 1_000
"""A config that states more layers is refused: no tower has as many."""


def vision_tensors(whole: Fields, hidden_size: int) -> tuple[list[Tensor], list[str]]:
    """Return the weights of a tower that is known, and a note on one that is not counted."""
    tower = whole.part("vision_config")
    if tower is None:
        return [], []
    if whole.text("model_type") == "gemma3" and tower.text("model_type") in (None, SIGLIP):
        return list(_siglip(tower, hidden_size)), []
    return [], ["vision_config is not counted: add the weights of the part that sees"]


def _siglip(tower: Fields, hidden_size: int) -> Iterator[Tensor]:
    """Return the weights of SigLIP and of the projection that Gemma 3 puts behind it."""
    width, wide = tower.count("hidden_size"), tower.count("intermediate_size")
    patch, image = tower.count("patch_size"), tower.count("image_size")
    layers = tower.count("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise tower.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    yield _biased("vision.patches", width, COLOURS * patch**2)
    yield Tensor("vision.positions", TensorRole.PLAIN, (image // patch) ** 2, width)
    yield Tensor("vision.norms", TensorRole.PLAIN, 2, width, 2 * layers + 1, 2 * layers + 1)
    yield _biased("vision.attention", width, width, 4 * layers)
    yield _biased("vision.up", wide, width, layers)
    yield _biased("vision.down", width, wide, layers)
    yield Tensor("vision.projection", TensorRole.PLAIN, width, hidden_size + 1)


def _biased(name: str, outputs: int, inputs: int, copies: int = 1) -> Tensor:
    return Tensor(name, TensorRole.PLAIN, outputs, inputs + 1, copies, copies)
