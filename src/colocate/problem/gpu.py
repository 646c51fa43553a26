"""One GPU that models are placed on."""

from collections.abc import Mapping
from dataclasses import dataclass

from colocate.errors import InputError
from colocate.fault import Owner
from colocate.problem.quantity import checked_name, checked_number

Limits = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, init=False)
class Gpu:
    """A GPU that models can be placed on.

    Parameters
    ----------
    name
        Unique among the GPUs of a problem.
    memory_gb
        The memory that models may use.
    kind
        On GPUs of one kind, a model uses the same amount of every resource.
    limits
        The limit on each further additive resource, by name; resources without one are unlimited.
        Given as a mapping, kept as sorted pairs so that a GPU can be hashed.
    node
        The machine that it is in; the shards of a replica stay in one machine.
    """

    name: str
    memory_gb: float
    kind: str
    limits: Limits
    node: str

    def __init__(
        self,
        name: str,
        memory_gb: float,
        kind: str = "",
        limits: Mapping[str, float] | Limits = (),
        node: str = "",
    ) -> None:
        owner = Owner("gpu", checked_name(name, owner=Owner("gpu", None)))
        amounts = (
            (
                checked_name(resource, ("resource",), owner),
                checked_number(amount, ("limits", resource), owner),
            )
            for resource, amount in dict(limits).items()
        )
        for field, text in (("kind", kind), ("node", node)):
            if not isinstance(text, str):
                raise InputError.of(field, text, "a text", owner)
        memory = checked_number(memory_gb, ("memory_gb",), owner, positive=True)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "memory_gb", memory)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "limits", tuple(sorted(amounts)))
        object.__setattr__(self, "node", node)

    def limit_on(self, resource: str) -> float | None:
        """Return the limit on a resource; None if there is none."""
        return next((amount for name, amount in self.limits if name == resource), None)

    def limited(self, resource: str, amount: float) -> "Gpu":
        """Return the GPU with a limit on one more resource, or with another limit on it."""
        limits = {**dict(self.limits), resource: amount}
        return Gpu(self.name, self.memory_gb, self.kind, limits, self.node)
