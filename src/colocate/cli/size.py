"""`colocate size`: how much memory a model takes."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.shared_options import AsJson, Download

if TYPE_CHECKING:
    from colocate.inputs.huggingface import ModelConfig, ModelSize

CONTEXTS = (1, 1024, 8192)
"""Tokens: one, a usual request, a long one."""
DOWNLOADED = {"cache": ", in the cache of the hub", "hub": ", downloaded now"}
SOURCES = {"config": "counted from the config", "index": "from the index of its files"}


def size(
    model: Annotated[
        str,
        typer.Argument(
            help="Name of a model (see `colocate models`), or its config.json or folder."
        ),
    ],
    dtype: Annotated[
        str | None,
        typer.Option(help="Weight format, instead of the config's: bf16, fp8, int4, ..."),
    ] = None,
    kv_dtype: Annotated[str | None, typer.Option(help="KV cache format: bf16, fp8, ...")] = None,
    download: Download = False,
    as_json: AsJson = False,
) -> None:
    """Compute how much memory the weights and the KV cache of a model take."""
    from rich.text import Text

    from colocate.inputs.huggingface import ConfigLookup
    from colocate.inputs.huggingface.sizing import check_formats
    from colocate.outputs.text.console import notes, show

    configs = ConfigLookup.from_environment(Path(), os.environ, download)
    check_formats(dtype, kv_dtype)
    config = configs.find(model)
    found = config.size(dtype, kv_dtype)
    if as_json:
        contexts = {str(tokens): found.kv_bytes(tokens) for tokens in CONTEXTS}
        document = {
            "config": {"origin": config.origin, "place": config.place, "hub_name": config.hub_name},
            **asdict(found),
            "flops_per_token": found.flops_per_token,
            "kv_bytes_of_context": contexts,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    show(Text("\n".join(_lines(config, found))))
    for note in found.notes:
        notes().print(f"note: {note}", markup=False)


def _lines(config: "ModelConfig", found: "ModelSize") -> list[str]:
    from colocate.inputs.overheads import REQUESTS, overhead_gb
    from colocate.outputs.text.sanitise import LONGEST_NAME, one_line

    rows = [
        ("config", f"{one_line(config.place, LONGEST_NAME)}{DOWNLOADED.get(config.origin, '')}"),
        ("model", f"{one_line(found.model_type, LONGEST_NAME)}, {found.layers} layers"),
        ("parameters", f"{_billions(found.parameters)}{_active(found)}"),
        ("weights", f"{found.weight_bytes / 1e9:,.2f} GB ({found.dtype}, {SOURCES[found.source]})"),
        (
            "engine",
            f"about {overhead_gb(found):.2g} GB more, for {REQUESTS} requests at once",
        ),
        *_sequence_rows(found),
    ]
    if found.context_limit is not None:
        rows.append(("context", f"at most {_context(found.context_limit)}"))
    return [f"{name:<14}{text}" for name, text in rows]


def _sequence_rows(found: "ModelSize") -> list[tuple[str, str]]:
    """Return what a sequence takes: its cache for some lengths, and its state."""
    rows = [("KV cache", _growth(found))]
    if found.state_bytes:
        rows.append(("state", f"{_bytes(found.state_bytes)} for each sequence"))
    if found.kv_bytes(1):
        longest = found.context_limit or max(CONTEXTS)
        contexts = [tokens for tokens in CONTEXTS if tokens <= longest]
        rows += [(_context(tokens), _bytes(found.kv_bytes(tokens))) for tokens in contexts]
    return rows


def _growth(found: "ModelSize") -> str:
    """Return in words how the cache grows with a sequence."""
    if not found.kv_bytes(1):
        return "no KV cache"
    growth = f"{found.kv_bytes_per_token:,} bytes for each token ({found.kv_dtype})"
    if found.sliding_window is None:
        return growth
    windowed = f"{found.windowed_kv_bytes_per_token:,} more for the last"
    return f"{growth}, {windowed} {found.sliding_window:,} tokens"


def _active(found: "ModelSize") -> str:
    if found.active_parameters == found.parameters:
        return ", all active"
    return f", {_billions(found.active_parameters)} active for a token"


def _context(tokens: int) -> str:
    from colocate.outputs.text.wording import amount

    return amount(tokens, "token")


def _billions(number: int) -> str:
    return f"{number / 1e9:,.2f} B" if number >= 1e9 else f"{number / 1e6:,.1f} M"


def _bytes(number: int) -> str:
    for unit, size_of_unit in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size_of_unit:
            return f"{number / size_of_unit:,.2f} {unit}"
    return f"{number} bytes"
