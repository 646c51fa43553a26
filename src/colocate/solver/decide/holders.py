"""Which GPUs could hold the levels above, told apart only where it makes a difference.

Exchanging identical GPUs changes nothing. Where models have shards, that holds within a node, and
for two nodes as a whole.
"""

from collections.abc import Iterable, Iterator, Sequence

from colocate.problem.problem import Problem
from colocate.problem.rules import numbered

Holders = tuple[str, ...]
"""The GPUs that hold the levels above, the highest first."""


class HolderChoices:
    """All choices of holders, one for each set of choices that are alike."""

    def __init__(self, problem: Problem) -> None:
        pins = {(model.only, model.never): model for model in problem.models}
        sorts = numbered(
            (g.memory_gb, g.kind, g.limits, *[m.may_be_on(g) for m in pins.values()])
            for g in problem.gpus
        )
        self._sort = {g.name: n for g, n in zip(problem.gpus, sorts.tolist(), strict=True)}
        sharded = any(model.shards > 1 for model in problem.models)
        self._node = {g.name: g.node if sharded else "" for g in problem.gpus}
        nodes: dict[str, list[int]] = {}
        for name, node in self._node.items():
            nodes.setdefault(node, []).append(self._sort[name])
        self._nodes = {node: tuple(sorted(sorts)) for node, sorts in nodes.items()}

    def key(self, holders: Sequence[str], ceilings: Sequence[float]) -> tuple[object, ...]:
        """Return what choices that are alike have in common."""
        held: dict[str, list[tuple[int, float]]] = {}
        for gpu, ceiling in zip(holders, ceilings, strict=True):
            held.setdefault(self._node[gpu], []).append((self._sort[gpu], ceiling))
        return tuple(
            sorted((self._nodes[node], tuple(sorted(gpus))) for node, gpus in held.items())
        )

    def longer(self, choices: Iterable[Holders], ceilings: Sequence[float]) -> Iterator[Holders]:
        """Yield all choices of one more holder, one of each set that are alike.

        Parameters
        ----------
        choices
            The choices of holders of all levels but the last.
        ceilings
            The ceilings of all levels.
        """
        known = set()
        for holders in choices:
            for gpu in self._unlike(holders):
                key = self.key((*holders, gpu), ceilings)
                if key not in known:
                    known.add(key)
                    yield (*holders, gpu)

    def _unlike(self, holders: Holders) -> Iterable[str]:
        """Return the GPUs that hold nothing yet, one of each sort in a node."""
        first: dict[tuple[str, int], str] = {}
        for gpu, sort in self._sort.items():
            if gpu not in holders:
                first.setdefault((self._node[gpu], sort), gpu)
        return first.values()
