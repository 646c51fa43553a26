"""The formats that weights are kept in, and how many bytes they take."""

from dataclasses import dataclass

from colocate.errors import UnknownNameError


@dataclass(frozen=True)
class Format:
    """A number format, with the scales that a quantised one needs.

    Parameters
    ----------
    name
        As `--dtype` takes it.
    bits
        For one weight.
    block
        Outputs and inputs of the part of a matrix that shares a scale; 0 is all of them. None
        where there are no scales.
    scale_bits
        For one such part, with its zero point where the format has one.
    experts_only
        Whether it is meant for the experts of a mixture, and everything else stays as it is.
    """

    name: str
    bits: int
    block: tuple[int, int] | None = None
    scale_bits: int = 0
    experts_only: bool = False

    def bytes_of(self, outputs: int, inputs: int) -> int:
        """Return the bytes of one matrix with its scales."""
        size = _divided_up(self.bits * outputs * inputs, 8)
        if self.block is None:
            return size
        rows, columns = self.block
        parts = _divided_up(outputs, rows or outputs) * _divided_up(inputs, columns or inputs)
        return size + _divided_up(parts * self.scale_bits, 8)


FORMATS = {
    row.name: row
    for row in (
        Format("fp32", 32),
        Format("bf16", 16),
        Format("fp16", 16),
        Format("fp8", 8, (0, 0), 32),
        Format("int8", 8, (1, 0), 16),
        Format("int4", 4, (1, 128), 16 + 4),
        Format("nf4", 4, (1, 64), 32),
        Format("nvfp4", 4, (1, 16), 8),
        Format("mxfp4", 4, (1, 32), 8, experts_only=True),
    )
}

ALIASES = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "awq": "int4",
    "gptq": "int4",
    "bnb-8bit": "int8",
    "bnb-4bit": "nf4",
}

BITS = {str(bits): bits for bits in (2, 3, 4, 5, 6, 8, 16, 32)}
USUAL_BITS = 16
"""Of weights whose format is not stated."""
PLAIN = ("fp32", "bf16", "fp16")
CACHED = (*PLAIN, "fp8", "int8")
"""What keys and values are kept in."""


def find_format(name: str) -> Format:
    """Return the format of weights of that name."""
    return FORMATS[_known("dtype", name, tuple(FORMATS))]


def find_cache_format(name: str) -> Format:
    """Return the format of keys and values of that name."""
    return FORMATS[_known("kv_dtype", name, CACHED)]


def bits_of(name: str | None) -> int:
    """Return the bits of one weight in a format, by what its name ends in, known here or not."""
    plain = _plain(name or "")
    return BITS.get(plain[len(plain.rstrip("0123456789")) :], USUAL_BITS)


def _plain(name: str) -> str:
    lowered = name.lower().removeprefix("torch.")
    return ALIASES.get(lowered, lowered)


def _known(kind: str, name: str, names: tuple[str, ...]) -> str:
    found = _plain(name)
    if found not in names:
        others = [alias for alias, meant in ALIASES.items() if meant in names]
        raise UnknownNameError.among(kind, name, [*names, *others])
    return found


def _divided_up(number: int, divisor: int) -> int:
    return -(-number // divisor)
