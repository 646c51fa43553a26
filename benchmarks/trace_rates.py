"""What the models of a trace are asked: requests a second, and tokens of prompts and outputs.

    python benchmarks/trace_rates.py examples/lmsys_trace.csv

Prints a line for each model, most asked first: as in `examples/lmsys.yaml`.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple


class Means(NamedTuple):
    """What a model is asked, on average."""

    rate: float
    prompt_tokens: float
    output_tokens: float


def means_of(path: str | Path) -> dict[str, Means]:
    """Return what each model of a trace with our columns is asked, most asked first."""
    tokens = defaultdict(list)
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tokens[row["model"]].append((int(row["prompt_tokens"]), int(row["output_tokens"])))
            last = float(row["arrival_s"])
    return {
        model: Means(
            round(len(asked) / last, 4),
            round(sum(prompt for prompt, _ in asked) / len(asked), 1),
            round(sum(output for _, output in asked) / len(asked), 1),
        )
        for model, asked in sorted(tokens.items(), key=lambda item: -len(item[1]))
    }


def main() -> None:
    for model, means in means_of(sys.argv[1]).items():
        fields = ", ".join(f"{field}: {value:g}" for field, value in means._asdict().items())
        print(f"{{name: {model}, {fields}}}")


if __name__ == "__main__":
    main()
