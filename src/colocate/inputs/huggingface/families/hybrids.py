"""Models with layers that keep a fixed state, alone or between layers of attention."""

from colocate.inputs.huggingface.family import FULL, STATE, Family, MixerReader
from colocate.inputs.huggingface.reading.kinds import (
    every,
    last_of_each,
    lettered,
    listed,
    marked,
    spaced,
)
from colocate.inputs.huggingface.reading.state_layers import (
    read_both,
    read_delta_net,
    read_kimi_delta,
    read_lightning,
    read_mamba,
    read_mamba2,
    read_short_convolution,
)
from colocate.inputs.huggingface.reading.zamba2 import HYBRID, read_zamba2

MAMBA = "mamba"


def _as(reader: MixerReader) -> dict[str, MixerReader]:
    """Return the mixers of state layers, which configs call by two names."""
    return {MAMBA: reader, STATE: reader}


ALONE = {
    "mamba_width": "intermediate_size",
    "mamba_d_state": "state_size",
    "mamba_d_conv": "conv_kernel",
    "mamba_expand": "expand",
    "mamba_dt_rank": "time_step_rank",
    "mamba_n_heads": "num_heads",
    "mamba_d_head": "head_dim",
    "mamba_n_groups": "n_groups",
    "mamba_proj_bias": "use_bias",
    "mamba_conv_bias": "use_conv_bias",
}
"""How models of nothing else spell a state space."""
KERNEL = {"mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": True}
BESIDE_ATTENTION = {**KERNEL, "mamba_n_groups": 1, "mamba_rms_norm": True}
ONLY_MAMBA = Family(
    tied=True,
    norms=1,
    kinds=every(MAMBA),
    mixers={MAMBA: read_mamba},
    bare_mixers=frozenset({MAMBA}),
    spellings=ALONE,
    defaults={**KERNEL, "mamba_d_state": 16},
)
LETTERS = {"M": MAMBA, "*": FULL, "-": "mlp", "E": "moe"}
"""Of `hybrid_override_pattern`."""
DELTA = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "full_attention_interval": 4,
    "head_dim": 256,
}
QWEN3_NEXT = Family(
    qk_norm=True,
    output_gate=True,
    shared_expert_gate=True,
    kinds=last_of_each("full_attention_interval", FULL, STATE),
    mixers={STATE: read_delta_net},
    defaults=DELTA,
)
MINIMAX = Family(
    kinds=marked("attn_type_list", {1: FULL, 0: STATE}), mixers={STATE: read_lightning}
)

HYBRIDS = {
    "bamba": Family(
        kinds=listed("attn_layer_indices", FULL, MAMBA),
        mixers=_as(read_mamba2),
        defaults=BESIDE_ATTENTION,
    ),
    "falcon_h1": Family(
        kinds=every(HYBRID),
        mixers={HYBRID: read_both},
        defaults={**KERNEL, "mamba_n_groups": 1},
    ),
    "falcon_mamba": ONLY_MAMBA,
    "granitemoehybrid": Family(
        mixers=_as(read_mamba2),
        spellings={
            "moe_intermediate_size": "intermediate_size",
            "intermediate_size": "shared_intermediate_size",
            "shared_expert_intermediate_size": "shared_intermediate_size",
        },
        defaults=BESIDE_ATTENTION,
    ),
    "jamba": Family(
        kinds=spaced("attn_layer_period", "attn_layer_offset", FULL, MAMBA),
        mixers=_as(read_mamba),
        defaults={
            **KERNEL,
            "mamba_d_state": 16,
            "mamba_inner_norms": True,
            "num_key_value_heads": 8,
            "num_experts": 16,
            "num_experts_per_tok": 2,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "attn_layer_period": 8,
            "attn_layer_offset": 4,
        },
    ),
    "kimi_linear": Family(
        router_bias=True,
        kinds=listed("full_attention_layers", FULL, STATE, first=1),
        mixers={STATE: read_kimi_delta},
        spellings={
            "full_attention_layers": "linear_attn_config.full_attn_layers",
            "linear_num_heads": "linear_attn_config.num_heads",
            "linear_head_dim": "linear_attn_config.head_dim",
            "linear_conv_kernel_dim": "linear_attn_config.short_conv_kernel_size",
        },
    ),
    "lfm2": Family(
        tied=True,
        qk_norm=True,
        kinds=listed("full_attn_idxs", FULL, "conv"),
        mixers={"conv": read_short_convolution},
        defaults={
            "conv_L_cache": 3,
            "block_auto_adjust_ff_dim": True,
            "block_multiple_of": 256,
        },
    ),
    "lfm2_moe": Family(
        tied=True,
        qk_norm=True,
        mixers={"conv": read_short_convolution},
        defaults={"conv_L_cache": 3, "num_dense_layers": 2},
    ),
    "mamba": ONLY_MAMBA,
    "mamba2": Family(
        norms=1,
        kinds=every(MAMBA),
        mixers={MAMBA: read_mamba2},
        bare_mixers=frozenset({MAMBA}),
        spellings=ALONE,
        defaults={**BESIDE_ATTENTION, "mamba_d_state": 128, "mamba_n_groups": 8},
    ),
    "minimax": MINIMAX,
    "minimax_text_01": MINIMAX,
    "nemotron_h": Family(
        gated=False,
        norms=1,
        kinds=lettered("hybrid_override_pattern", LETTERS),
        mixers=_as(read_mamba2),
        bare_mixers=frozenset({MAMBA, STATE, FULL, "attention"}),
        bare_blocks=frozenset({"mlp", "moe"}),
        spellings={
            "mamba_d_state": "ssm_state_size",
            "mamba_d_conv": "conv_kernel",
            "mamba_n_heads": "mamba_num_heads",
            "mamba_d_head": "mamba_head_dim",
            "mamba_n_groups": "n_groups",
            "mamba_conv_bias": "use_conv_bias",
        },
        defaults={**BESIDE_ATTENTION, "mamba_n_groups": 8, "mamba_ssm_cache_dtype": "float32"},
    ),
    "qwen3_5_moe_text": QWEN3_NEXT,
    "qwen3_5_text": QWEN3_NEXT,
    "qwen3_next": QWEN3_NEXT,
    "zamba2": Family(
        tied=True,
        read=read_zamba2,
        spellings={
            "mamba_n_heads": "n_mamba_heads",
            "mamba_d_head": "mamba_headdim",
            "mamba_n_groups": "mamba_ngroups",
            "mamba_proj_bias": "add_bias_linear",
        },
        defaults={**BESIDE_ATTENTION, "num_mem_blocks": 1, "adapter_rank": 128},
    ),
}
