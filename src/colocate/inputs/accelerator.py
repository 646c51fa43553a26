"""One kind of GPU, with the memory that its programs see."""

from dataclasses import dataclass
from math import floor

GIB = 2**30
"""In bytes: drivers and engines count memory in GiB."""
DECIMALS = 100
"""Memory is rounded down to so many parts of a GB."""


@dataclass(frozen=True)
class Accelerator:
    """One kind of GPU.

    Parameters
    ----------
    kind
        Its name here.
    reported_gib
        The memory that a process sees on it, in GiB: the total of `cudaMemGetInfo` or
        `hipMemGetInfo`, which PyTorch prints as `total capacity of 44.39 GiB`. It is less than the
        data sheet says, and less than `nvidia-smi` prints, because the driver keeps a part. Where
        reports differ, it is the lowest.
    printed_mib
        The memory that `nvidia-smi` or `rocm-smi` prints, in MiB; None where no report is known.
    bandwidth_gb_s
        Of its memory, in GB of 1e9 bytes each second.
    tflops_16bit
        In bf16 or fp16.
    tflops_8bit
        In fp8, or in int8 where there is no fp8; None where the card has neither.
    price_per_hour
        Typical price on demand in US dollars in `PRICE_YEAR`, None where none is known.
    aliases
        Other names of the same kind.
    memory_source
        Where the two figures for memory are from.
    product_tflops
        What large products in bf16 were measured to reach; None where no measurement is known.
    """

    kind: str
    reported_gib: float
    printed_mib: int | None
    bandwidth_gb_s: float
    tflops_16bit: float
    tflops_8bit: float | None = None
    price_per_hour: float | None = None
    aliases: tuple[str, ...] = ()
    memory_source: str = ""
    product_tflops: float | None = None

    @property
    def memory_gb(self) -> float:
        """The memory that a process sees, in GB of 1e9 bytes, rounded down."""
        return floor(self.reported_gib * GIB / 1e9 * DECIMALS) / DECIMALS
