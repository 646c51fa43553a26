"""Towers: stacks of layers that see or hear, one row for each kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from colocate.inputs.huggingface.family import Switch, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, plain

COLOURS = 3
"""Channels of an image."""
MOST_LAYERS = 1_000
"""A config that states more layers is refused: no tower has as many."""
RMS_NORM = "rms_norm"
"""The type of norm that has no bias."""


@dataclass(frozen=True)
class Tower:
    """What is particular about a kind of tower; the values of a plain row are those of SigLIP.

    Parameters
    ----------
    gated
        Whether feed-forward blocks have a gate.
    bias, output_bias, key_bias, mlp_bias, norm_bias, patch_bias
        Which weights come with a bias.
    qk_norm
        Whether queries and keys have norms as wide as the tower.
    scaled
        Whether each layer scales what it adds.
    class_token
        Whether one token stands for the whole picture.
    positions
        Whether each patch of a picture has an embedding.
    norms
        Outside of the layers.
    hears
        Whether it begins with two convolutions over sound instead of patches.
    spellings
        How it spells fields.
    defaults
        Of its configuration class, for fields that configs on the hub leave out.
    """

    gated: bool = False
    bias: Switch = True
    output_bias: Switch = True
    key_bias: bool = True
    mlp_bias: bool = True
    norm_bias: bool = True
    patch_bias: bool = True
    qk_norm: Switch = False
    scaled: bool = False
    class_token: bool = False
    positions: bool = True
    norms: int = 1
    hears: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)


SIGLIP = Tower()
CLIP = Tower(patch_bias=False, class_token=True, norms=2)
IDEFICS = Tower(
    defaults={
        "hidden_size": 1152,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "image_size": 224,
        "patch_size": 32,
    }
)
QWEN = {"num_hidden_layers": "depth"}
NO_MERGE = {"temporal_patch_size": 2}
QWEN2_VL = Tower(
    patch_bias=False,
    positions=False,
    norms=0,
    spellings={**QWEN, "hidden_size": "embed_dim"},
    defaults=NO_MERGE,
)
QWEN2_5_VL = replace(QWEN2_VL, gated=True, norm_bias=False, spellings=QWEN)
QWEN3_VL = Tower(norms=0, spellings=QWEN, defaults=NO_MERGE)
INTERN_VIT = Tower(
    bias="attention_bias", qk_norm="use_qk_norm", scaled=True, class_token=True, norms=0
)
GLM4V = Tower(
    gated=True,
    bias="attention_bias",
    output_bias="attention_bias",
    mlp_bias=False,
    norm_bias=False,
    norms=2,
    spellings={**QWEN, "intermediate_size": "out_hidden_size"},
    defaults=NO_MERGE,
)
WHISPER = Tower(key_bias=False, hears=True)

TOWERS = {
    "clip_vision_model": CLIP,
    "glm4v": GLM4V,
    "glm4v_vision": GLM4V,
    "glm4v_moe": GLM4V,
    "glm4v_moe_vision": GLM4V,
    "idefics3": IDEFICS,
    "idefics3_vision": IDEFICS,
    "intern_vit_6b": replace(
        INTERN_VIT, spellings={"attention_bias": "qkv_bias", "use_qk_norm": "qk_normalization"}
    ),
    "internvl_vision": INTERN_VIT,
    "llama4_vision_model": CLIP,
    "pixtral": Tower(
        gated=True,
        bias=False,
        output_bias=False,
        mlp_bias=False,
        norm_bias=False,
        patch_bias=False,
        positions=False,
        defaults={
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "patch_size": 16,
        },
    ),
    "qwen2_vl": QWEN2_VL,
    "qwen2_vl_vision": QWEN2_VL,
    "qwen2_5_vl": QWEN2_5_VL,
    "qwen2_5_vl_vision": QWEN2_5_VL,
    "qwen3_5": QWEN3_VL,
    "qwen3_5_moe": QWEN3_VL,
    "qwen3_5_moe_vision": QWEN3_VL,
    "qwen3_5_vision": QWEN3_VL,
    "qwen3_vl": QWEN3_VL,
    "qwen3_vl_vision": QWEN3_VL,
    "qwen3_vl_moe": QWEN3_VL,
    "qwen3_vl_moe_vision": QWEN3_VL,
    "qwen2_audio_encoder": replace(
        WHISPER,
        spellings={"num_hidden_layers": "encoder_layers", "intermediate_size": "encoder_ffn_dim"},
    ),
    "siglip_vision_model": SIGLIP,
    "smolvlm_vision": IDEFICS,
    "voxtral_encoder": WHISPER,
}


def tower_tensors(tower: Tower, fields: Fields) -> Iterator[Tensor]:
    """Return the weights of a tower."""
    width, layers = fields.count("hidden_size"), fields.count("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise fields.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    front = _sound if tower.hears else _patches
    yield from front(tower, fields, width)
    yield from _layers(tower, fields, width, layers)


def image_patches(fields: Fields) -> int:
    """Return how many patches a picture has."""
    counted = fields.optional_count("num_position_embeddings")
    if counted is not None:
        return counted
    return (fields.count("image_size") // fields.count("patch_size")) ** 2


def _patches(tower: Tower, fields: Fields, width: int) -> Iterator[Tensor]:
    depth = fields.optional_count("temporal_patch_size") or 1
    inputs = COLOURS * depth * fields.count("patch_size") ** 2
    yield plain("vision.patches", width, inputs + tower.patch_bias)
    if tower.positions:
        yield plain("vision.positions", image_patches(fields) + tower.class_token, width)
    if tower.class_token:
        yield plain("vision.class", width)


def _sound(tower: Tower, fields: Fields, width: int) -> Iterator[Tensor]:
    yield plain("audio.conv1", width, 3 * fields.count("num_mel_bins") + 1)
    yield plain("audio.conv2", width, 3 * width + 1)
    yield plain("audio.positions", fields.count("max_source_positions"), width)


def _layers(tower: Tower, fields: Fields, width: int, layers: int) -> Iterator[Tensor]:
    wide = _wide(fields, width)
    norm_bias = tower.norm_bias and fields.text("norm_type") != RMS_NORM
    biases = (2 + tower.key_bias) * on(tower.bias, fields) + on(tower.output_bias, fields)
    matrices = 2 if tower.gated else 1
    norms = 2 * layers + tower.norms
    yield plain("vision.norms", width, 1 + norm_bias, norms)
    yield plain("vision.attention", width, 4 * width + biases, layers)
    yield plain("vision.up", wide, width + tower.mlp_bias, matrices * layers)
    yield plain("vision.down", width, wide + tower.mlp_bias, layers)
    if on(tower.qk_norm, fields):
        yield plain("vision.qk_norm", width, 2, layers)
    if tower.scaled:
        yield plain("vision.scales", width, 2, layers)


def _wide(fields: Fields, width: int) -> int:
    ratio = fields.optional_count("mlp_ratio")
    return fields.count("intermediate_size") if ratio is None else ratio * width
