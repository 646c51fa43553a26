"""Writes what the harness measured as CSV: lone steps, work side by side, and groups of engines.

    python -m benchmarks.gpu.record READINGS.jsonl PREFIX

`PREFIX_lone_steps.csv` has the times of engines that have the GPU for themselves,
`PREFIX_side_by_side.csv` those of steps, prefills and bursts without a pause, and
`PREFIX_groups.csv` the latencies of engines that serve requests.
"""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu.limits import SLOTS

LONE = ("model", "kind", "batch", "tokens", "ms")
SIDE = ("sharing", "group", "member", "model", "work", "amount", "alone_ms", "ms", "p99_ms")
GROUPS = (
    *("sharing", "group", "member", "model", "rate", "prompt_tokens", "output_tokens", "slots"),
    *("busy", "finished", "unfinished", "in_flight"),
    *("tpot_ms", "tpot_p99_ms", "ttft_ms", "ttft_p99_ms"),
    *("blocks", "token_budget", "preemptions"),
)
PROMPT, OUTPUT, BATCH, BURST = 512, 128, 8, 1.0
"""What a member has where its plan states nothing else."""


def lone_rows(lines: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the times of lone engines."""
    for line in lines:
        if line["kind"] == "lone":
            for row in line["rows"]:
                yield [line["model"], row["kind"], row["batch"], row["tokens"], row["ms"]]
    for _, _, member in _members(lines, closed=True):
        if member["closed"] == "mixed":
            amounts = (member.get("batch", 1), member.get("tokens", PROMPT))
            yield [member["model"], "mixed", *amounts, member["metrics"]["act_ms"]]


def side_rows(lines: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the times of work without a pause, with those alone."""
    lone = {tuple(row[:4]): row[4] for row in lone_rows(lines)}
    for line, number, member in _members(lines, closed=True):
        work, found = member["closed"], member["metrics"]
        if work == "mixed":  # these are read alone
            continue
        model = member.get("model", "")
        amount = member.get({"decode": "batch", "prefill": "tokens", "burst": "ms"}[work])
        amount = amount or {"decode": BATCH, "prefill": PROMPT, "burst": BURST}[work]
        key = (model, work, amount, 640) if work == "decode" else (model, work, 1, amount)
        alone = found.get("alone_ms") or lone[key]
        times = [alone, found["act_ms"], found["act_p99_ms"]]
        yield [line["mode"], line["name"], number, model, work, amount, *times]


def group_rows(lines: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the latencies of engines that served requests."""
    for line, number, member in _members(lines, closed=False):
        found = member["metrics"]
        alone = len(line["members"]) == 1
        yield [
            "alone" if alone else line["mode"],
            line["name"],
            number,
            member["model"],
            member["rate"],
            member.get("prompt_tokens", PROMPT),
            member.get("output_tokens", OUTPUT),
            member.get("slots", SLOTS),
            *(found[name] for name in ("busy", "finished", "unfinished", "mean_in_flight")),
            *(found[name] for name in ("tpot_ms", "tpot_p99_ms", "ttft_ms", "ttft_p99_ms")),
            *(member.get("blocks"), member.get("token_budget"), found.get("preemptions")),
        ]


def _members(
    lines: Iterable[dict[str, Any]], closed: bool
) -> Iterator[tuple[dict[str, Any], int, dict[str, Any]]]:
    for line in lines:
        for number, member in enumerate(line.get("members", ())):
            if ("closed" in member) == closed and "metrics" in member:
                yield line, number, member


def main(readings: str, prefix: str) -> None:
    text = Path(readings).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    for name, columns, rows in (
        ("lone_steps", LONE, lone_rows(lines)),
        ("side_by_side", SIDE, side_rows(lines)),
        ("groups", GROUPS, group_rows(lines)),
    ):
        found = list(rows)
        if found:
            with Path(f"{prefix}_{name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
