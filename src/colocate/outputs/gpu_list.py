"""GPUs that were found, as the list of a fleet file, and what a reader should know about them."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from colocate.inputs.discovery.discover import GpuFindings
from colocate.inputs.discovery.entries import GpuEntry
from colocate.outputs.text.wording import amount, gigabytes, quoted

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*([ _./-]?[A-Za-z0-9])*")
"""Texts that need no quotes in YAML, unless they are one of its words."""
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def gpus_as_data(findings: GpuFindings) -> dict[str, Any]:
    """Return the list as plain data: with models, it is a fleet file."""
    return {"gpus": [entry.as_dict() for entry in findings.entries]}


def gpus_as_yaml(findings: GpuFindings) -> str:
    """Return the list as YAML, with one entry on each line."""
    lines = [f"  - {{{_fields(entry.as_dict())}}}" for entry in findings.entries]
    return "\n".join(["gpus:", *lines]) + "\n"


def notes_on(findings: GpuFindings) -> Iterator[str]:
    """Yield what a fleet file cannot say: GPUs in use, unknown or left out."""
    for entry in findings.entries:
        yield from _notes(entry)
    for left in findings.left_out:
        of = f" of {quoted(left.node)}" if left.node else ""
        yield f"{amount(left.count, 'GPU')}{of} left out: {left.reason}"


def _notes(entry: GpuEntry) -> Iterator[str]:
    place = f"{quoted(entry.kind)} on {quoted(entry.node)}" if entry.node else quoted(entry.kind)
    if entry.used_gb:
        yield (
            f"{place}: up to {gigabytes(entry.used_gb)} of a GPU are in use; stop what runs there, "
            "or add reserve_gb"
        )
    if not entry.known:
        yield (
            f"{place} is not in the catalogue: it has the memory printed, and its compute is not "
            "limited. Give a known kind, with memory_gb, to limit it"
        )
    if entry.divided:
        yield f"{place} has MIG on, so programs see its slices: give `nvidia-smi -L` besides"
    if entry.sliced:
        yield f"{place}: engines reach MIG slices by the names that `nvidia-smi -L` prints"


def _fields(fields: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {_value(value)}" for key, value in fields.items())


def _value(value: str | float | Sequence[int]) -> str:
    if isinstance(value, str):
        plain = PLAIN.fullmatch(value) and value.lower() not in WORDS
        return value if plain else json.dumps(value)
    return json.dumps(value)
