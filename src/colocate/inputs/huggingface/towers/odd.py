"""Towers that are not plain stacks of layers."""

from collections.abc import Iterator

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, plain
from colocate.inputs.huggingface.towers.tower import COLOURS, MOST_LAYERS, image_patches

MOBILENET_V5 = 294_126_912
"""Parameters of `mobilenetv5_300m_enc`, counted in the timm library."""
ASPECT_RATIOS = 8
"""Shapes of tiles that Llama 3.2 Vision knows where its config does not list them."""


def llama_vision(fields: Fields) -> Iterator[Tensor]:
    """Return the weights of the tower of Llama 3.2 Vision: tiles, and layers over all of them."""
    width, wide = fields.count("hidden_size"), fields.count("intermediate_size")
    own, joint = fields.count("num_hidden_layers"), fields.count("num_global_layers", least=0)
    if own + joint > MOST_LAYERS:
        raise fields.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    layers, tiles, tokens = own + joint, fields.count("max_num_tiles"), image_patches(fields) + 1
    listed = fields.values.get("supported_aspect_ratios")
    ratios = 1 + (len(listed) if isinstance(listed, list) and listed else ASPECT_RATIOS)
    yield plain("vision.patches", width, COLOURS * fields.count("patch_size") ** 2)
    yield plain("vision.positions", tokens + 1, width)
    yield plain("vision.tile_positions", ratios, tiles * width * (tokens + 2))
    yield plain("vision.gates", 3 + 2 * joint)
    yield plain("vision.norms", width, 2, 2 * layers + 2)
    yield plain("vision.attention", width, 4 * width, layers)
    yield plain("vision.up", wide, width + 1, layers)
    yield plain("vision.down", width, wide + 1, layers)


def mobile_net(fields: Fields) -> Iterator[Tensor]:
    """Return the weights of the tower of Gemma 3n that sees, which has one size."""
    yield plain("vision", MOBILENET_V5)


def conformer(fields: Fields) -> Iterator[Tensor]:
    """Return the weights of the tower of Gemma 3n that hears."""
    width, layers = fields.count("hidden_size"), fields.count("conf_num_hidden_layers")
    heads, kernel = fields.count("conf_num_attention_heads"), fields.count("conf_conv_kernel_size")
    channels = fields.whole_numbers("sscp_conv_channel_size", least=1) or (128, 32)
    if layers > MOST_LAYERS or len(channels) != 2:
        raise fields.refusal("conf_num_hidden_layers", f"at most {MOST_LAYERS}")
    first, second = channels
    area = 3 * 3
    yield plain("audio.convolutions", first * area + first + second * (first * area + 1))
    features = fields.count("input_feat_size") // 4 * second
    yield plain("audio.input", width, features)
    yield plain("audio.attention", width, 5 * width, layers)
    yield plain("audio.wide", 4 * width, width, 4 * layers)
    yield plain("audio.convolution", width, 3 * width + kernel, layers)
    yield plain("audio.norms", width, 9, layers)
    yield plain("audio.scales", width // heads, 1, layers)


def two_way_positions(fields: Fields) -> Iterator[Tensor]:
    """Return the weights of the tower of Gemma 4 that sees: a position is a row and a column."""
    width, wide = fields.count("hidden_size"), fields.count("intermediate_size")
    layers, head_dim = fields.count("num_hidden_layers"), fields.count("head_dim")
    inner = fields.count("num_attention_heads") * head_dim
    if layers > MOST_LAYERS:
        raise fields.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    yield plain("vision.patches", width, COLOURS * fields.count("patch_size") ** 2)
    yield plain("vision.positions", fields.count("position_embedding_size"), width, 2)
    yield plain("vision.norms", width, 4, layers)
    yield plain("vision.attention", width, 4 * inner, layers)
    yield plain("vision.qk_norm", head_dim, 2, layers)
    yield plain("vision.block", wide, 3 * width, layers)


def projected_conformer(fields: Fields) -> Iterator[Tensor]:
    """Return the weights of the tower of Gemma 4 that hears."""
    spelled = fields.of_family({"input_feat_size": 128}, CONFORMER_SPELLINGS)
    yield from conformer(spelled)
    yield plain("audio.output", fields.count("output_proj_dims"), fields.count("hidden_size") + 1)


CONFORMER_SPELLINGS = {
    "conf_num_hidden_layers": "num_hidden_layers",
    "conf_num_attention_heads": "num_attention_heads",
    "conf_conv_kernel_size": "conv_kernel_size",
    "sscp_conv_channel_size": "subsampling_conv_channels",
}
"""How Gemma 4 spells what Gemma 3n has."""

ODD_TOWERS = {
    "gemma3n_audio": conformer,
    "gemma3n_vision": mobile_net,
    "gemma4_audio": projected_conformer,
    "gemma4_vision": two_way_positions,
    "mllama_vision_model": llama_vision,
}
