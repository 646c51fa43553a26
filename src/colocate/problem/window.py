"""The time windows that demand is stated for, such as the hours of a week."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.quantity import checked_name, checked_number


@dataclass(frozen=True, slots=True)
class Window:
    """One time window: its name, and how much of the time it stands for.

    Parameters
    ----------
    name
        Unique among the windows of a problem.
    weight
        In any unit, such as hours of a day; percentiles and simulations count by it.
    """

    name: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        checked_name(self.name)
        weight = checked_number(self.weight, ("weight",), positive=True)
        object.__setattr__(self, "weight", weight)


def windows_called(names: Sequence[str]) -> tuple[Window, ...]:
    """Return windows of equal weight with these names."""
    return tuple(Window(name) for name in names)


def numbered_windows(count: int) -> tuple[Window, ...]:
    """Return windows for which nobody has stated names: `window 1` and so on."""
    return windows_called([f"window {number + 1}" for number in range(count)])


def checked_windows(stated: Sequence[Window], count: int) -> tuple[Window, ...]:
    """Return the windows of a problem whose demand has so many, or raise InputError."""
    windows = tuple(stated)
    for number, window in enumerate(windows):
        if not isinstance(window, Window):
            raise InputError.of(("stated_windows", number), window, "a Window")
    if len({window.name for window in windows}) < len(windows):
        names = [window.name for window in windows]
        raise InputError.of("stated_windows", names, "names of which no two are alike")
    if windows and count not in (1, len(windows)):
        found = f"are {len(windows)}, and demand is stated for {count}"
        raise InputError(Fault(found, advice="give as many", path=("stated_windows",)))
    return windows


def telling_windows(demand: NDArray[np.float64]) -> list[int]:
    """Return the windows that decide: each of the others asks no more of anyone than one of these.

    Parameters
    ----------
    demand
        demand[T, n]: what is asked of everyone in every window.
    """
    kept: list[int] = []
    left = np.argsort(-demand.sum(axis=1), kind="stable")
    while len(left):
        kept.append(int(left[0]))
        left = left[(demand[left] > demand[left[0]]).any(axis=1)]
    return sorted(kept)
