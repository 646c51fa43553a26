"""Sizes of configs and the catalogue beside published counts and what Prism measured."""

import csv
import json
from pathlib import Path

from rich import box
from rich.table import Table

from colocate.inputs.huggingface import ModelSize, model_size, read_model_size
from colocate.inputs.model_catalogue import model_catalogue, model_sources
from colocate.outputs.text.console import show

DATA = Path(__file__).parents[1] / "tests" / "data"
GIB = 2**30
SHARES = ("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen2.5-32B")
"""Measured on one of several GPUs that held the model together."""
CONFIGS = {
    "meta-llama/Llama-2-7b-hf": "LLaMA-7B",
    "meta-llama/Llama-2-13b-hf": "LLaMA-13B",
    "meta-llama/Llama-2-13b-chat-hf": "LLaMA-13B",
    "meta-llama/Llama-3.1-8B": "Llama-3.1-8B",
    "meta-llama/Meta-Llama-3.1-8B": "Llama-3.1-8B",
    "meta-llama/Llama-3.2-1B": "Llama-3.2-1B",
    "meta-llama/Llama-3.2-1B-Instruct": "Llama-3.2-1B",
    "meta-llama/Llama-3.2-3B": "Llama-3.2-3B",
    "meta-llama/Llama-3.2-3B-Instruct": "Llama-3.2-3B",
    "mistralai/Mistral-7B-Instruct-v0.2": "Mistral-7B-v0.2",
    "mistralai/Mistral-Nemo-Instruct-2407": "Mistral-Nemo-2407",
    "google/gemma-2b": "gemma-2b",
    "google/gemma-2b-it": "gemma-2b",
    "google/gemma-2-9b-it": "gemma-2-9b",
    "microsoft/phi-1_5": "phi-1_5",
    "microsoft/phi-2": "phi-2",
    "microsoft/Phi-3-mini-4k-instruct": "Phi-3-mini-4k",
    "microsoft/Phi-3-mini-128k-instruct": "Phi-3-mini-128k",
    "microsoft/Phi-3.5-mini-instruct": "Phi-3-mini-128k",
    "ibm/PowerLM-3b": "PowerLM-3b",
    "allenai/OLMo-1B-hf": "OLMo-1B",
    "bigcode/starcoder2-3b": "starcoder2-3b",
}
"""The config of each measured model; the shapes of Llama 2 are those of LLaMA."""


def main() -> None:
    _compare_with_published()
    _compare_catalogue()
    _compare_with_measured()


def _compare_with_published() -> None:
    table = _table(
        "model", "family", "published", "ours", "error", "KV bytes a token", "state bytes"
    )
    errors, published_errors, families = [], [], set()
    for row in _rows("published_parameters.csv"):
        size, family = _size(row["model"]), _family(row["model"])
        published = int(row["parameters"] or row["counted"])
        errors.append(size.parameters / published - 1)
        published_errors += errors[-1:] if row["parameters"] else []
        families.add(family)
        table.add_row(
            row["model"],
            family,
            f"{published:,}{'' if row['parameters'] else '*'}",
            f"{size.parameters:,}",
            f"{errors[-1]:+.3%}",
            f"{size.kv_bytes(1):,}",
            f"{size.state_bytes:,}",
        )
    counted = "* no published count: the transformers library built the model and counted"
    alone = f"published counts alone: {_summary(published_errors)}"
    show("parameters", table, f"{_summary(errors)}, {len(families)} families", alone, counted)


def _compare_catalogue() -> None:
    table = _table("model", "family", "published", "ours", "error", "weights GB", "count from")
    errors: dict[str, list[float]] = {}
    families = set()
    for model in model_catalogue().values():
        size, family = model_size(model.config), str(model.config["model_type"])
        error = size.parameters / model.parameters - 1
        errors.setdefault(model.count_from, []).append(error)
        families.add(family)
        table.add_row(
            model.name,
            family,
            f"{model.parameters:,}",
            f"{size.parameters:,}",
            f"{error:+.3%}",
            f"{size.weight_bytes / 1e9:,.2f}",
            model.count_from,
        )
    every = [error for found in errors.values() for error in found]
    parts = [f"{key}: {_summary(errors[key])}" for key in model_sources() if key in errors]
    show("the catalogue", table, f"{_summary(every)}, {len(families)} families", *parts)


def _compare_with_measured() -> None:
    table = _table("model", "GiB ours", "measured", "error", "KV bytes ours", "measured")
    errors = []
    for row in _rows("prism_models.csv"):
        if row["model"] in SHARES:
            continue
        size, measured = _size(CONFIGS[row["model"]]), float(row["weight_gib"])
        ours = size.weight_bytes / GIB
        errors.append(ours / measured - 1)
        cached = f"{size.kv_bytes(1):,}", f"{float(row['kv_bytes_per_token']):,.0f}"
        table.add_row(row["model"], f"{ours:.3f}", f"{measured:.3f}", f"{errors[-1]:+.2%}", *cached)
    left_out = f"left out, shares of split models: {', '.join(SHARES)}"
    show("weights and KV cache, measured by Prism", table, _summary(errors), left_out)


def _size(model: str) -> ModelSize:
    return read_model_size(DATA / "configs" / model)


def _family(model: str) -> str:
    config = json.loads((DATA / "configs" / model / "config.json").read_text(encoding="utf-8"))
    return str(config["model_type"])


def _rows(name: str) -> list[dict[str, str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _table(first: str, *headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _summary(errors: list[float]) -> str:
    absolute = [abs(error) for error in errors]
    mean = sum(absolute) / len(absolute)
    return f"{len(errors)} models, mean error {mean:.3%}, worst {max(absolute):.3%}"


if __name__ == "__main__":
    main()
