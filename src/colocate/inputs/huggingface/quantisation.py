"""How the weights of a model are kept, as its `quantization_config` says."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.formats import FORMATS, Format
from colocate.inputs.huggingface.kept_modules import KeptModules
from colocate.inputs.huggingface.tensor import Tensor, TensorRole

WIDEST = 16
KEPT_LISTS = (
    "modules_to_not_convert",
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "llm_int8_skip_modules",
)
QUANTISED = (TensorRole.LINEAR, TensorRole.EXPERT)
"""What a quantisation touches, where it leaves no module out."""
ROW = -1
"""As a group size: one scale for each output."""


@dataclass(frozen=True)
class Storage:
    """The format of the quantised weights and of the plain ones, and which is which."""

    plain: Format
    quantised: Format
    kept: KeptModules
    has_experts: bool

    def bytes_of(self, tensor: Tensor) -> int:
        """Return the bytes of a weight with its copies."""
        used = self.quantised if self._quantises(tensor) else self.plain
        return tensor.copies * used.bytes_of(tensor.outputs, tensor.inputs)

    def _quantises(self, tensor: Tensor) -> bool:
        if tensor.role not in QUANTISED or tensor.name in self.kept:
            return False
        return tensor.role is TensorRole.EXPERT or not (
            self.quantised.experts_only and self.has_experts
        )


def quantised_format(fields: Fields) -> Format:
    """Return the format that a `quantization_config` describes."""
    method = fields.text("quant_method")
    if method is None and (fields.switch("load_in_8bit") or fields.switch("load_in_4bit")):
        method = "bitsandbytes"
    if method is None or method not in METHODS:
        known = ", ".join(METHODS)
        raise fields.refusal("quant_method", f"one of: {known}; else name a dtype yourself")
    return METHODS[method](fields)


def kept_modules(fields: Fields) -> KeptModules:
    """Return the modules that a `quantization_config` leaves as they are."""
    return KeptModules.named(name for kept in KEPT_LISTS for name in fields.texts(kept))


def cache_format(fields: Fields) -> Format | None:
    """Return the format of keys and values that a `quantization_config` asks for, if any."""
    scheme = fields.part("kv_cache_scheme")
    if scheme is None:
        return None
    bits = scheme.count("num_bits")
    if bits != 8:
        raise scheme.refusal("num_bits", "8; else name a kv_dtype yourself")
    return FORMATS["int8" if scheme.text("type") == "int" else "fp8"]


def _grouped(fields: Fields) -> Format:
    """AWQ, GPTQ: a scale and a zero point for each group of inputs."""
    bits = _bits(fields, "bits")
    return Format(f"int{bits}", bits, _group(fields), 16 + bits)


def _fp8(fields: Fields) -> Format:
    block = fields.whole_numbers("weight_block_size", least=1)
    if not block:
        return FORMATS["fp8"]
    if len(block) != 2:
        raise fields.refusal("weight_block_size", "two whole numbers")
    return replace(FORMATS["fp8"], block=block)


def _fp8_by_row(fields: Fields) -> Format:
    return replace(FORMATS["fp8"], block=(1, 0))


def _bitsandbytes(fields: Fields) -> Format:
    if fields.switch("load_in_4bit"):
        double = fields.switch("bnb_4bit_use_double_quant")
        return replace(FORMATS["nf4"], scale_bits=8 if double else 32)
    if fields.switch("load_in_8bit"):
        return replace(FORMATS["int8"], scale_bits=32)
    raise fields.refusal("load_in_4bit", "true, or load_in_8bit")


def _mxfp4(fields: Fields) -> Format:
    return FORMATS["mxfp4"]


def _modelopt(fields: Fields) -> Format:
    formats = {"FP8": FORMATS["fp8"], "NVFP4": FORMATS["nvfp4"]}
    algorithm = fields.text("quant_algo")
    if algorithm not in formats:
        raise fields.refusal("quant_algo", f"one of: {', '.join(formats)}")
    return formats[algorithm]


def _compressed_tensors(fields: Fields) -> Format:
    """Return the widest of the groups, so that memory is never underestimated."""
    groups = fields.part("config_groups")
    if groups is None or not groups.values:
        raise fields.refusal("config_groups", "a mapping with at least one group")
    formats = [_compressed_group(groups, name) for name in groups.values]
    return max(formats, key=lambda found: found.bits)


def _compressed_group(groups: Fields, name: str) -> Format:
    group = groups.part(name)
    weights = group.part("weights") if group is not None else None
    if weights is None:
        return FORMATS["bf16"]
    bits = _bits(weights, "num_bits")
    kind = "fp" if weights.text("type") == "float" else "int"
    zero = 0 if weights.switch("symmetric") else bits
    strategy = weights.text("strategy") or "tensor"
    if kind == "fp" and bits == 4:
        return FORMATS["nvfp4"]
    if strategy == "block":
        return replace(_fp8(weights), bits=bits)
    block = {"tensor": (0, 0), "channel": (1, 0)}.get(strategy) or _group(weights)
    return Format(f"{kind}{bits}", bits, block, 16 + zero)


def _group(fields: Fields) -> tuple[int, int]:
    size = fields.optional_count("group_size", least=ROW)
    if size == 0:
        raise fields.refusal("group_size", "a whole number from 1, or -1 for a whole row")
    return (1, 0) if size == ROW else (1, size or 128)


def _bits(fields: Fields, name: str) -> int:
    bits = fields.count(name)
    if bits > WIDEST:
        raise fields.refusal(name, f"at most {WIDEST}")
    return bits


METHODS: dict[str, Callable[[Fields], Format]] = {
    "awq": _grouped,
    "gptq": _grouped,
    "auto-round": _grouped,
    "fp8": _fp8,
    "fbgemm_fp8": _fp8_by_row,
    "compressed-tensors": _compressed_tensors,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
    "modelopt": _modelopt,
}
