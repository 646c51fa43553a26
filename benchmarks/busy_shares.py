"""The compute estimate beside published throughput: how busy it takes a GPU to be at its most.

At the highest throughput that was measured a GPU is busy all of the time, so 1 is exact, and less
is an underestimate. Engines that ran out of memory before they ran out of speed are below 1 too.
"""

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from rich import box
from rich.table import Table

from colocate.inputs.compute import busy_shares
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.spec import ModelSpec
from colocate.outputs.text.console import show

DATA = Path(__file__).parents[1] / "tests" / "data"


def main() -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("model", "format", "GPU"):
        table.add_column(heading, no_wrap=True)
    for heading in ("shards", "lowest", "mean", "highest"):
        table.add_column(heading, justify="right", no_wrap=True)
    groups = defaultdict(list)
    for key, share in published_shares():
        groups[key].append(share)
    for (model, dtype, gpu, shards), shares in groups.items():
        figures = (f"{value:.2f}" for value in (min(shares), fmean(shares), max(shares)))
        table.add_row(model, dtype, gpu, str(shards), *figures)
    everything = [share for shares in groups.values() for share in shares]
    show(table, f"{len(everything)} measurements, mean {fmean(everything):.3f}")


def published_shares() -> Iterator[tuple[tuple[str, str, str, int], float]]:
    """Yield what was measured, and how busy each GPU is by the estimate."""
    with (DATA / "published_throughput.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for row in rows:
        shards, output = int(row["shards"]), float(row["output_tokens"])
        model = ModelSpec(
            name=row["model"],
            config=row["model"],
            dtype=row["dtype"],
            kv_dtype=row["dtype"],
            rate=float(row["tokens_per_second"]) / output,
            prompt_tokens=float(row["prompt_tokens"]),
            output_tokens=output,
            shards=shards,
        )
        share = busy_shares(model.resolved(ConfigLookup(DATA / "configs").find), [row["gpu"]])[
            row["gpu"]
        ]
        yield (row["model"], row["dtype"], row["gpu"], shards), sum(share) / shards


if __name__ == "__main__":
    main()
