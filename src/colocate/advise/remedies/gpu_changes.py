"""More GPUs in a fleet: of the kinds that it has, or of another kind that can be rented."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import count, product
from math import inf

from colocate.advise.remedies.changed_fleet import problem_of
from colocate.advise.what_if import Change, ChangeKind, Ladder
from colocate.inputs.accelerator import Accelerator
from colocate.inputs.compute import known_accelerator
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import maker_of
from colocate.inputs.gpu_rows import ROWS
from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.spec import GpuSpec

EIGHT_BITS = 8
"""Bits of a weight that some GPUs cannot calculate with."""
MOST_ADDED = 8
"""The most GPUs to add."""
MOST_FASTER = 3
"""The most faster kinds of GPU to try, the cheapest."""
MOST_NODES = 4
"""The most nodes to try adding GPUs to."""


def gpu_ladders(fleet: Fleet) -> Iterator[Ladder]:
    """Yield, for each kind of GPU in the fleet, one more, two more, and so on."""
    pinned = any(m.shards > 1 or m.only or m.never for m in fleet.problem.models)
    for entries in _alike(fleet):
        by_node = list({entry.node: entry for entry in entries}.values())
        yield _gpu_ladder(fleet, by_node[: MOST_NODES if pinned else 1])


def _alike(fleet: Fleet) -> list[list[GpuSpec]]:
    """Return the entries of the fleet file, those of one kind together."""
    alike: dict[Hashable, list[GpuSpec]] = {}
    for entry in fleet.spec.gpus:
        alike.setdefault(entry.likeness, []).append(entry)
    return list(alike.values())


def one_of_each_kind(fleet: Fleet) -> list[GpuSpec]:
    """Return an entry of the fleet file for each kind of GPU."""
    return [entries[0] for entries in _alike(fleet)]


def _gpu_ladder(fleet: Fleet, entries: Sequence[GpuSpec]) -> Ladder:
    for number, entry in product(range(1, MOST_ADDED + 1), entries):
        yield from more_gpus(fleet, entry, number)


def catalogue_ladder(fleet: Fleet) -> Ladder:
    """Yield one more GPU of each other kind that can be rented, smallest first.

    Kinds that cannot calculate in the format of a model are left out.
    """
    for row in sorted(_other_kinds(fleet), key=lambda row: (row.memory_gb, _price(row))):
        yield from _one_more(fleet, row)


def faster_ladder(fleet: Fleet) -> Ladder:
    """Yield one more GPU of each kind that reads memory faster than all here, cheapest first.

    Only kinds of the same maker are tried, since engines share GPUs of others in other ways.
    """
    known = (known_accelerator(entry.kind) for entry in fleet.spec.gpus)
    fastest = max((row.bandwidth_gb_s for row in known if row), default=inf)
    makers = {maker_of(gpu.kind) for gpu in fleet.problem.gpus}
    faster = [
        row
        for row in _other_kinds(fleet)
        if row.bandwidth_gb_s > fastest and maker_of(row.kind) in makers
    ]
    for row in sorted(faster, key=lambda row: (_price(row), -row.bandwidth_gb_s))[:MOST_FASTER]:
        yield from _one_more(fleet, row)


def _other_kinds(fleet: Fleet) -> list[Accelerator]:
    """Return the kinds to rent that a fleet does not have; none if it has one that is unknown."""
    known = [known_accelerator(entry.kind) for entry in fleet.spec.gpus]
    dtypes = {model.dtype for model in fleet.spec.models}
    return [
        row
        for row in (ROWS if all(known) else ())
        if row.price_per_hour is not None
        and row not in known
        and all(calculates_in(row, dtype) for dtype in dtypes)
    ]


def _price(row: Accelerator) -> float:
    return row.price_per_hour or inf


def _one_more(fleet: Fleet, row: Accelerator) -> Iterator[Change]:
    entry = GpuSpec.model_validate({"kind": row.kind}).resolved()
    yield from more_gpus(fleet, entry, 1)


def calculates_in(row: Accelerator, dtype: str | None) -> bool:
    """Return whether a kind of GPU can calculate with weights of a format."""
    return row.tflops_8bit is not None or bits_of(dtype) != EIGHT_BITS


def more_gpus(fleet: Fleet, entry: GpuSpec, number: int) -> Iterator[Change]:
    """Yield more GPUs as a change, unless they contradict the fleet.

    Parameters
    ----------
    fleet
        The fleet to change.
    entry
        What they are like.
    number
        How many.
    """
    gpus = [*fleet.spec.gpus, added_gpus(fleet, entry, number)]
    problem = problem_of(fleet.spec.model_copy(update={"gpus": gpus}))
    if problem is not None:
        yield Change(
            ChangeKind.GPUS,
            problem,
            to=kind_name(entry),
            count=number,
            gb=number * ((entry.memory_gb or 0.0) - (entry.reserve_gb or 0.0)),
            node=entry.node or "",
        )


def added_gpus(fleet: Fleet, entry: GpuSpec, number: int) -> GpuSpec:
    """Return so many more GPUs like those of an entry, under a name of their own.

    Parameters
    ----------
    fleet
        The fleet that they come to.
    entry
        An entry of a fleet file.
    number
        How many GPUs there are in addition.
    """
    taken = {gpu.name.partition("-")[0] for gpu in fleet.problem.gpus}
    name = next(name for n in count() if (name := f"added{n or ''}") not in taken)
    return entry.model_copy(update={"name": name, "count": number, "devices": None})


def kind_name(entry: GpuSpec) -> str:
    """Return the kind of the GPUs of an entry, or their memory if it has none."""
    return entry.kind or f"{entry.memory_gb:g} GB"
