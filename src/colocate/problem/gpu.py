"""One GPU that models are placed on."""

from collections.abc import Mapping
from dataclasses import dataclass

from colocate.errors import InputError
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
        owner = f"gpu {checked_name('gpu', name)!r}"
        amounts = (
            (
                checked_name(f"{owner}: resource", resource),
                checked_number(owner, f"limits[{resource!r}]", amount),
            )
            for resource, amount in dict(limits).items()
        )
        for field, text in (("kind", kind), ("node", node)):
            if not isinstance(text, str):
                raise InputError(f"{owner}: {field}={text!r}, must be a text")
        memory = checked_number(owner, "memory_gb", memory_gb, positive=True)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "memory_gb", memory)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "limits", tuple(sorted(amounts)))
        object.__setattr__(self, "node", node)
