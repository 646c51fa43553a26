"""What of the models is on each GPU: the shards of replicas that a placement puts there.

Everything that shows or starts a placement takes its parts from here. The checker does not: it
divides models by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.problem import Problem

Places = Mapping[str, Sequence[str]]
"""The names of the GPUs of every model; of a model asleep, none."""


class Part(NamedTuple):
    """One shard of one replica of a model; all of a model that has neither."""

    number: int
    """Of the model among those of the problem."""
    model: Model
    """Its own share of size, load and uses, under the model's name."""
    replica: int
    """Which of its replicas, from 0 on."""
    replicas: int
    shard: int
    """Which shard of that replica, from 0 on."""
    shards: int
    gpu: str


def replicas_in(problem: Problem, placement: Places) -> dict[str, int]:
    """Return how many replicas every model has in a placement; 0 if it is asleep."""
    return {m.name: len(placement.get(m.name, ())) // m.shards for m in problem.models}


def parts_of(problem: Problem, placement: Places) -> Iterator[Part]:
    """Yield all parts, in the order of the problem, the shards of a replica in a row."""
    replicas = replicas_in(problem, placement)
    for number, model in enumerate(problem.models):
        if not (places := placement.get(model.name, ())):
            continue
        count = replicas[model.name]
        part = model.part(count)
        for place, gpu in enumerate(places):
            replica, shard = divmod(place, model.shards)
            yield Part(number, part, replica, count, shard, model.shards, gpu)


def parts_by_gpu(problem: Problem, placement: Places) -> dict[str, list[Part]]:
    """Return the parts on every GPU, by its name, in the order of the problem."""
    found: dict[str, list[Part]] = {gpu.name: [] for gpu in problem.gpus}
    for part in parts_of(problem, placement):
        found[part.gpu].append(part)
    return found
