"""The catalogue of GPUs: memory, bandwidth and speed of real ones, one row each.

Figures are those of the vendors' data sheets, dense, so without the factor of two for sparsity;
for GeForce cards with accumulation in 32 bits, which is what language models run with. Prices are
list prices of RunPod, of AWS for T4 and A10G and of Vultr for MI300X: good for ranking GPUs, not
for a bill.
"""

from dataclasses import dataclass

from colocate.errors import UnknownNameError

PRICE_YEAR = 2026
"""When the prices were listed. For one GPU, providers differ by a factor of three."""
MAKERS = ("nvidia", "tesla", "geforce", "amd", "instinct")


@dataclass(frozen=True)
class Accelerator:
    """One kind of GPU.

    Parameters
    ----------
    kind
        Its name here.
    memory_gb
        The number on the data sheet, taken as GB of 1e9 bytes. Vendors mean GiB, and a card whose
        error correction takes no memory reports up to 7% more; the difference is left to driver
        and engine, so that a plan never counts on memory that is not there.
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
    """

    kind: str
    memory_gb: float
    bandwidth_gb_s: float
    tflops_16bit: float
    tflops_8bit: float | None = None
    price_per_hour: float | None = None
    aliases: tuple[str, ...] = ()


ROWS = (
    #           kind               GB   GB/s  16 bit  8 bit    $/h   other names
    Accelerator("V100-16GB",       16,   900,  125,   None,    None, ("V100", "V100-SXM2-16GB")),
    Accelerator("V100-32GB",       32,   900,  125,   None,    None, ("V100-SXM2-32GB",)),
    Accelerator("T4",              16,   320,   65,    130,    0.53, ("T4-16GB",)),
    Accelerator("A2",              16,   200,   18,     36,    None, ("A2-16GB",)),
    Accelerator("A10",             24,   600,  125,    250,    None, ("A10-24GB",)),
    Accelerator("A10G",            24,   600,   70,    140,    1.01, ("A10G-24GB",)),
    Accelerator("A30",             24,   933,  165,    330,    None, ("A30-24GB",)),
    Accelerator("A40",             48,   696,  149.7,  299.3,  None, ("A40-48GB",)),
    Accelerator("RTX-A5000",       24,   768,  111.1,  222.2,  None, ("A5000",)),
    Accelerator("RTX-A6000",       48,   768,  154.8,  309.7,  None, ("A6000",)),
    Accelerator("A100-40GB",       40,  1555,  312,    624,    None, ("A100", "A100-SXM4-40GB",
                                                                      "A100-PCIe-40GB")),
    Accelerator("A100-80GB",       80,  2039,  312,    624,    1.39, ("A100-SXM4-80GB",)),
    Accelerator("A100-PCIe-80GB",  80,  1935,  312,    624,    1.19, ("A100-80GB-PCIe",)),
    Accelerator("L4",              24,   300,  121,    242,    0.44, ("L4-24GB",)),
    Accelerator("L40",             48,   864,  181,    362,    0.69, ("L40-48GB",)),
    Accelerator("L40S",            48,   864,  362,    733,    0.79, ("L40S-48GB",)),
    Accelerator("RTX-6000-Ada",    48,   960,  364.2,  728.5,  None, ("RTX-6000-Ada-Generation",)),
    Accelerator("H100-80GB",       80,  3350,  989,   1979,    2.69, ("H100", "H100-SXM",
                                                                      "H100-80GB-HBM3")),
    Accelerator("H100-PCIe",       80,  2000,  756,   1513,    1.99, ("H100-PCIe-80GB",)),
    Accelerator("H100-NVL",        94,  3938,  835,   1671,    None, ("H100-NVL-94GB",)),
    Accelerator("GH200",           96,  4000,  990,   1979,    None, ("GH200-96GB",)),
    Accelerator("H20",             96,  4000,  148,    296,    None, ("H20-96GB",)),
    Accelerator("H200",           141,  4800,  989,   1979,    3.59, ("H200-141GB", "H200-SXM")),
    Accelerator("B200",           180,  8000, 2250,   4500,    5.98, ("B200-180GB",)),
    Accelerator("GB200",          186,  8000, 2500,   5000,    None, ("GB200-186GB",)),
    Accelerator("B300",           288,  8000, 2250,   4500,    None, ("B300-288GB",)),
    Accelerator("RTX-3090",        24,   936,   71,    284,    0.22, ("RTX-3090-24GB",)),
    Accelerator("RTX-4090",        24,  1008,  165.2,  330.3,  0.34, ("RTX-4090-24GB",)),
    Accelerator("RTX-5090",        32,  1792,  209.5,  419,    0.69, ("RTX-5090-32GB",)),
    Accelerator("RTX-PRO-6000",    96,  1792,  503.8, 1007.6,  0.89, ("RTX-PRO-6000-96GB",)),
    Accelerator("MI210",           64,  1638,  181,    181,    None, ("MI210-64GB",)),
    Accelerator("MI250X",         128,  3277,  383,    383,    None, ("MI250X-128GB",)),
    Accelerator("MI300X",         192,  5300, 1307,   2615,    1.85, ("MI300X-192GB",)),
    Accelerator("MI325X",         256,  6000, 1307,   2615,    None, ("MI325X-256GB",)),
    Accelerator("MI355X",         288,  8000, 2517,   5033,    None, ("MI355X-288GB",)),
)  # fmt: skip
"""A name that stands for two sizes, such as A100, is the smaller one."""

ACCELERATORS = {row.kind: row for row in ROWS}


def find_accelerator(name: str) -> Accelerator:
    """Return the kind of GPU of that name: in any case, with or without its maker and hyphens.

    Raises
    ------
    UnknownNameError
        If there is none; the message says which there are, or which was probably meant.
    """
    found = _BY_NAME.get(_bare(name))
    if found is None:
        raise UnknownNameError.among("gpu kind", name, ACCELERATORS)
    return found


def _bare(name: str) -> str:
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in MAKERS)


_BY_NAME = {_bare(name): row for row in ROWS for name in (row.kind, *row.aliases)}
