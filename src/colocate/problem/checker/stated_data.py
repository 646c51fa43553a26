"""Compares what a plan file states with what was found again."""

from math import isclose
from typing import Any

from colocate.problem.checker.tolerance import SAME_LATENCY


def same_latency(stated: float, found: float) -> bool:
    """Whether two latencies are the same, up to rounding."""
    return isclose(stated, found, rel_tol=SAME_LATENCY)


def same_data(stated: Any, found: Any) -> bool:
    """Whether plain data are the same, numbers up to rounding; what was found is well formed."""
    if isinstance(found, dict):
        return (
            isinstance(stated, dict)
            and stated.keys() == found.keys()
            and all(same_data(stated[name], value) for name, value in found.items())
        )
    if isinstance(found, list):
        return (
            isinstance(stated, list)
            and len(stated) == len(found)
            and all(map(same_data, stated, found))
        )
    if isinstance(found, float):
        number = isinstance(stated, int | float) and not isinstance(stated, bool)
        return number and same_latency(stated, found)
    return type(stated) is type(found) and bool(stated == found)
