"""The way from a tower into the language model: what lies between, by kind of model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, norm, plain


@dataclass(frozen=True)
class TowerInput:
    """Both ends of the way.

    Parameters
    ----------
    tower
        The fields of the tower.
    whole
        The fields of the whole config.
    hidden
        The hidden size of the language model.
    """

    tower: Fields
    whole: Fields
    hidden: int

    @property
    def outputs(self) -> int:
        """How wide the tower's outputs become: as wide as the model, unless it says otherwise."""
        return self.tower.optional_count("out_hidden_size") or self.hidden


Projection = Callable[[TowerInput], Iterator[Tensor]]
"""Counts the weights between both ends."""


def two_matrices(way: TowerInput) -> Iterator[Tensor]:
    """LLaVA: two matrices with biases."""
    yield from _two(way.tower.count("hidden_size"), way.hidden, way.hidden)


def two_and_line_break(way: TowerInput) -> Iterator[Tensor]:
    """LLaVA-NeXT: two matrices, and a token for the end of a row of patches."""
    yield from two_matrices(way)
    yield plain("projector.newline", way.hidden)


def normed_matrix(way: TowerInput) -> Iterator[Tensor]:
    """Gemma 3: a norm and a matrix."""
    yield plain("projector", way.tower.count("hidden_size"), way.hidden + 1)


def one_matrix(way: TowerInput) -> Iterator[Tensor]:
    """PaliGemma, Qwen2-Audio: a matrix with a bias."""
    yield plain("projector", way.hidden, way.tower.count("hidden_size") + 1)


def shuffled_matrix(way: TowerInput) -> Iterator[Tensor]:
    """Idefics3, SmolVLM: a matrix over several patches at once."""
    merged = way.whole.count("scale_factor") ** 2
    yield plain("projector", way.hidden, merged * way.tower.count("hidden_size"))


def merged_patches(way: TowerInput) -> Iterator[Tensor]:
    """Mistral Small 3.1: patches merge, then two matrices."""
    width, merged = way.tower.count("hidden_size"), way.whole.count("spatial_merge_size") ** 2
    bias = way.whole.switch("multimodal_projector_bias")
    yield norm("projector.norm", width)
    yield plain("projector.merger", width, merged * width)
    yield plain("projector.first", way.hidden, width + bias)
    yield plain("projector.second", way.hidden, way.hidden + bias)


def shuffled_patches(way: TowerInput) -> Iterator[Tensor]:
    """InternVL: a norm over four patches, then two matrices."""
    width = 4 * way.tower.count("hidden_size")
    yield norm("projector.norm", width, bias=True)
    yield from _two(width, way.hidden, way.hidden)


def halved_patches(way: TowerInput) -> Iterator[Tensor]:
    """Aya Vision: a norm over four patches, a wide matrix whose halves multiply, and one back."""
    width = way.whole.count("downsample_factor") ** 2 * way.tower.count("hidden_size")
    wide = way.whole.count("alignment_intermediate_size")
    yield norm("projector.norm", width, bias=True)
    yield plain("projector.first", wide, width + 1)
    yield plain("projector.second", way.hidden, wide // 2 + 1)


def qwen2_merger(way: TowerInput) -> Iterator[Tensor]:
    """Qwen2-VL: a norm with a bias, then two matrices over merged patches."""
    yield from _qwen_merger(way.tower, way.tower.count("embed_dim"), way.hidden, norm_bias=True)


def qwen2_5_merger(way: TowerInput) -> Iterator[Tensor]:
    """Qwen2.5-VL: the same with a norm without a bias."""
    yield from _qwen_merger(way.tower, way.tower.count("hidden_size"), way.outputs, norm_bias=False)


def qwen3_mergers(way: TowerInput) -> Iterator[Tensor]:
    """Qwen3-VL: a merger at the end, and one at each of some layers."""
    width = way.tower.count("hidden_size")
    yield from _qwen_merger(way.tower, width, way.outputs, norm_bias=True)
    merged = _merged(way.tower) * width
    for _ in way.tower.whole_numbers("deepstack_visual_indexes")[:100]:
        yield norm("projector.norm", merged, bias=True)
        yield from _two(merged, merged, way.outputs)


def glm_merger(way: TowerInput) -> Iterator[Tensor]:
    """GLM-4V: a convolution over four patches, a matrix, and a gated block."""
    width, out = way.tower.count("hidden_size"), way.tower.count("out_hidden_size")
    yield plain("projector.downsample", out, _merged(way.tower) * width + 1)
    yield plain("projector", out, out)
    yield norm("projector.norm", out, bias=True)
    yield plain("projector.block", way.tower.count("intermediate_size"), out, 3)


def llama4_adapter(way: TowerInput) -> Iterator[Tensor]:
    """Llama 4: an adapter of two matrices over four patches, and one matrix into the model."""
    first, second = way.tower.count("projector_input_dim"), way.tower.count("projector_output_dim")
    yield plain("projector.first", first, way.tower.count("intermediate_size"))
    yield plain("projector.second", second, first)
    yield plain("projector.third", way.hidden, way.tower.count("vision_output_dim"))


def llama_vision_matrix(way: TowerInput) -> Iterator[Tensor]:
    """Llama 3.2 Vision: a matrix with a bias over the outputs of several layers."""
    yield plain("projector", way.hidden, way.tower.count("vision_output_dim") + 1)


def audio_merger(way: TowerInput) -> Iterator[Tensor]:
    """Voxtral: two matrices over four steps of sound."""
    yield plain("projector.first", way.hidden, way.tower.count("intermediate_size"))
    yield plain("projector.second", way.hidden, way.hidden)


def own_vocabulary(way: TowerInput) -> Iterator[Tensor]:
    """Gemma 3n: a small vocabulary of its own, two norms and a matrix."""
    width = way.tower.count("hidden_size")
    yield plain("projector.embedding", way.tower.count("vocab_size") + 2, width)
    yield plain("projector", way.hidden, width)


def bare_matrix(way: TowerInput) -> Iterator[Tensor]:
    """Gemma 4: a matrix without a bias."""
    width = way.tower.optional_count("output_proj_dims") or way.tower.count("hidden_size")
    yield plain("projector", way.hidden, width)


def joint_space(way: TowerInput) -> Iterator[Tensor]:
    """CLIP: text and pictures are projected into one space."""
    space = way.whole.count("projection_dim")
    yield plain("projector", space, way.tower.count("hidden_size") + way.hidden)
    yield plain("scale", 1)


def pooled_picture(way: TowerInput) -> Iterator[Tensor]:
    """SigLIP: attention of one learned token and a block pool a picture; two numbers scale."""
    width, wide = way.tower.count("hidden_size"), way.tower.count("intermediate_size")
    yield plain("projector.attention", width, 4 * width + 5)
    yield norm("projector.norm", width, bias=True)
    yield from _two(width, wide, width)
    yield plain("scale", 2)


def _two(inputs: int, inner: int, outputs: int) -> Iterator[Tensor]:
    yield plain("projector.first", inner, inputs + 1)
    yield plain("projector.second", outputs, inner + 1)


def _merged(tower: Fields) -> int:
    """Return how many patches become one."""
    return (tower.optional_count("spatial_merge_size") or 2) ** 2


def _qwen_merger(tower: Fields, width: int, hidden: int, norm_bias: bool) -> Iterator[Tensor]:
    merged = _merged(tower) * width
    yield norm("projector.norm", width, norm_bias)
    yield from _two(merged, merged, hidden)
