"""From the fields of a config to its layers with a fixed state.

Families write them in two ways: `mamba_d_state` beside attention, `state_size` where there is
nothing else. Rows of families spell them alike.
"""

from colocate.inputs.huggingface.family import Family
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.layers.attention import Attention
from colocate.inputs.huggingface.layers.state import (
    DeltaNet,
    KimiDelta,
    LightningAttention,
    Mamba,
    Mamba2,
    ShortConvolution,
)
from colocate.inputs.huggingface.reading.attention import plain_attention

FLOAT32 = "float32"


def read_mamba(fields: Fields, family: Family) -> tuple[Mamba]:
    """Return a state space of the first kind."""
    hidden = fields.count("hidden_size")
    return (
        Mamba(
            width=fields.optional_count("mamba_width") or fields.count("mamba_expand") * hidden,
            state=fields.count("mamba_d_state"),
            kernel=fields.count("mamba_d_conv"),
            step_rank=_step_rank(fields, hidden),
            bias=fields.switch("mamba_proj_bias"),
            conv_bias=fields.switch("mamba_conv_bias"),
            norms=fields.switch("mamba_inner_norms"),
        ),
    )


def read_mamba2(fields: Fields, family: Family) -> tuple[Mamba2]:
    """Return a state space of the second kind."""
    heads, width = fields.count("mamba_n_heads"), fields.optional_count("mamba_d_ssm")
    if width is None:
        width = heads * fields.count("mamba_d_head")
    return (
        Mamba2(
            width=width,
            heads=heads,
            groups=fields.count("mamba_n_groups"),
            state=fields.count("mamba_d_state"),
            kernel=fields.count("mamba_d_conv"),
            bias=fields.switch("mamba_proj_bias"),
            conv_bias=fields.switch("mamba_conv_bias"),
            norm=fields.switch("mamba_rms_norm"),
            wide=fields.text("mamba_ssm_cache_dtype") == FLOAT32,
        ),
    )


def read_both(fields: Fields, family: Family) -> tuple[Attention, Mamba2]:
    """Return attention and a state space side by side."""
    return (plain_attention(fields, family), *read_mamba2(fields, family))


def read_delta_net(fields: Fields, family: Family) -> tuple[DeltaNet]:
    """Return linear attention with a gated delta rule."""
    return (
        DeltaNet(
            key_heads=fields.count("linear_num_key_heads"),
            value_heads=fields.count("linear_num_value_heads"),
            key_dim=fields.count("linear_key_head_dim"),
            value_dim=fields.count("linear_value_head_dim"),
            kernel=fields.count("linear_conv_kernel_dim"),
            wide=fields.text("mamba_ssm_dtype") == FLOAT32,
        ),
    )


def read_kimi_delta(fields: Fields, family: Family) -> tuple[KimiDelta]:
    """Return linear attention with a gate for each channel."""
    return (
        KimiDelta(
            heads=fields.count("linear_num_heads"),
            head_dim=fields.count("linear_head_dim"),
            kernel=fields.count("linear_conv_kernel_dim"),
        ),
    )


def read_lightning(fields: Fields, family: Family) -> tuple[LightningAttention]:
    """Return linear attention with a fixed decay."""
    attention = plain_attention(fields, family)
    return (LightningAttention(attention.heads, attention.head_dim),)


def read_short_convolution(fields: Fields, family: Family) -> tuple[ShortConvolution]:
    """Return a gated convolution over the last few tokens."""
    width, kernel = fields.count("hidden_size"), fields.count("conv_L_cache")
    return (ShortConvolution(width, kernel, fields.switch("conv_bias")),)


def _step_rank(fields: Fields, hidden: int) -> int:
    """Return the rank of the step sizes: a sixteenth of the hidden size unless it is stated."""
    if fields.values.get("mamba_dt_rank", fields.values.get("time_step_rank")) == "auto":
        return -(-hidden // 16)
    return fields.optional_count("mamba_dt_rank") or -(-hidden // 16)
