"""What `nvidia-smi` prints: its table, its list (`-L`) and its CSV (`--query-gpu`)."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from colocate.inputs.accelerator import Accelerator
from colocate.inputs.discovery.found_gpu import LONGEST_PRINTED, FoundGpu, whole_number
from colocate.inputs.discovery.printed_names import row_of
from colocate.inputs.mig_slices import profiles_of

QUERY = "index,name,memory.total,memory.used,uuid,mig.mode.current"
LIST_LINE = re.compile(r"GPU (\d{1,4}): (.{1,200}?) \(UUID:")
SLICE_LINE = re.compile(r"\s*MIG (?:\d+c\.)?(\S{1,20})\s+Device\s+\d{1,3}:")
NAME_CELL = re.compile(r"\|\s{1,6}(\d{1,4})\s{1,4}(\S.{0,60}?)\s+(?:On|Off|N/A|WDDM|TCC)\s*\|")
MEMORY_CELL = re.compile(r"\|\s*(\d{1,8})MiB\s*/\s*(\d{1,8})MiB\s*\|")
SLICE_CELLS = re.compile(
    r"\|\s+(\d{1,4})\s+\d+\s+\d+\s+\d+\s+\|\s*(\d{1,8})MiB\s*/\s*(\d{1,8})MiB\s*\|\s*(\d{1,4})\s"
)
"""Of a MIG device in the table: its GPU, its memory used and in all, and its multiprocessors."""
MULTIPROCESSORS, OF_AMPERE = 16, 14
"""Of one compute slice, at the least: 14 on A100 and A30."""
CLOSE = 0.04
"""How far the memory of a slice may be from that of its profile, which depends on the driver."""


def nvidia_gpus(text: str) -> list[FoundGpu]:
    """Return the GPUs that the output of `nvidia-smi` shows, in any of its forms or several."""
    lines = text.splitlines()
    whole: dict[int, FoundGpu] = {}
    for found in (*_listed(lines), *_in_table(lines), *_in_csv(lines)):
        number = found.number or 0
        before = whole.get(number)
        whole[number] = found if before is None else _merged(before, found)
    slices = list(_listed_slices(lines)) or list(_slices_in_table(lines, whole))
    divided = {number for number, _ in slices}
    gpus = [whole[number] for number in sorted(whole) if number not in divided]
    return gpus + [part for number, part in slices if number in whole]


def _merged(first: FoundGpu, second: FoundGpu) -> FoundGpu:
    """Return what two forms say of one GPU; the second one knows more, but may cut the name."""
    name = first.name if second.name.endswith("...") else second.name
    total = first.total_mib if second.total_mib is None else second.total_mib
    used = first.used_mib if second.used_mib is None else second.used_mib
    return replace(second, name=name, total_mib=total, used_mib=used)


def _listed(lines: Sequence[str]) -> Iterator[FoundGpu]:
    for line in lines:
        if found := LIST_LINE.match(line):
            yield FoundGpu(found[2][:LONGEST_PRINTED], number=int(found[1]))


def _listed_slices(lines: Sequence[str]) -> Iterator[tuple[int, FoundGpu]]:
    card: re.Match[str] | None = None
    for line in lines:
        card = LIST_LINE.match(line) or card
        if card and (found := SLICE_LINE.match(line)):
            yield int(card[1]), FoundGpu(f"{card[2][:LONGEST_PRINTED]} {found[1]}", sliced=True)


def _in_table(lines: Sequence[str]) -> Iterator[FoundGpu]:
    for line, following in pairwise([*lines, ""]):
        if found := NAME_CELL.match(line):
            memory = MEMORY_CELL.search(following)
            used, total = (int(memory[1]), int(memory[2])) if memory else (None, None)
            yield FoundGpu(found[2], number=int(found[1]), total_mib=total, used_mib=used)


def _slices_in_table(
    lines: Sequence[str], whole: dict[int, FoundGpu]
) -> Iterator[tuple[int, FoundGpu]]:
    """Yield the MIG devices of the table, which has their memory but not their names."""
    for line in lines:
        found = SLICE_CELLS.match(line)
        card = whole.get(int(found[1])) if found else None
        if found is None or card is None:
            continue
        used, total, multiprocessors = int(found[2]), int(found[3]), int(found[4])
        row = row_of(card.name, card.total_mib)
        profile = _profile(row, total, multiprocessors) if row else None
        name = f"{row.kind if row else card.name} {profile or 'MIG'}"
        yield (
            int(found[1]),
            FoundGpu(name, total_mib=total, used_mib=used, whole=False, sliced=True),
        )


def _profile(row: Accelerator, mib: int, multiprocessors: int) -> str | None:
    """Return the profile with that memory that has most compute slices of those it can have."""
    of_slice = OF_AMPERE if row.kind.startswith("A") else MULTIPROCESSORS
    fitting = [
        name
        for name, (_, gib) in profiles_of(row.kind).items()
        if abs(gib * 1024 / max(mib, 1) - 1) <= CLOSE
        and int(name[0]) * of_slice <= multiprocessors + 2
    ]
    return max(fitting, default=None)


def _in_csv(lines: Sequence[str]) -> Iterator[FoundGpu]:
    columns: list[str] = []
    for row in csv.reader((line for line in lines if "," in line), skipinitialspace=True):
        cells = [cell.strip() for cell in row]
        if "name" in cells and any(cell.startswith("memory.total") for cell in cells):
            columns = [cell.partition(" ")[0] for cell in cells]
        elif columns and len(cells) == len(columns):
            of = dict(zip(columns, cells, strict=True))
            if number := _index(of.get("index", "0")):
                yield FoundGpu(
                    of["name"][:LONGEST_PRINTED],
                    number=number - 1,
                    total_mib=whole_number(of["memory.total"]),
                    used_mib=whole_number(of.get("memory.used", "")),
                    divided=of.get("mig.mode.current") == "Enabled",
                )


def _index(text: str) -> int:
    """Return the number of a GPU, counted from 1; 0 for a text that is no number."""
    found = whole_number(text, most=10_000)
    return 0 if found is None else found + 1
