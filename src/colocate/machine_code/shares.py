"""Sharing out what is to be compiled."""

from collections.abc import Iterable
from typing import Any

from colocate.machine_code.marks import called_by
from colocate.machine_code.request import KernelRequest


def shared_out(requests: Iterable[KernelRequest], processes: int) -> list[list[KernelRequest]]:
    """Give each process kernels that take it about as long; what they call counts once.

    The largest comes first. Each goes where the squares of all efforts add up to the least then,
    which keeps together what shares much, and apart what does not.
    """
    needs = {each: _reached(each.function) for each in requests}
    shares: list[list[KernelRequest]] = [[] for _ in range(processes)]
    loads: list[set[Any]] = [set() for _ in range(processes)]
    for request in sorted(needs, key=lambda each: -_effort(needs[each])):
        added = [_effort(load | needs[request]) ** 2 - _effort(load) ** 2 for load in loads]
        chosen = added.index(min(added))
        shares[chosen].append(request)
        loads[chosen] |= needs[request]
    return [share for share in shares if share]


def _reached(function: Any) -> frozenset[Any]:
    """Return a kernel and all that it calls."""
    found: set[Any] = set()
    waiting = [function]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += called_by(each)
    return frozenset(found)


def _effort(functions: Iterable[Any]) -> int:
    """Return about how long compiling takes, in bytes of Python's own code."""
    return sum(len(each.__code__.co_code) for each in functions)
