"""From the fields of a config to the shape of the model."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from colocate.errors import InputError
from colocate.fault import shown
from colocate.inputs.huggingface.families import (
    FAMILIES,
    LLAMA,
    NESTED_DEFAULTS,
    NO_WINDOW,
    Family,
    Switch,
)
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.shape import (
    Attention,
    Cache,
    Experts,
    FeedForward,
    LatentAttention,
    Shape,
)

MOST_LAYERS = 1_000
TEXT_SECTIONS = ("text_config", "llm_config", "language_config")
NEW_FALCON = "new_decoder_architecture"
"""Falcon 40B and later: grouped attention instead of one key for all, and two norms."""
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


@dataclass(frozen=True)
class Reading:
    """A shape, the fields it was read from, and what a reader should know about it."""

    shape: Shape
    fields: Fields
    notes: tuple[str, ...]


def read_shape(whole: Fields) -> Reading:
    """Return the shape of the language model that a config describes."""
    if whole.switch("is_encoder_decoder"):
        raise whole.refusal("is_encoder_decoder", "false: only decoders are known")
    text = _text_section(whole)
    model_type = text.text("model_type") or whole.text("model_type")
    if model_type is None:
        raise InputError.missing(f"{text.section}model_type", "a text such as 'llama'")
    notes = []
    if model_type not in FAMILIES:
        notes.append(f"model_type={shown(model_type)} is not known, counted like llama")
    family = FAMILIES.get(model_type, LLAMA)
    fields = text.with_defaults(_defaults(family, model_type, whole, text))
    cache, cache_notes = _cache(fields, family)
    shape = _shape(fields, family, model_type, cache)
    return Reading(shape, fields, (*notes, *cache_notes))


def _text_section(whole: Fields) -> Fields:
    """Return the part about language: models that also see or hear keep it in a section."""
    for name in TEXT_SECTIONS:
        part = whole.part(name)
        if part is not None:
            return part
    return whole


def _defaults(family: Family, model_type: str, whole: Fields, text: Fields) -> dict[str, Any]:
    """Return what holds for the fields that are left out."""
    defaults = {"tie_word_embeddings": family.tied, **family.defaults}
    if text is not whole:
        defaults.update(NESTED_DEFAULTS.get(model_type, {}))
        if whole.values.get("tie_word_embeddings") is not None:
            defaults["tie_word_embeddings"] = whole.switch("tie_word_embeddings")
    return defaults


def _shape(fields: Fields, family: Family, model_type: str, cache: Cache) -> Shape:
    hidden = fields.count("hidden_size")
    experts = _experts(fields, family)
    positions = 0
    if family.positions:
        positions = fields.count("max_position_embeddings") + family.spare_positions
    return Shape(
        model_type=model_type,
        layers=_layers(fields),
        hidden_size=hidden,
        vocab_size=fields.count("vocab_size"),
        attention=_attention(fields, family),
        feed_forward=_feed_forward(fields, family, experts),
        experts=experts,
        cache=cache,
        tied=fields.switch("tie_word_embeddings"),
        norms=_norms(fields, family),
        norm_bias=family.norm_bias,
        head_bias=_on(family.head_bias, fields),
        positions=positions,
        embedding_width=fields.optional_count("word_embed_proj_dim") or hidden,
        embedding_norm=family.embedding_norm,
    )


def _norms(fields: Fields, family: Family) -> int:
    side_by_side = _on(family.single_norm, fields) and not fields.switch(NEW_FALCON)
    return 1 if side_by_side else family.norms


def _attention(fields: Fields, family: Family) -> Attention | LatentAttention:
    heads = fields.count("num_attention_heads")
    kv_rank = fields.optional_count("kv_lora_rank")
    if kv_rank is not None:
        return LatentAttention(
            heads=heads,
            query_rank=fields.optional_count("q_lora_rank"),
            kv_rank=kv_rank,
            plain_dim=fields.count("qk_nope_head_dim"),
            rotary_dim=fields.count("qk_rope_head_dim"),
            value_dim=fields.count("v_head_dim"),
            bias=_on(family.output_bias, fields),
        )
    return Attention(
        heads=heads,
        kv_heads=_kv_heads(fields, heads),
        head_dim=_head_dim(fields, heads),
        qkv_bias=_on(family.qkv_bias, fields),
        output_bias=_on(family.output_bias, fields),
        norm=_on(family.qk_norm, fields),
        norm_of_all_heads=family.qk_norm_of_all_heads,
        sinks=family.attention_sinks,
    )


def _kv_heads(fields: Fields, heads: int) -> int:
    if fields.switch("multi_query") and not fields.switch(NEW_FALCON):
        return 1
    kv_heads = fields.optional_count("num_key_value_heads") or heads
    if heads % kv_heads:
        raise fields.refusal("num_key_value_heads", f"a divisor of num_attention_heads={heads}")
    return kv_heads


def _head_dim(fields: Fields, heads: int) -> int:
    head_dim = fields.optional_count("head_dim")
    if head_dim is not None:
        return head_dim
    hidden = fields.count("hidden_size")
    if hidden % heads:
        raise fields.refusal("num_attention_heads", f"a divisor of hidden_size={hidden}")
    return hidden // heads


def _feed_forward(fields: Fields, family: Family, experts: Experts | None) -> FeedForward:
    width = _width(fields, family)
    if width is None and experts is not None and len(experts.layers) == _layers(fields):
        width = experts.block.width
    return FeedForward(
        width=width or fields.count("intermediate_size"),
        gated=family.gated,
        bias=_on(family.mlp_bias, fields),
    )


def _width(fields: Fields, family: Family) -> int | None:
    width = fields.optional_count("intermediate_size")
    if width is None and family.default_width is not None:
        return family.default_width * fields.count("hidden_size")
    return width


def _experts(fields: Fields, family: Family) -> Experts | None:
    count = fields.optional_count("num_experts", least=0)
    if not count:
        return None
    chosen = fields.count("num_experts_per_tok")
    if chosen > count:
        raise fields.refusal("num_experts_per_tok", f"at most num_experts={count}")
    width = fields.optional_count("moe_intermediate_size") or fields.count("intermediate_size")
    shared = fields.optional_count("n_shared_experts", least=0) or 0
    shared_width = fields.optional_count("shared_expert_intermediate_size", least=0)
    return Experts(
        count=count,
        chosen=chosen,
        block=FeedForward(width, family.gated, family.expert_bias),
        shared_width=shared * width if shared_width is None else shared_width,
        shared_gate=family.shared_expert_gate,
        router_bias=family.router_bias,
        layers=frozenset(_sparse_layers(fields)),
    )


def _sparse_layers(fields: Fields) -> Iterable[int]:
    """Return the layers with experts; the others have one wide feed-forward block."""
    first = fields.optional_count("first_k_dense_replace", least=0) or 0
    frequency = fields.optional_count("moe_layer_freq") or 1
    step = fields.optional_count("decoder_sparse_step") or 1
    dense = set(fields.whole_numbers("mlp_only_layers"))
    return (
        layer
        for layer in range(first, _layers(fields))
        if layer % frequency == 0 and (layer + 1) % step == 0 and layer not in dense
    )


def _cache(fields: Fields, family: Family) -> tuple[Cache, list[str]]:
    """Return how long each layer remembers, and notes on layers that keep something else."""
    kinds = _layer_kinds(fields, family)
    window = fields.optional_count("sliding_window")
    chunk = fields.optional_count("attention_chunk_size")
    lasting = {SLIDING: window, CHUNKED: chunk}
    windows = [length for kind in kinds if (length := lasting.get(kind)) is not None]
    others = sum(kind not in (FULL, SLIDING, CHUNKED) for kind in kinds)
    growing = len(kinds) - len(windows) - others
    cache = Cache(growing, len(windows), max(windows, default=None))
    if not others:
        return cache, []
    return cache, [f"layers with a fixed state instead of keys and values, not counted: {others}"]


def _layer_kinds(fields: Fields, family: Family) -> tuple[str, ...]:
    layers = _layers(fields)
    kinds = fields.texts("layer_types")
    if kinds:
        if len(kinds) != layers:
            raise fields.refusal("layer_types", f"{layers} texts, one for each layer")
        return kinds
    pattern = family.window_pattern
    if pattern > 1:
        pattern = fields.optional_count("sliding_window_pattern") or pattern
    off = family.window_switch is not None and not fields.switch(family.window_switch)
    if pattern == NO_WINDOW or off:
        return (FULL,) * layers
    first = fields.optional_count("max_window_layers", least=0) or 0
    return tuple(
        SLIDING if layer >= first and (pattern == 1 or (layer + 1) % pattern) else FULL
        for layer in range(layers)
    )


def _layers(fields: Fields) -> int:
    layers = fields.count("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise fields.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    return layers


def _on(switch: Switch, fields: Fields) -> bool:
    return fields.switch(switch) if isinstance(switch, str) else switch
