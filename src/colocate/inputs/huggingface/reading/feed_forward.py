"""From the fields of a config to the feed-forward part of a layer."""

from colocate.inputs.huggingface.family import Family, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.feed_forward import Experts, FeedForward


def read_block(fields: Fields, family: Family, sparse: bool) -> FeedForward | Experts:
    """Return the feed-forward part of one layer.

    Parameters
    ----------
    fields
        Of the config, at that layer.
    family
        Of the model.
    sparse
        Whether the layer has experts, if any has.
    """
    experts = _experts(fields, family)
    if experts is not None and sparse:
        return experts
    bias = on(family.mlp_bias, fields)
    down_bias = bias if family.down_bias is None else family.down_bias
    return FeedForward(_width(fields, family), family.gated, bias, down_bias)


def sparse_layers(fields: Fields, layers: int) -> frozenset[int]:
    """Return the layers with experts; the others have one wide feed-forward block."""
    kinds = fields.texts("mlp_layer_types")
    if kinds:
        return frozenset(layer for layer, kind in enumerate(kinds[:layers]) if kind == "sparse")
    dense = set(fields.whole_numbers("mlp_only_layers"))
    return frozenset(
        layer
        for layer in range(layers)
        if layer not in dense and _is_sparse(fields.at_layer(layer), layer)
    )


def _width(fields: Fields, family: Family) -> int:
    width = fields.optional_count("intermediate_size")
    if width is None and family.default_width is not None:
        return family.default_width * fields.count("hidden_size")
    width = fields.count("intermediate_size")
    return _adjusted(fields, width) if fields.switch("block_auto_adjust_ff_dim") else width


def _adjusted(fields: Fields, width: int) -> int:
    """Return two thirds of a width, rounded up as LFM2 has it."""
    multiple = fields.count("block_multiple_of")
    return -(-(2 * width // 3) // multiple) * multiple


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
        block=FeedForward(width, family.gated, family.expert_bias, family.expert_bias),
        shared_width=shared * width if shared_width is None else shared_width,
        shared_gate=family.shared_expert_gate,
        router_bias=family.router_bias,
    )


def _is_sparse(fields: Fields, layer: int) -> bool:
    first = fields.optional_count("first_k_dense_replace", least=0) or 0
    frequency = fields.optional_count("moe_layer_freq", least=0)
    step = fields.optional_count("decoder_sparse_step") or 1
    return (
        layer >= first
        and (frequency is None or (frequency > 0 and layer % frequency == 0))
        and (layer + 1) % step == 0
        and _in_turn(fields, layer)
        and _between(fields, layer)
    )


def _in_turn(fields: Fields, layer: int) -> bool:
    """Say whether it is the layer's turn, where a period and an offset tell (Jamba)."""
    period = fields.optional_count("expert_layer_period") or 1
    return layer % period == (fields.optional_count("expert_layer_offset", least=0) or 0) % period


def _between(fields: Fields, layer: int) -> bool:
    """Say whether it is between the first and the last with experts (Ernie 4.5)."""
    first = fields.optional_count("moe_layer_start_index", least=0) or 0
    last = fields.optional_count("moe_layer_end_index", least=-1)
    step = fields.optional_count("moe_layer_interval") or 1
    return first <= layer and (last in (None, -1) or layer <= last) and (layer + 1) % step == 0
