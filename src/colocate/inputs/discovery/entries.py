"""From GPUs that were found to entries of a fleet file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

from colocate.inputs.discovery.found_gpu import FoundGpu
from colocate.inputs.discovery.printed_names import is_usual, row_of

MIB = 2**20 / 1e9
"""In GB."""
KEPT_MIB, KEPT_SHARE = 450, 0.005
"""What a driver keeps of the memory that `nvidia-smi` prints: 450 MiB and 0.5% is about as much as
on the cards of the catalogue, which keep 240 to 1,100 MiB."""
IN_USE_MIB = 1024
"""A GPU with more memory in use than this has something running on it; drivers print up to 700."""


@dataclass(frozen=True)
class GpuEntry:
    """GPUs that are alike, as an entry of a fleet file.

    Parameters
    ----------
    kind
        Its name in the catalogue, or else as it was printed.
    node
        The machine, empty where there is only one.
    count
        How many there are.
    memory_gb
        Its memory if that is not the catalogue's.
    devices
        Their numbers if these are not the natural ones.
    name
        A name of its own if it needs one.
    known
        Whether the catalogue has its kind.
    sliced
        Whether these are MIG slices.
    divided
        Whether MIG is on, so that programs see slices and not these.
    used_gb
        The most memory that is in use on one of them, 0 if nothing runs there.
    """

    kind: str
    node: str = ""
    count: int = 1
    memory_gb: float | None = None
    devices: tuple[int, ...] = field(default=(), compare=False)
    name: str = ""
    known: bool = True
    sliced: bool = False
    divided: bool = False
    used_gb: float = field(default=0.0, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data of a fleet file."""
        fields = {
            "name": self.name or None,
            "node": self.node or None,
            "kind": self.kind,
            "count": self.count,
            "memory_gb": self.memory_gb,
            "devices": list(self.devices) or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


def entries_of(gpus: Iterable[FoundGpu]) -> tuple[list[GpuEntry], list[FoundGpu]]:
    """Return entries for GPUs, and those whose memory nobody knows."""
    gathered: dict[GpuEntry, GpuEntry] = {}
    without_memory = []
    for gpu in gpus:
        entry = _entry(gpu)
        if entry is None:
            without_memory.append(gpu)
            continue
        alike = replace(entry, count=0, devices=(), used_gb=0.0)
        before = gathered.get(alike, alike)
        gathered[alike] = replace(
            before,
            count=before.count + entry.count,
            devices=before.devices + entry.devices,
            used_gb=max(before.used_gb, entry.used_gb),
        )
    return _named(_numbered(list(gathered.values()))), without_memory


def _entry(gpu: FoundGpu) -> GpuEntry | None:
    row = row_of(gpu.name, gpu.total_mib)
    memory = None if row and is_usual(row, gpu.total_mib) else _memory_gb(gpu)
    if row is None and memory is None:
        return None
    used = gpu.used_mib or 0.0
    return GpuEntry(
        row.kind if row else gpu.name,
        gpu.node,
        gpu.count,
        memory,
        () if gpu.number is None else (gpu.number,),
        known=row is not None,
        sliced=gpu.sliced,
        divided=gpu.divided,
        used_gb=round(used * MIB, 2) if used > IN_USE_MIB else 0.0,
    )


def _memory_gb(gpu: FoundGpu) -> float | None:
    """Return the memory that a process sees, in GB, rounded down."""
    if not gpu.total_mib:
        return None
    kept = KEPT_MIB + KEPT_SHARE * gpu.total_mib if gpu.whole else 0.0
    memory = floor((gpu.total_mib - kept) * MIB * 100) / 100
    return memory if memory > 0 else None


def _numbered(entries: Sequence[GpuEntry]) -> list[GpuEntry]:
    """Leave out the numbers of nodes where counting gives the same ones."""
    numbers: dict[str, list[int]] = {}
    partly = {entry.node for entry in entries if len(entry.devices) != entry.count}
    for entry in entries:
        numbers.setdefault(entry.node, []).extend(entry.devices)
    natural = {node for node, found in numbers.items() if found == list(range(len(found)))}
    return [
        replace(entry, devices=()) if entry.node in natural | partly else entry for entry in entries
    ]


def _named(entries: Sequence[GpuEntry]) -> list[GpuEntry]:
    """Give a name of its own to each entry that would share that of another."""
    usual = Counter(entry.node or entry.kind for entry in entries)
    taken: Counter[str] = Counter()
    named = []
    for entry in entries:
        if usual[entry.node or entry.kind] == 1:
            named.append(entry)
            continue
        name = f"{entry.node}-{entry.kind}" if entry.node else entry.kind
        taken[name] += 1
        again = f"-{taken[name]}" if taken[name] > 1 else ""
        named.append(replace(entry, name=f"{name}{again}"))
    return named
