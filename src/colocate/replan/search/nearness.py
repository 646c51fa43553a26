"""A placement as near to another one as its GPUs allow: identical GPUs trade names."""

import numpy as np

from colocate.problem.instance import Ints
from colocate.replan.search.item_homes import ItemHomes


def renamed_to_stay(homes: ItemHomes, gpu_of: Ints) -> Ints:
    """Return a placement of the items with identical GPUs renamed, so that much stays at home.

    The pair of GPUs that keeps most is taken first, then the next.

    Parameters
    ----------
    homes
        The items, and what they load on every GPU.
    gpu_of
        The GPU of every item.
    """
    rules = homes.reduction.instance.rules
    gpus = len(rules.alike)
    whole = homes.gb.max(axis=1)
    kept = np.zeros((gpus, gpus))
    for item, gpu in enumerate(gpu_of.tolist()):
        kept[gpu] += whole[item] - homes.gb[item]
    name = np.full(gpus, -1)
    taken = np.zeros(gpus, bool)
    for flat in np.argsort(-kept, axis=None, kind="stable"):
        old, new = divmod(int(flat), gpus)
        if kept[old, new] <= 0.0:
            break
        if name[old] < 0 and not taken[new] and rules.alike[old] == rules.alike[new]:
            name[old] = new
            taken[new] = True
    for gpu in np.flatnonzero(name < 0):
        same = np.flatnonzero(~taken & (rules.alike == rules.alike[gpu]))
        name[gpu] = gpu if not taken[gpu] else same[0]
        taken[name[gpu]] = True
    renamed: Ints = name[gpu_of].astype(np.int64)
    return renamed
