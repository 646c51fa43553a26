"""From the fields of a config to its attention."""

from colocate.inputs.huggingface.family import Family, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.attention import (
    Attention,
    CrossAttention,
    Indexer,
    LatentAttention,
)

NEW_FALCON = "new_decoder_architecture"
"""Falcon 40B and later: grouped attention instead of one key for all, and two norms."""


def read_attention(fields: Fields, family: Family) -> tuple[Attention | LatentAttention]:
    """Return the attention of one layer, plain or latent."""
    heads = fields.count("num_attention_heads")
    if fields.optional_count("kv_lora_rank") is not None:
        return (_latent(fields, family, heads),)
    return (plain_attention(fields, family),)


def plain_attention(fields: Fields, family: Family) -> Attention:
    """Return the attention of one layer, with keys and values by head."""
    heads = fields.count("num_attention_heads")
    return Attention(
        heads=heads,
        kv_heads=_kv_heads(fields, heads),
        head_dim=_head_dim(fields, heads),
        qkv_bias=on(family.qkv_bias, fields),
        key_bias=family.key_bias,
        output_bias=on(family.output_bias, fields),
        norm=on(family.qk_norm, fields),
        norm_of_all_heads=family.qk_norm_of_all_heads,
        norm_bias=family.norm_bias and family.qk_norm_bias,
        sinks=family.attention_sinks,
        gated=family.output_gate,
    )


def read_picture_attention(fields: Fields, family: Family) -> tuple[CrossAttention]:
    """Return attention to a picture (Llama 3.2 Vision), with its norms and its two gates."""
    seen = plain_attention(fields, family)
    attention = Attention(seen.heads, seen.kv_heads, seen.head_dim, norm=True)
    return (CrossAttention(attention, fields.count("picture_tokens"), gates=2),)


def _latent(fields: Fields, family: Family, heads: int) -> LatentAttention:
    index_heads = fields.optional_count("index_n_heads")
    indexer = None
    if index_heads is not None:
        indexer = Indexer(index_heads, fields.count("index_head_dim"))
    return LatentAttention(
        heads=heads,
        query_rank=fields.optional_count("q_lora_rank"),
        kv_rank=fields.count("kv_lora_rank"),
        plain_dim=fields.count("qk_nope_head_dim"),
        rotary_dim=fields.count("qk_rope_head_dim"),
        value_dim=fields.count("v_head_dim"),
        bias=on(family.output_bias, fields),
        indexer=indexer,
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
