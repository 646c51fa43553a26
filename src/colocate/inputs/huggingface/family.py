"""What is particular about a family of models, told as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.layer import Mixer
from colocate.inputs.huggingface.shape import Shape

Switch = bool | str
"""Fixed by the family, or the name of the field that decides."""
Kinds = Callable[[Fields], tuple[str, ...]]
"""Finds the kind of every layer."""
MixerReader = Callable[[Fields, "Family"], tuple[Mixer, ...]]
"""Reads what mixes the tokens in a layer of one kind."""
ShapeReader = Callable[[Fields, "Family"], Shape]
"""Reads a whole model whose layers are not like those of the others."""

NO_WINDOW, EVERY_LAYER = 0, 1
"""Patterns of windows: no layer has one, or each has; with n, all but every n-th layer have."""
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
STATE, CROSS = "linear_attention", "cross_attention"
"""Kinds of layers: a fixed state, and attention to another part."""


@dataclass(frozen=True)
class Family:
    """What is particular about a family; the values of a plain row are those of Llama.

    Parameters
    ----------
    tied
        Whether the head is the embedding where `tie_word_embeddings` is left out.
    qkv_bias, output_bias, mlp_bias, norm_bias, head_bias, router_bias, expert_bias
        Which weights come with a bias.
    key_bias
        Whether keys have one where queries and values have.
    down_bias
        Whether the matrix down has one; None is as the matrices up.
    gated
        Whether the feed-forward block has a gate, so three matrices instead of two.
    norms, single_norm
        Norms in a layer; only one where attention and feed-forward run side by side.
    spare_norm
        Whether the first layer has a norm less.
    final_norm
        Whether a norm follows the last layer.
    qk_norm, qk_norm_of_all_heads, qk_norm_bias
        Norms of queries and keys, one for each head or one weight for all of them; whether they
        have a bias where other norms have one.
    output_gate
        Whether the output of attention has a gate.
    window_pattern
        With a `sliding_window`: 1 applies it to every layer, n to all but each n-th.
    window_switch
        The field that must be true for windows to apply at all.
    kinds
        How the kinds of layers are found where `layer_types` does not say; None is by windows.
    mixers
        What mixes the tokens in layers that are not attention, by their kind.
    bare_mixers, bare_blocks
        Kinds of layers without a feed-forward block, and with nothing but one.
    positions
        Whether positions are learned, so that they have an embedding.
    spare_positions
        Its rows beyond `max_position_embeddings`; below 0, rows that no token uses.
    default_width
        Width of the feed-forward block in hidden sizes where none is given.
    causal
        Whether a token sees earlier ones only, so that their keys and values are kept.
    pooled
        Whether a bare encoder ends in a matrix that pools its outputs.
    headed
        Whether a class that is called a bare model has a head all the same.
    head_norm_bias
        Whether the head of a masked model has biases besides that of its outputs.
    spellings
        How the family spells fields; a dot leads into a section.
    read
        How a model is read whose layers are not like those of the others.
    """

    tied: bool = False
    qkv_bias: Switch = "attention_bias"
    output_bias: Switch = "attention_bias"
    mlp_bias: Switch = "mlp_bias"
    norm_bias: bool = False
    head_bias: Switch = False
    router_bias: bool = False
    expert_bias: bool = False
    key_bias: bool = True
    down_bias: bool | None = None
    shared_expert_gate: bool = False
    gated: bool = True
    norms: int = 2
    single_norm: Switch = False
    spare_norm: bool = False
    final_norm: bool = True
    qk_norm: Switch = False
    qk_norm_of_all_heads: bool = False
    qk_norm_bias: bool = True
    output_gate: bool = False
    attention_sinks: bool = False
    embedding_norm: bool = False
    positions: Switch = False
    spare_positions: int = 0
    window_pattern: int = NO_WINDOW
    window_switch: str | None = None
    kinds: Kinds | None = None
    mixers: Mapping[str, MixerReader] = field(default_factory=dict)
    bare_mixers: frozenset[str] = frozenset()
    bare_blocks: frozenset[str] = frozenset()
    default_width: int | None = None
    causal: bool = True
    pooled: bool = False
    headed: bool = False
    head_norm_bias: bool = True
    spellings: Mapping[str, str] = field(default_factory=dict)
    read: ShapeReader | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


BIASED = Family(qkv_bias=True, output_bias=True, mlp_bias=True, norm_bias=True, gated=False)
"""As models were before Llama."""


def on(switch: Switch, fields: Fields) -> bool:
    """Say whether a switch is on: by the family, or by the field that it names."""
    return fields.switch(switch) if isinstance(switch, str) else switch
