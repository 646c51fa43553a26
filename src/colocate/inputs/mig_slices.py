"""MIG slices: the parts that a GPU can be divided into, each a kind of GPU for programs.

A slice such as 2g.20gb has two of seven compute slices and two of eight memory slices: so much of
the speed and of the bandwidth of the whole card. A30 and RTX PRO 6000 have four of each.

Memory is what `nvidia-smi mig -lgip` prints for a profile, the lowest of several drivers. It is
also what `nvidia-smi` prints in its table of MIG devices, in MiB (1g.5gb: 4.75 GiB, 4864 MiB), and
what a process sees. `nvidia-smi --query-gpu` knows nothing of slices, and `nvidia-smi -L` prints
their names without memory.
"""

import re
from dataclasses import replace

from colocate.inputs.accelerator import Accelerator

SEVEN, EIGHT, FOUR = 7, 8, 4
"""Compute slices and memory slices of the large cards, and both of the small ones."""
PROFILE = re.compile(r"(?P<compute>[1-9])g\.(?P<size>[1-9][0-9]{0,2})gb(?P<media>\+me)?", re.I)
"""The name of a slice; `+me` is one with the engines for video, which has the same memory."""

PROFILES: dict[str, dict[str, tuple[int, float]]] = {
    "A30": {"1g.6gb": (1, 5.81), "2g.12gb": (2, 11.69), "4g.24gb": (4, 23.44)},
    "A100-40GB": {
        "1g.5gb": (1, 4.75), "1g.10gb": (2, 9.62), "2g.10gb": (2, 9.62),
        "3g.20gb": (4, 19.50), "4g.20gb": (4, 19.50), "7g.40gb": (8, 39.25),
    },
    "A100-80GB": {
        "1g.10gb": (1, 9.50), "1g.20gb": (2, 19.50), "2g.20gb": (2, 19.50),
        "3g.40gb": (4, 39.25), "4g.40gb": (4, 39.25), "7g.80gb": (8, 78.75),
    },
    "H100-80GB": {
        "1g.10gb": (1, 9.75), "1g.20gb": (2, 19.50), "2g.20gb": (2, 19.50),
        "3g.40gb": (4, 39.25), "4g.40gb": (4, 39.25), "7g.80gb": (8, 79.00),
    },
    "H100-NVL": {
        "1g.12gb": (1, 10.75), "1g.24gb": (2, 21.62), "2g.24gb": (2, 21.62),
        "3g.47gb": (4, 46.00), "4g.47gb": (4, 46.00), "7g.94gb": (8, 92.50),
    },
    "H200": {
        "1g.18gb": (1, 16.00), "1g.35gb": (2, 32.50), "2g.35gb": (2, 32.50),
        "3g.71gb": (4, 69.50), "4g.71gb": (4, 69.50), "7g.141gb": (8, 139.00),
    },
    "GH200-144GB": {"1g.18gb": (1, 17.50), "1g.36gb": (2, 35.25), "2g.36gb": (2, 35.25)},
    "B200": {
        "1g.23gb": (1, 20.50), "1g.45gb": (2, 44.25), "2g.45gb": (2, 44.25),
        "3g.90gb": (4, 88.50), "4g.90gb": (4, 88.50), "7g.180gb": (8, 177.00),
    },
    "GB200": {"1g.24gb": (1, 20.00), "1g.47gb": (2, 45.50), "2g.47gb": (2, 45.50)},
    "RTX-PRO-6000-Server": {"1g.24gb": (1, 23.00), "2g.48gb": (2, 47.00), "4g.96gb": (4, 94.50)},
}  # fmt: skip
"""Memory slices and GiB of each profile, by kind. From public output of `nvidia-smi mig -lgip`: of
A100 and H100 in many guides, A30 in HAMi's tests, H100 NVL in gpu-operator pull 900, H200 in
mig-parted issue 120, GH200 in mig-parted pull 139, B200 in gpu-operator pulls 1242 and 1351, GB200
in pull 1303. Of H200 and B200 the large slices, and all of RTX PRO 6000, are a little less than
their share of the card."""
ALIKE = {
    "A100-PCIe-80GB": "A100-80GB", "A800-80GB": "A100-80GB", "A800-PCIe-80GB": "A100-80GB",
    "H100-PCIe": "H100-80GB", "H800": "H100-80GB", "H800-PCIe": "H100-80GB",
    "H200-NVL": "H200", "H20-141GB": "H200", "RTX-PRO-6000": "RTX-PRO-6000-Server",
    "RTX-PRO-6000-Max-Q": "RTX-PRO-6000-Server",
}  # fmt: skip
"""Kinds that divide as another one does."""
IN_FOUR = ("A30", "RTX-PRO-6000-Server")


def profiles_of(kind: str) -> dict[str, tuple[int, float]]:
    """Return memory slices and GiB of the profiles that a kind of GPU has, by name."""
    return PROFILES.get(ALIKE.get(kind, kind), {})


def slice_of(card: Accelerator, profile: str) -> Accelerator | None:
    """Return a slice of a card as a kind of its own; None if it has no such profile."""
    found = PROFILE.fullmatch(profile)
    if found is None:
        return None
    name = f"{found['compute']}g.{found['size']}gb"
    if name not in profiles_of(card.kind):
        return None
    memory_slices, gib = profiles_of(card.kind)[name]
    small = ALIKE.get(card.kind, card.kind) in IN_FOUR
    speed = int(found["compute"]) / (FOUR if small else SEVEN)
    return replace(
        card,
        kind=f"{card.kind}-{name}",
        reported_gib=gib,
        printed_mib=round(gib * 1024),
        bandwidth_gb_s=card.bandwidth_gb_s * memory_slices / (FOUR if small else EIGHT),
        tflops_16bit=card.tflops_16bit * speed,
        tflops_8bit=card.tflops_8bit * speed if card.tflops_8bit is not None else None,
        product_tflops=card.product_tflops * speed if card.product_tflops is not None else None,
        price_per_hour=None,
        aliases=(),
        memory_source="nvidia-smi mig -lgip",
    )
