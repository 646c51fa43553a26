"""One device."""

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
        GPUs of one kind are alike in how much of a resource a model uses on them.
    limits
        Most use of each further additive resource, by its name; a resource that is not named
        has no limit. Given as a mapping, kept as sorted pairs so that a GPU can be hashed.
    """

    name: str
    memory_gb: float
    kind: str
    limits: Limits

    def __init__(
        self,
        name: str,
        memory_gb: float,
        kind: str = "",
        limits: Mapping[str, float] | Limits = (),
    ) -> None:
        owner = f"gpu {checked_name('gpu', name)!r}"
        amounts = (
            (
                checked_name(f"{owner}: resource", resource),
                checked_number(owner, f"limits[{resource!r}]", amount),
            )
            for resource, amount in dict(limits).items()
        )
        if not isinstance(kind, str):
            raise InputError(f"{owner}: kind={kind!r}, must be a text")
        memory = checked_number(owner, "memory_gb", memory_gb, positive=True)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "memory_gb", memory)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "limits", tuple(sorted(amounts)))
