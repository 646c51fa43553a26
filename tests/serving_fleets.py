"""Random fleets of the catalogue's models, as people would write them, and what their engines need.

Whatever is worked out here comes from the fields of a config alone, not from the code that plans.
"""

import random
from math import ceil

from colocate.inputs.model_catalogue import model_catalogue

KINDS = ("L4", "L40S", "A100-80GB", "H100-80GB", "H200")
ENTRIES = {
    name: model
    for name, model in model_catalogue().items()
    if model.parameters < 90e9 and "quantization_config" not in model.config
}
PLAIN_FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "phi3", "mixtral", "qwen3_moe")
"""Families in which every layer keeps keys and values of all tokens."""


def random_fleet(seed):
    """Return a fleet file with a few to some dozens of models, mostly one that has a plan."""
    draw = random.Random(seed)
    load = draw.choice(["tokens", "requests"])
    nodes = range(draw.randint(1, 3))
    gpus = [
        {"node": f"node-{n}", "kind": draw.choice(KINDS), "count": draw.randint(1, 4)}
        for n in nodes
    ]
    names = draw.sample(sorted(ENTRIES), draw.randint(2, 4 * len(gpus)))
    models = [_model(draw, name, load) for name in names]
    fleet = {"load": load, "gpus": gpus, "models": models}
    if draw.random() >= 0.3:
        fleet["compute_limit"] = 0.8
    return fleet


def _model(draw, name, load):
    model = {
        "name": name.rpartition("/")[2].lower(),
        "config": name,
        "dtype": "bf16",
        "rate": round(10 ** draw.uniform(-2, 0.5), 3),
        "prompt_tokens": draw.choice([20, 200, 800, 3000]),
        "output_tokens": draw.choice([0, 20, 200, 700]),
        **({"tpot_slo": 0.1} if load == "tokens" else {"slo": draw.choice([2, 10])}),
    }
    chance = draw.random()
    if chance < 0.2:
        model["shards"] = 2
    elif chance < 0.35:
        model["replicas"] = draw.choice([2, "auto"])
    if draw.random() < 0.6:
        model["may_sleep"] = True
    if draw.random() < 0.3:
        model["max_model_len"] = draw.choice([256, 448])
    if draw.random() < 0.3:
        model["min_concurrency"] = draw.randint(2, 6)
    return model


def bytes_of_a_request(config, tokens, shards):
    """Return what one request takes on each shard, for plain families in 16 bits."""
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    on_each = max(kv_heads / shards, 1)
    return 2 * 2 * config["num_hidden_layers"] * on_each * head_dim * tokens


def longest_request(model, config):
    """Return the tokens that an engine must be able to hold."""
    if "max_model_len" in model:
        return model["max_model_len"]
    implied = max(ceil(2 * (model["prompt_tokens"] + model["output_tokens"])), 1)
    return min(implied, config.get("max_position_embeddings", implied))
