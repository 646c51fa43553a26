"""Groups of GPUs that engines with shards on several of them join."""

from collections.abc import Iterable

from colocate.problem.instance import Ints


def joined_gpus(gpus_of: Iterable[Ints], gpus: int) -> list[list[int]]:
    """Return the groups, each as its GPUs in order.

    Parameters
    ----------
    gpus_of
        The GPUs of every engine.
    gpus
        How many GPUs there are.
    """
    group_of = list(range(gpus))
    for mine in gpus_of:
        joined = {group_of[gpu] for gpu in mine}
        group_of = [min(joined) if group in joined else group for group in group_of]
    found: dict[int, list[int]] = {}
    for gpu, group in enumerate(group_of):
        found.setdefault(group, []).append(gpu)
    return list(found.values())
