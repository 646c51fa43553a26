"""In what format an engine gets its weights: as they are on disk, or made while it loads them."""

import re
from collections.abc import Sequence

from colocate.errors import UnknownNameError
from colocate.inputs.compute import known_accelerator
from colocate.inputs.huggingface.formats import bits_of, find_format
from colocate.inputs.spec import ModelSpec

ENGINE_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
MADE_WHILE_LOADING = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""By format: the option with which engines make it from 16 bits."""
FULL_BITS = 16
"""Of a weight that is not quantised: checkpoints are in bf16 or fp16."""
NO_BF16 = ("T4", "V100-16GB", "V100-32GB")
"""Kinds of the catalogue that are older than bf16."""
FOUR_BITS = ("int4", "awq", "gptq", "w4a16", "w4a8", "4bit", "4-bit", "autoround", "auto-round")
MARKS = {
    "fp8": ("fp8", "float8"),
    "int8": ("int8", "gptq", "w8a8", "w8a16", "8bit", "8-bit"),
    "int4": FOUR_BITS,
    "nf4": ("nf4", "bnb", "4bit", "4-bit"),
    "nvfp4": ("nvfp4", "fp4"),
    "mxfp4": ("mxfp4", "gpt-oss"),
}
"""By format: what the names of checkpoints contain that have it on disk."""


def format_name(dtype: str | None) -> str:
    """Return the usual name of a format, or the user's name for an unknown one."""
    try:
        return find_format(dtype).name if dtype else ""
    except UnknownNameError:
        return (dtype or "").lower()


def is_on_disk(spec: ModelSpec) -> bool:
    """Return whether a checkpoint is known to have its format already.

    That is the user, the config, or the name of what is loaded.
    """
    if spec.quantised_on_disk is not None:
        return spec.quantised_on_disk
    name, source = format_name(spec.dtype), (spec.source or spec.name).lower()
    return any(mark in source for mark in (*MARKS.get(name, ()), name) if mark)


def made_while_loading(spec: ModelSpec, args: Sequence[str]) -> str | None:
    """Return the format that an engine has to make from 16 bits, None if there is none.

    4 bits of bitsandbytes are asked for where they are on disk too, which changes nothing.
    """
    name = format_name(spec.dtype)
    if has_argument(args, "--quantization", "-q") or (name == "fp8" and is_on_disk(spec)):
        return None
    return MADE_WHILE_LOADING.get(name)


def must_be_on_disk(spec: ModelSpec, args: Sequence[str]) -> bool:
    """Return whether an engine cannot make a format that the checkpoint may not have."""
    name = format_name(spec.dtype)
    if name in ("", "auto") or name in ENGINE_DTYPES or name in MADE_WHILE_LOADING:
        return False
    return not is_on_disk(spec) and not has_argument(args, "--quantization", "-q")


def full_weights_gb(spec: ModelSpec) -> float:
    """Return the GB that a part of a model holds at most while its weights are in 16 bits."""
    weights = (spec.size_gb or 0.0) * max(FULL_BITS / bits_of(spec.dtype), 1.0)
    return weights / spec.shards + (spec.overhead_gb or 0.0)


def has_bf16(kind: str) -> bool:
    """Return whether a kind of GPU has bf16; an unknown kind counts as having it."""
    row = known_accelerator(kind)
    return row is None or row.kind not in NO_BF16


def has_argument(args: Sequence[str], *flags: str) -> bool:
    """Return whether arguments of the user name one of these options."""
    named = {re.split("[= ]", argument, maxsplit=1)[0].replace("_", "-") for argument in args}
    return not named.isdisjoint(flags)
