"""Engines that compute at once under MPS: only those that share a GPU, each group with its daemon.

A daemon serves the engines that share GPUs with each other, directly or through an engine with
shards, since an engine can have one daemon only. It is theirs alone: after a fault, MPS takes no
new client until all clients of the daemon have ended, on whatever GPU they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from colocate.outputs.emit.engines.groups import groups_of
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.settings import EmitSettings

MOST_CLIENTS = 48
"""Clients of MPS on a GPU, of any generation since Volta (newer ones take 60)."""
FOLDER = "/tmp/colocate-mps"
"""Where daemons and engines meet on a machine, a folder for each daemon. Paths of sockets must be
short."""
STOP_SECONDS = 60
"""How long an engine may take until it has finished its requests and ended."""


class ProcessShare(NamedTuple):
    """Which of the processes of a machine are those of an engine: they get as many of its cores."""

    first: int
    processes: int
    total: int

    @property
    def words(self) -> list[str]:
        """The numbers as words of a command."""
        return [str(number) for number in self]


@dataclass(frozen=True)
class SharingGroup:
    """Engines that share GPUs, and so a daemon; they are restarted together."""

    launches: tuple[Launch, ...]
    """In the order in which they start."""

    @cached_property
    def devices(self) -> tuple[int, ...]:
        """The numbers of their GPUs on the machine."""
        return tuple(sorted({number for launch in self.launches for number in launch.devices}))

    @property
    def name(self) -> str:
        """The name of the daemon, unique on a machine."""
        return f"gpu-{self.devices[0]}"

    @property
    def folder(self) -> str:
        """Where its engines find the daemon."""
        return f"{FOLDER}/{self.name}"


def mps_groups(launches: Sequence[Launch], settings: EmitSettings) -> list[SharingGroup]:
    """Return the groups of a machine that need MPS, by the numbers of their GPUs."""
    if not settings.mps:
        return []
    shared = (SharingGroup(tuple(group)) for group in groups_of(launches) if len(group) > 1)
    return sorted(shared, key=lambda group: group.devices)


def group_with(launch: Launch, groups: Sequence[SharingGroup]) -> SharingGroup | None:
    """Return the group that an engine is in, None for one that has its GPUs to itself."""
    names = ((group, [member.name for member in group.launches]) for group in groups)
    return next((group for group, members in names if launch.name in members), None)


def core_shares(groups: Sequence[SharingGroup]) -> dict[str, ProcessShare]:
    """Return the share of the machine's cores of each engine in a group, by its name.

    Each has a process for its server, and one for each shard. They are in the order of their GPUs,
    as cores are in that of NUMA nodes, so that both are mostly near each other.
    """
    engines = [launch for group in groups for launch in group.launches]
    counts = [1 + len(launch.gpus) for launch in engines]
    firsts = [sum(counts[:place]) for place in range(len(counts))]
    return {
        launch.name: ProcessShare(first, count, sum(counts))
        for launch, first, count in zip(engines, firsts, counts, strict=True)
    }
