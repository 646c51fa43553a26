import json
from pathlib import Path

CONFIGS = Path(__file__).parents[1] / "data" / "configs"

TINY = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 10,
    "torch_dtype": "bfloat16",
}
LINEAR = 2 * (8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16)
REST = 2 * 10 * 8 + (2 * 2 + 1) * 8
MIXTURE = {**TINY, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


def config_of(name):
    return json.loads((CONFIGS / name / "config.json").read_text())


def write(directory, config=TINY, index=None):
    (directory / "config.json").write_text(json.dumps(config))
    if index is not None:
        (directory / "model.safetensors.index.json").write_text(index)
    return directory
