"""Engines that share GPUs, directly or through others: what one of them does, the others feel."""

from collections import Counter
from collections.abc import Iterable, Sequence

from colocate.outputs.emit.engines.launch import Launch


def groups_of(launches: Iterable[Launch]) -> list[list[Launch]]:
    """Return the engines in groups that share no GPU with each other, in the order of start."""
    groups: list[tuple[set[str], list[Launch]]] = []
    for launch in sorted(launches, key=lambda launch: (launch.wave, launch.port)):
        apart = [group for group in groups if group[0].isdisjoint(launch.gpus)]
        joined = [group for group in groups if not group[0].isdisjoint(launch.gpus)]
        gpus = set(launch.gpus).union(*(group[0] for group in joined))
        members = [member for group in joined for member in group[1]]
        groups = [*apart, (gpus, [*members, launch])]
    by_port = sorted((members for _, members in groups), key=_first_port)
    return [sorted(members, key=lambda launch: launch.wave) for members in by_port]


def crowded_gpus(launches: Iterable[Launch]) -> set[str]:
    """Return the GPUs that have several engines."""
    count = Counter(gpu for launch in launches for gpu in launch.gpus)
    return {gpu for gpu, engines in count.items() if engines > 1}


def crowded_engines(launches: Sequence[Launch]) -> set[str]:
    """Return the names of the engines that share a GPU."""
    crowded = crowded_gpus(launches)
    return {launch.name for launch in launches if not crowded.isdisjoint(launch.gpus)}


def _first_port(members: list[Launch]) -> int:
    return min(launch.port for launch in members)
