"""Which formats of weights, keys and values a kind of GPU can run.

Read in August 2026 in the sources of vLLM (a014e35: `get_min_capability` of each quantisation, the
table in docs/features/quantization, `supports_compute_capability` of the attention backends) and
SGLang (cce0a12: `get_min_capability`, docs/advanced_features/quantization). A kind or a format that
is not known here is never refused.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault
from colocate.inputs.gpu_catalogue import MAKERS
from colocate.inputs.huggingface.formats import find_format
from colocate.inputs.spec import EngineName, GpuSpec, ModelSpec

NEVER = 1_000
"""A generation that no GPU has: the format never runs natively, or not at all."""
BARE_NAMES = re.compile("[^a-z0-9]")


class Maker(StrEnum):
    """Who made a GPU."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"


class Runs(StrEnum):
    """How a format runs on a kind of GPU."""

    NATIVE = "native"
    FALLBACK = "fallback"
    """Weights are widened before use, so the format saves memory but no time. Keys and values need
    an attention kernel that widens them."""
    NOT = "not"


@dataclass(frozen=True)
class Capability:
    """A generation of GPUs."""

    maker: Maker
    number: int
    """NVIDIA's compute capability times 10; AMD's number of CDNA."""


@dataclass(frozen=True)
class FormatNeed:
    """From which generation of a maker's GPUs on a format runs."""

    native: int
    vllm: int
    sglang: int

    def least(self, engine: EngineName | None) -> int:
        """Return the first generation on which an engine runs it, or any."""
        by_engine = {"vllm": self.vllm, "sglang": self.sglang}
        return by_engine[engine] if engine else min(by_engine.values())


@dataclass(frozen=True)
class FormatLimit:
    """One kind of GPU on which a format of a model does not run natively, or not in any engine."""

    field: str
    """`dtype` or `kv_dtype`."""
    format: str
    kind: str
    runs: Runs
    engine: EngineName | None = None
    """The only engine that runs it, None for both or none."""


GENERATIONS: Mapping[Maker, Mapping[int, tuple[str, ...]]] = {
    Maker.NVIDIA: {
        60: ("p100",),
        61: ("p40", "p4"),
        70: ("v100",),
        75: ("t4", "rtx20", "titanrtx", "quadrortx"),
        80: ("a100", "a800", "a30"),
        86: ("a2", "a10", "a16", "a40", "a4000", "a4500", "a5000", "a6000", "rtxa", "rtx30"),
        89: ("l2", "l4", "rtx40", "rtx4000ada", "rtx4500ada", "rtx5000ada", "rtx6000ada"),
        90: ("h100", "h200", "h800", "h20", "gh200"),
        100: ("b100", "b200", "gb200"),
        103: ("b300", "gb300"),
        120: ("rtx50", "rtxpro"),
        121: ("gb10",),
    },
    Maker.AMD: {
        1: ("mi100",),
        2: ("mi210", "mi250"),
        3: ("mi300", "mi308", "mi325"),
        4: ("mi350", "mi355"),
    },
}
"""How the names of kinds begin, by generation. The longest beginning that fits counts."""

WEIGHTS: Mapping[str, Mapping[Maker, FormatNeed]] = {
    # Widened by Marlin kernels below 8.9. AMD: both engines name MI300 and newer only.
    "fp8": {Maker.NVIDIA: FormatNeed(89, 75, 80), Maker.AMD: FormatNeed(3, 3, 3)},
    # W8A8 needs 7.5. GPTQ and bitsandbytes run on 7.0 too.
    "int8": {Maker.NVIDIA: FormatNeed(75, 70, 70)},
    # Only checkpoints of GPTQ run on 7.0.
    "int4": {Maker.NVIDIA: FormatNeed(75, 70, 70)},
    "awq": {Maker.NVIDIA: FormatNeed(75, 75, 75)},
    "gptq": {Maker.NVIDIA: FormatNeed(70, 70, 70)},
    # vLLM leaves bitsandbytes out of what it runs on ROCm.
    "nf4": {Maker.NVIDIA: FormatNeed(70, 70, 70), Maker.AMD: FormatNeed(2, NEVER, 2)},
    # Widened by Marlin kernels below 10.0; on AMD by emulation (vLLM) or Petit (SGLang).
    "nvfp4": {Maker.NVIDIA: FormatNeed(100, 75, 80), Maker.AMD: FormatNeed(NEVER, 2, 2)},
    "mxfp4": {Maker.NVIDIA: FormatNeed(100, 80, 80), Maker.AMD: FormatNeed(4, 3, 3)},
}
"""By format. What is not here runs everywhere: bf16 runs as float16 where there is no bf16."""
CACHES: Mapping[str, Mapping[Maker, FormatNeed]] = {
    # Between 8.0 and 8.9 only FlashInfer reads it; its support for 7.5 is switched off in vLLM.
    "fp8": {Maker.NVIDIA: FormatNeed(89, 80, 80), Maker.AMD: FormatNeed(3, 2, 2)},
}
"""The same for keys and values."""
FIELDS = {"dtype": WEIGHTS, "kv_dtype": CACHES}


@cache
def capability_of(kind: str) -> Capability | None:
    """Return the generation of a kind of GPU, None for an unknown one."""
    bare = _bare(kind)
    fitting = [
        (len(beginning), Capability(maker, number))
        for maker, generations in GENERATIONS.items()
        for number, beginnings in generations.items()
        for beginning in beginnings
        if bare.startswith(beginning)
    ]
    return max(fitting, key=lambda fit: fit[0])[1] if fitting else None


