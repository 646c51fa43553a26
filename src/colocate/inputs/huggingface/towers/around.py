"""What a kind of model has around its language model: which towers, and the ways in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, plain
from colocate.inputs.huggingface.towers import way_in
from colocate.inputs.huggingface.towers.odd import ODD_TOWERS
from colocate.inputs.huggingface.towers.tower import TOWERS, image_patches, tower_tensors

SECTIONS = ("vision_config", "audio_config")
PHI4_TOWERS = 1_738_438_624
"""Parameters of the towers of Phi-4-multimodal and of their adapters: its published count less its
language model."""


@dataclass(frozen=True)
class TowerSections:
    """What a kind of model has around its language model.

    Parameters
    ----------
    towers
        For each section about a tower: its kind where the section does not name one.
    ways_in
        For each section: what lies between the tower and the language model.
    fixed
        Parameters of towers that have one size and no section of their own.
    """

    towers: Mapping[str, str] = field(default_factory=dict)
    ways_in: Mapping[str, way_in.Projection] = field(default_factory=dict)
    fixed: int = 0


def _seeing(tower: str, way: way_in.Projection) -> TowerSections:
    return TowerSections({"vision_config": tower}, {"vision_config": way})


def _hearing(tower: str, way: way_in.Projection) -> TowerSections:
    return TowerSections({"audio_config": tower}, {"audio_config": way})


CLIP, SIGLIP = "clip_vision_model", "siglip_vision_model"
AROUND = {
    "aya_vision": _seeing(SIGLIP, way_in.halved_patches),
    "clip": _seeing(CLIP, way_in.joint_space),
    "gemma3": _seeing(SIGLIP, way_in.normed_matrix),
    "gemma3n": TowerSections(
        {"vision_config": "gemma3n_vision", "audio_config": "gemma3n_audio"},
        dict.fromkeys(SECTIONS, way_in.own_vocabulary),
    ),
    "gemma4": TowerSections(
        {"vision_config": "gemma4_vision", "audio_config": "gemma4_audio"},
        dict.fromkeys(SECTIONS, way_in.bare_matrix),
    ),
    "glm4v": _seeing("glm4v", way_in.glm_merger),
    "glm4v_moe": _seeing("glm4v", way_in.glm_merger),
    "idefics3": _seeing("idefics3", way_in.shuffled_matrix),
    "internvl": _seeing("internvl_vision", way_in.shuffled_patches),
    "internvl_chat": _seeing("intern_vit_6b", way_in.shuffled_patches),
    "llama4": _seeing("llama4_vision_model", way_in.llama4_adapter),
    "llava": _seeing(CLIP, way_in.two_matrices),
    "llava_next": _seeing(CLIP, way_in.two_and_line_break),
    "llava_onevision": _seeing(SIGLIP, way_in.two_and_line_break),
    "mistral3": _seeing("pixtral", way_in.merged_patches),
    "mllama": _seeing("mllama_vision_model", way_in.llama_vision_matrix),
    "paligemma": _seeing(SIGLIP, way_in.one_matrix),
    "phi4mm": TowerSections(fixed=PHI4_TOWERS),
    "phi4_multimodal": TowerSections(fixed=PHI4_TOWERS),
    "qwen2_audio": _hearing("qwen2_audio_encoder", way_in.one_matrix),
    "qwen2_vl": _seeing("qwen2_vl", way_in.qwen2_merger),
    "qwen2_5_vl": _seeing("qwen2_5_vl", way_in.qwen2_5_merger),
    "qwen3_5": _seeing("qwen3_5", way_in.qwen3_mergers),
    "qwen3_5_moe": _seeing("qwen3_5", way_in.qwen3_mergers),
    "qwen3_vl": _seeing("qwen3_vl", way_in.qwen3_mergers),
    "qwen3_vl_moe": _seeing("qwen3_vl", way_in.qwen3_mergers),
    "siglip": _seeing(SIGLIP, way_in.pooled_picture),
    "smolvlm": _seeing("smolvlm_vision", way_in.shuffled_matrix),
    "voxtral": _hearing("voxtral_encoder", way_in.audio_merger),
}


def around_tensors(whole: Fields, hidden: int) -> tuple[list[Tensor], list[str]]:
    """Return the weights around a language model, and notes on parts that are not counted."""
    around = AROUND.get(whole.text("model_type") or "", TowerSections())
    found: list[Tensor] = [plain("towers", around.fixed)] if around.fixed else []
    notes = []
    for name in SECTIONS:
        section = whole.part(name)
        if section is None or around.fixed:
            continue
        kind = section.text("model_type") or around.towers.get(name, "")
        way = around.ways_in.get(name)
        if way is None or kind not in (*TOWERS, *ODD_TOWERS):
            notes.append(f"{name} is not counted: add the weights of that part")
            continue
        filled = _filled(kind, section)
        found += [*_tower(kind, filled), *way(way_in.TowerInput(filled, whole, hidden))]
    return found, notes


def picture_tokens(whole: Fields) -> int | None:
    """Return the most tokens of a picture that a language model looks at beside its text."""
    tower = whole.part("vision_config")
    if tower is None or tower.optional_count("max_num_tiles") is None:
        return None
    return tower.count("max_num_tiles") * (image_patches(_squared(tower)) + 1)


def _filled(kind: str, section: Fields) -> Fields:
    """Return the fields of a tower with the defaults of its kind."""
    row = TOWERS.get(kind)
    return section if row is None else section.of_family(row.defaults, {})


def _tower(kind: str, section: Fields) -> Iterator[Tensor]:
    squared = _squared(section)
    if kind in ODD_TOWERS:
        return ODD_TOWERS[kind](squared)
    row = TOWERS[kind]
    return tower_tensors(row, squared.of_family(row.defaults, row.spellings))


def _squared(section: Fields) -> Fields:
    """Return the fields of a tower with one number for sides of pictures that are given as two."""
    return section.at_layer(0)
