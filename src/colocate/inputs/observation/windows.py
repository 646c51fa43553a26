"""Time windows from what was measured: parts of the time, hours of the day or of the week."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.observation.estimate import Floats
from colocate.inputs.observation.observation import ModelObservation, Observation

HOUR, HOURS_A_DAY, HOURS_A_WEEK = 3600.0, 24, 168
"""Seconds of an hour, and hours of a day and of a week."""
THURSDAY = 3
"""The day of the week, from Monday on, that seconds since 1970 count from."""
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BY_DAY, BY_WEEK = "day", "week"
MOST_PARTS = 1000
"""Windows that a time can be cut into: more are a slip."""
EXPECTED = f"a number of equal parts from 2 to {MOST_PARTS}, {BY_DAY} or {BY_WEEK}"


class WindowBins(NamedTuple):
    """One window, and the bins of time that belong to it."""

    name: str
    bins: NDArray[np.int64]


def windows_in(observation: Observation, by: str) -> tuple[WindowBins, ...]:
    """Return the windows that a time is divided into; hours that nothing is known of are left out.

    Parameters
    ----------
    observation
        What was measured.
    by
        A number of equal parts, or `day` or `week` for their hours in universal time.

    Raises
    ------
    InputError
        If it is none of these, or the times of day are not known.
    """
    bins = np.arange(observation.bins)
    if by.isascii() and by.isdigit() and 2 <= int(by) <= MOST_PARTS:
        number = int(by)
        if number > observation.bins:
            found = f"only {observation.bins} bins of {observation.bin_seconds:g} s were measured"
            raise InputError(Fault(found, "fewer windows than bins", value=by, path=("windows",)))
        edges = np.linspace(0, observation.bins, number + 1).astype(np.int64)
        return tuple(
            WindowBins(f"part-{part + 1}", bins[edges[part] : edges[part + 1]])
            for part in range(number)
        )
    if by not in (BY_DAY, BY_WEEK):
        raise InputError.of("windows", by, EXPECTED)
    return _hours(observation, bins, by)


def _hours(observation: Observation, bins: NDArray[np.int64], by: str) -> tuple[WindowBins, ...]:
    if observation.begin is None:
        found, advice = "needs times of day, and the trace counts seconds", "give a number"
        raise InputError(Fault(found, advice=advice, value=by, path=("windows",)))
    if observation.bin_seconds > HOUR:
        found = f"needs bins of an hour, and they are of {observation.bin_seconds:g} s"
        raise InputError(Fault(found, "a shorter time", value=by, path=("windows",)))
    middles = observation.begin + (bins + 0.5) * observation.bin_seconds
    hours = (middles // HOUR).astype(np.int64)
    if by == BY_DAY:
        numbers, names = hours % HOURS_A_DAY, [f"{hour:02}h" for hour in range(HOURS_A_DAY)]
    else:
        numbers = (hours + THURSDAY * HOURS_A_DAY) % HOURS_A_WEEK
        names = [f"{day}-{hour:02}h" for day in DAYS for hour in range(HOURS_A_DAY)]
    rates = np.array([model.rates for model in observation.models])
    known = np.asarray(np.isfinite(rates).any(axis=0))
    return tuple(
        WindowBins(name, bins[numbers == number])
        for number, name in enumerate(names)
        if known[numbers == number].any()
    )


def window_rates(
    model: ModelObservation, observation: Observation, windows: tuple[WindowBins, ...]
) -> list[float]:
    """Return the rate of a model in each window; its mean where nothing is known of one.

    Parameters
    ----------
    model
        What was measured of it.
    observation
        Of all models.
    windows
        The bins of each.
    """
    rates = np.array(model.rates)
    seconds = _bin_seconds(observation)
    found = []
    for window in windows:
        own, weights = rates[window.bins], seconds[window.bins]
        known = np.isfinite(own)
        whole = float(weights[known].sum())
        mean = float((own[known] * weights[known]).sum()) / whole if whole else model.rate.value
        found.append(mean)
    return found


def _bin_seconds(observation: Observation) -> Floats:
    """Return how long each bin is: the last one may be shorter."""
    seconds = np.full(observation.bins, observation.bin_seconds)
    seconds[-1] = observation.seconds - observation.bin_seconds * (observation.bins - 1)
    return seconds