def maker_of(kind: str) -> Maker:
    """Return who made a kind of GPU; one that is not known counts as NVIDIA's."""
    words = kind.lower().replace("-", " ").replace("_", " ").split()
    amd = "amd" in words or "instinct" in words or re.match(r"mi\d", _bare(kind))
    return Maker.AMD if amd else Maker.NVIDIA


def limits_of(
    model: ModelSpec, kinds: Iterable[str], engine: EngineName | None = None
) -> list[FormatLimit]:
    """Return where the formats of a model do not run natively, or not in any engine.

    Parameters
    ----------
    model
        Has the formats of its weights, keys and values.
    kinds
        Of GPUs.
    engine
        What serves it; None asks for the best of all engines.
    """
    return [
        limit
        for kind in dict.fromkeys(kinds)
        for field in FIELDS
        if (limit := _limit(field, getattr(model, field), kind, engine))
    ]


def closed_kinds(
    dtype: str | None, kv_dtype: str | None, kinds: Iterable[str]
) -> dict[str, FormatLimit]:
    """Return the kinds of GPU on which no engine runs a model, with the reason.

    Parameters
    ----------
    dtype, kv_dtype
        The formats of its weights, and of its keys and values; None where they are not stated.
    kinds
        Of GPUs.
    """
    found: dict[str, FormatLimit] = {}
    for kind in kinds:
        for field, name in (("dtype", dtype), ("kv_dtype", kv_dtype)):
            limit = _limit(field, name, kind, None)
            if limit and limit.runs is Runs.NOT:
                found.setdefault(kind, limit)
    return found


def kept_off(model: ModelSpec, kinds: Iterable[str], gpus: Sequence[GpuSpec]) -> list[str]:
    """Return the kinds of GPU that a model is kept off, since they cannot run its formats.

    Parameters
    ----------
    model
        What is to be placed.
    kinds
        Of all GPUs.
    gpus
        The entries of the fleet file.

    Raises
    ------
    InputError
        If these are all that it may be on.
    """
    closed = closed_kinds(model.dtype, model.kv_dtype, kinds)
    if not closed or not runs_nowhere(model, gpus):
        return sorted(closed.keys() - set(model.never))
    allowed = _allowed_kinds(model, gpus)
    limit = closed[min(allowed)]
    where = "these" if model.only or model.never else "the fleet's"
    fault = Fault(
        f"cannot run on {', '.join(sorted(allowed))}",
        f"a format that {where} GPUs can run",
        "or let the model be on other kinds of GPU",
        value=getattr(model, limit.field),
        path=(limit.field,),
    )
    raise InputError(fault)


def runs_nowhere(model: ModelSpec, gpus: Sequence[GpuSpec]) -> bool:
    """Return whether all GPUs that a model may be on cannot run its formats."""
    if not any(_known(table, getattr(model, field)) for field, table in FIELDS.items()):
        return False
    allowed = _allowed_kinds(model, gpus)
    return bool(allowed) and len(closed_kinds(model.dtype, model.kv_dtype, allowed)) == len(allowed)


def _allowed_kinds(model: ModelSpec, gpus: Sequence[GpuSpec]) -> set[str]:
    return {gpu.kind or "" for gpu in gpus if _may_hold(gpu, model)}


def _limit(
    field: str, name: str | None, kind: str, engine: EngineName | None
) -> FormatLimit | None:
    capability, known = capability_of(kind), _known(FIELDS[field], name)
    need = FIELDS[field][known].get(capability.maker) if known and capability else None
    if need is None or capability is None:
        return None
    if capability.number < need.least(engine):
        return FormatLimit(field, known, kind, Runs.NOT)
    only = None if engine else _only_engine(need, capability.number)
    runs = Runs.NATIVE if capability.number >= need.native else Runs.FALLBACK
    return None if runs is Runs.NATIVE and not only else FormatLimit(field, known, kind, runs, only)


def _only_engine(need: FormatNeed, number: int) -> EngineName | None:
    if number < need.vllm:
        return "sglang"
    return "vllm" if number < need.sglang else None


def _known(table: Collection[str], name: str | None) -> str:
    """Return the name of a format in a table, empty if it is not there."""
    lowered = (name or "").lower()
    if lowered in table:
        return lowered
    try:
        found = find_format(lowered).name if lowered else ""
    except UnknownNameError:
        return ""
    return found if found in table else ""


def _may_hold(gpu: GpuSpec, model: ModelSpec) -> bool:
    """Return whether a model may be on some GPU of an entry."""
    whole = {gpu.kind, gpu.node, *([gpu.stated_name] if gpu.count is None else [])}
    if not whole.isdisjoint(model.never):
        return False
    return not model.only or any(place in whole or _is_one_of(place, gpu) for place in model.only)


def _is_one_of(place: str, gpu: GpuSpec) -> bool:
    name, _, number = place.rpartition("-")
    return gpu.count is not None and name == gpu.stated_name and number.isdecimal()


def _bare(kind: str) -> str:
    words = kind.lower().replace("-", " ").replace("_", " ").split()
    return "".join(BARE_NAMES.sub("", word) for word in words if word not in MAKERS)
