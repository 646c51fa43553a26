"""The families: how each `model_type` departs from the shape of Llama, one row each.

A row holds what the code of the family in the transformers library fixes, and the defaults of its
configuration class for fields that a config may leave out. The dimensions themselves have no
default: a config without its `hidden_size` is a mistake, not a model. Only configs nested in
another one are written without the values that equal a default; `NESTED_DEFAULTS` has those.
"""

from collections.abc import Mapping
from typing import Any

from colocate.inputs.huggingface.families.dense import DENSE
from colocate.inputs.huggingface.families.encoders import ENCODER_DECODERS, ENCODERS
from colocate.inputs.huggingface.families.hybrids import HYBRIDS
from colocate.inputs.huggingface.families.mixtures import MIXTURES
from colocate.inputs.huggingface.family import Family

FAMILIES: Mapping[str, Family] = {**DENSE, **MIXTURES, **HYBRIDS, **ENCODERS, **ENCODER_DECODERS}

LLAMA_7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
GEMMA_2B = {
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
}

NESTED_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "llama": LLAMA_7B,
    "mistral": {**LLAMA_7B, "intermediate_size": 14336},
    "qwen2": {**LLAMA_7B, "vocab_size": 151936, "intermediate_size": 22016},
    "qwen3": {**LLAMA_7B, "vocab_size": 151936, "intermediate_size": 22016},
    "gemma": {
        "vocab_size": 256000,
        "hidden_size": 3072,
        "intermediate_size": 24576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
    },
    "gemma2": {**GEMMA_2B, "vocab_size": 256000},
    "gemma3": {**GEMMA_2B, "vocab_size": 262208},
    "gemma3_text": {**GEMMA_2B, "vocab_size": 262208},
}
