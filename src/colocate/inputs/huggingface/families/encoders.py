"""Encoders, which keep nothing of a sequence, and models of an encoder and a decoder."""

from dataclasses import replace

from colocate.inputs.huggingface.family import BIASED, Family
from colocate.inputs.huggingface.reading.encoder_decoder import read_encoder_decoder

BERT = replace(
    BIASED,
    positions=True,
    embedding_norm=True,
    final_norm=False,
    causal=False,
    pooled=True,
    defaults={"type_vocab_size": 2},
)
ROBERTA = replace(BERT, spare_positions=-2)
"""Two rows of its positions are for padding."""
NOMIC = replace(
    BERT,
    qkv_bias="qkv_proj_bias",
    output_bias="qkv_proj_bias",
    mlp_bias="mlp_fc1_bias",
    gated=True,
    positions=False,
    pooled=False,
)
GTE = replace(BERT, mlp_bias=False, down_bias=True, gated=True, positions=False, pooled=False)
CLIP_TEXT = replace(BERT, embedding_norm=False, final_norm=True, pooled=False, defaults={})

ENCODERS = {
    "bert": BERT,
    "camembert": ROBERTA,
    "clip_text_model": CLIP_TEXT,
    "deberta-v2": replace(
        BERT,
        positions="position_biased_input",
        pooled=False,
        defaults={"relative_attention": True, "position_biased_input": True},
    ),
    "distilbert": replace(
        BERT,
        pooled=False,
        spellings={
            "hidden_size": "dim",
            "intermediate_size": "hidden_dim",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
        },
        defaults={},
    ),
    "gte": GTE,
    "modernbert": Family(
        norms=2,
        spare_norm=True,
        embedding_norm=True,
        causal=False,
        head_norm_bias=False,
    ),
    "mpnet": replace(BERT, spare_positions=-2, defaults={"relative_attention_num_buckets": 32}),
    "new": GTE,
    "nomic_bert": NOMIC,
    "roberta": ROBERTA,
    "siglip_text_model": replace(CLIP_TEXT, pooled=True),
    "xlm-roberta": ROBERTA,
}

TWO_STACKS = replace(BIASED, tied=True, read=read_encoder_decoder)
T5_SPELLINGS = {
    "encoder_layers": "num_layers",
    "encoder_attention_heads": "num_heads",
    "decoder_attention_heads": "num_heads",
    "encoder_ffn_dim": "d_ff",
    "decoder_ffn_dim": "d_ff",
    "decoder_layers": "num_decoder_layers",
    "head_dim": "d_kv",
    "max_source_positions": "n_positions",
}
T5 = replace(
    TWO_STACKS,
    qkv_bias=False,
    output_bias=False,
    mlp_bias=False,
    norm_bias=False,
    spellings=T5_SPELLINGS,
    defaults={"relative_attention_num_buckets": 32, "max_source_positions": 512},
)
TRANSLATOR = replace(TWO_STACKS, spellings={"max_source_positions": "max_position_embeddings"})
BART = replace(TRANSLATOR, positions=True, spare_positions=2, embedding_norm=True, final_norm=False)

ENCODER_DECODERS = {
    "bart": BART,
    "m2m_100": TRANSLATOR,
    "marian": replace(TRANSLATOR, positions=True, final_norm=False),
    "mbart": replace(BART, final_norm=True),
    "mt5": replace(T5, tied=False),
    "t5": T5,
    "whisper": replace(
        TWO_STACKS,
        key_bias=False,
        positions=True,
        spellings={"max_position_embeddings": "max_target_positions"},
    ),
}
